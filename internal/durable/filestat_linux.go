package durable

import (
	"io/fs"
	"syscall"
	"time"
)

// fileStat is the fs.FileInfo of a name, from a stat.
type fileStat struct {
	name string
	sys  syscall.Stat_t
}

func (s *fileStat) Name() string       { return s.name }
func (s *fileStat) Size() int64        { return s.sys.Size }
func (s *fileStat) ModTime() time.Time { return time.Unix(s.sys.Mtim.Unix()) }
func (s *fileStat) IsDir() bool        { return s.Mode().IsDir() }
func (s *fileStat) Sys() any           { return &s.sys }

func (s *fileStat) Mode() fs.FileMode {
	mode := fs.FileMode(s.sys.Mode & 0o777)
	if s.sys.Mode&syscall.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if s.sys.Mode&syscall.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if s.sys.Mode&syscall.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	switch s.sys.Mode & syscall.S_IFMT {
	case syscall.S_IFBLK:
		mode |= fs.ModeDevice
	case syscall.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFDIR:
		mode |= fs.ModeDir
	case syscall.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case syscall.S_IFLNK:
		mode |= fs.ModeSymlink
	case syscall.S_IFSOCK:
		mode |= fs.ModeSocket
	}
	return mode
}
