package parcel

// Unpacking. The whole archive is checked before any of its files is written.

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"ac/internal/durable"
)

// ErrRefused reports an archive or bundle with content that no honest worker sends.
var ErrRefused = errors.New("refused")

// Limits of names in an archive.
const (
	maxName  = 4096
	maxStep  = 255
	maxDepth = 64
)

// checkName refuses names that leave the directory or that a file system may interpret
// differently.
func checkName(name string) error {
	switch steps := strings.Split(name, "/"); {
	case len(name) > maxName || len(steps) > maxDepth || !fs.ValidPath(name) || name == ".",
		!utf8.ValidString(name), strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return fmt.Errorf("%w: the archive has an entry %.200q", ErrRefused, name)
	default:
		for _, step := range steps {
			if len(step) > maxStep {
				return fmt.Errorf("%w: the archive has an entry %.200q", ErrRefused, name)
			}
		}
	}
	return nil
}

// UnpackResult describes what was written from an archive.
type UnpackResult struct {
	Files   int
	Bytes   int64
	Skipped int
}

// Unpack writes the files of an archive below a directory, which it creates. It skips and counts
// entries for which skip returns true.
//
// Links, devices, absolute names, names that leave the directory, duplicate names, and archives
// beyond the limits are ErrRefused. In these cases, and for a damaged archive, nothing was
// written.
//
// An existing file is replaced. A symlink in place of an entry or of a directory above it is an
// error. Files and names are durable when Unpack returns nil. After any other failure some files
// are written, each completely.
func Unpack(fsys durable.FS, dir string, archive io.ReadSeeker, limits Limits, skip func(name string) bool) (UnpackResult, error) {
	if err := checkArchive(archive, limits); err != nil {
		return UnpackResult{}, err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return UnpackResult{}, err
	}
	u := &unpacker{fs: fsys, dir: dir, skip: skip, dirsToSync: map[string]bool{}, dirsKnown: map[string]bool{}}
	if err := u.mkdir(dir); err != nil {
		return u.done, err
	}
	err := eachEntry(archive, func(h *tar.Header, name string, content io.Reader) error {
		switch {
		case skip(name):
			u.done.Skipped++
			return nil
		case h.Typeflag == tar.TypeDir:
			return u.mkdir(path.Join(dir, name))
		}
		return u.file(name, h, content)
	})
	for changed := range u.dirsToSync {
		if err == nil {
			err = fsys.SyncDir(changed)
		}
	}
	return u.done, err
}

// checkArchive reads and checks a whole archive.
func checkArchive(archive io.Reader, limits Limits) error {
	seen, entries, size := map[string]byte{}, 0, int64(0)
	return eachEntry(archive, func(h *tar.Header, name string, content io.Reader) error {
		if entries++; entries > limits.Entries {
			return fmt.Errorf("%w: the archive has more than %d entries", ErrRefused, limits.Entries)
		}
		if h.Size < 0 || h.Size > limits.Bytes-size {
			return fmt.Errorf("%w: the archive has more than %d bytes", ErrRefused, limits.Bytes)
		}
		size += h.Size
		if err := checkName(name); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir {
			return fmt.Errorf("%w: %.200q is neither a file nor a directory", ErrRefused, name)
		}
		if before, twice := seen[name]; twice && (before != tar.TypeDir || h.Typeflag != tar.TypeDir) {
			return fmt.Errorf("%w: the archive has two entries %.200q", ErrRefused, name)
		}
		seen[name] = h.Typeflag
		for parent := path.Dir(name); parent != "."; parent = path.Dir(parent) {
			if kind, ok := seen[parent]; ok && kind != tar.TypeDir {
				return fmt.Errorf("%w: %.200q lies below a file", ErrRefused, name)
			} else if !ok {
				seen[parent] = tar.TypeDir
			}
		}
		_, err := io.Copy(io.Discard, content)
		return err
	})
}

// eachEntry calls visit for every entry of an archive.
func eachEntry(archive io.Reader, visit func(h *tar.Header, name string, content io.Reader) error) error {
	r := tar.NewReader(archive)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: the archive cannot be read: %w", ErrRefused, err)
		}
		name := h.Name
		if h.Typeflag == tar.TypeDir {
			name = strings.TrimSuffix(name, "/")
		}
		if err := visit(h, name, r); err != nil {
			return err
		}
	}
}

// unpacker writes the entries of a checked archive.
type unpacker struct {
	fs   durable.FS
	dir  string
	skip func(string) bool
	// made are the directories with new entries, stand the ones that exist for sure.
	dirsToSync, dirsKnown map[string]bool
	done                  UnpackResult
}

// mkdir creates a directory. A symlink or file in its path is an error.
func (u *unpacker) mkdir(dir string) error {
	if u.dirsKnown[dir] {
		return nil
	}
	at := ""
	for step := range strings.SplitSeq(dir, "/") {
		at = path.Join(at, step)
		if st, err := u.fs.Lstat(at); err == nil && !st.IsDir() {
			return fmt.Errorf("unpack: %s is not a directory", at)
		} else if err != nil && !durable.IsAbsent(err) {
			return err
		}
	}
	err := durable.MkdirAll(u.fs, dir, 0o755)
	u.dirsKnown[dir] = err == nil
	return err
}

// partName is the name of the incomplete file in its directory. A leftover of an interrupted
// Unpack is replaced.
const partName = ".ac-part"

func (u *unpacker) file(name string, h *tar.Header, content io.Reader) error {
	target := path.Join(u.dir, name)
	if err := u.mkdir(path.Dir(target)); err != nil {
		return err
	}
	if st, err := u.fs.Lstat(target); err == nil && !st.Mode().IsRegular() {
		return fmt.Errorf("unpack: %s is not a regular file", target)
	}
	mode := fs.FileMode(0o644)
	if h.Mode&0o100 != 0 {
		mode = 0o755
	}
	part := path.Join(path.Dir(target), partName)
	if err := u.fs.Remove(part); err != nil && !durable.IsAbsent(err) {
		return err
	}
	f, err := u.fs.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, content)
	if err == nil {
		err = f.SyncData()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = u.fs.Rename(part, target)
	}
	if err != nil {
		_ = u.fs.Remove(part) // best effort: the next Unpack removes it
		return fmt.Errorf("unpack %s: %w", target, err)
	}
	u.dirsToSync[path.Dir(target)] = true
	u.done.Files++
	u.done.Bytes += n
	return nil
}
