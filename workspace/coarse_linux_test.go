package workspace_test

// A file system with coarse timestamps: a second write within one tick keeps the file's times.

import (
	"io/fs"
	"os"
	"path"
	"syscall"
	"testing"
	"time"

	"ac/internal/durable"
	"ac/workspace"
)

const longTick = time.Second

type coarse struct{ durable.FS }

func (c coarse) Stat(name string) (fs.FileInfo, error)  { return rounded(c.FS.Stat(name)) }
func (c coarse) Lstat(name string) (fs.FileInfo, error) { return rounded(c.FS.Lstat(name)) }

// Granularity returns two ticks, which such a file system needs.
func (c coarse) Granularity(uint64) time.Duration { return 2 * longTick }

func (c coarse) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	f, err := c.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return coarseFile{f}, nil
}

type coarseFile struct{ durable.File }

func (f coarseFile) Stat() (fs.FileInfo, error) { return rounded(f.File.Stat()) }

type coarseInfo struct {
	fs.FileInfo
	sys syscall.Stat_t
}

func (i coarseInfo) ModTime() time.Time { return i.FileInfo.ModTime().Truncate(longTick) }
func (i coarseInfo) Sys() any           { return &i.sys }

func rounded(st fs.FileInfo, err error) (fs.FileInfo, error) {
	if err != nil {
		return nil, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, os.ErrInvalid
	}
	i := coarseInfo{st, *sys}
	i.sys.Ctim = syscall.NsecToTimespec(time.Unix(sys.Ctim.Unix()).Truncate(longTick).UnixNano())
	return i, nil
}

// TestForeignChangesWithinATick is TestForeignChanges with many changes that keep the times of
// earlier ones.
func TestForeignChangesWithinATick(t *testing.T) {
	t.Parallel()
	env := workspace.SystemEnv()
	env.OpenFS = func(dir string) (durable.FS, error) {
		root, err := durable.OpenRoot(dir)
		return coarse{root}, err
	}
	s := watch(t, env, longTick, 7)
	s.remember()
	file, dir := s.at(workspace.AgentFile(s.ids[0])), s.at(path.Dir(workspace.AgentFile("agent_new")))
	for i := range 8 {
		text, err := os.ReadFile(file)
		s.must(err)
		s.must(os.WriteFile(file, []byte(s.otherLetter(string(text))), 0o600))
		s.compare("in place")
		if i%2 == 0 {
			err = os.Mkdir(dir, 0o700)
		} else {
			err = os.Remove(dir)
		}
		s.must(err)
		s.compare("a directory made or removed")
	}
	for range *foreignChanges / 2 {
		s.compare(s.change())
	}
}
