package durable

// Reading whole files.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ReadFile reads a whole regular file of at most limit bytes.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	content, _, err := ReadFileInfo(fsys, name, limit)
	return content, err
}

// ReadFileInfo is ReadFile. It also returns the FileInfo as of the start of the read.
func ReadFileInfo(fsys FS, name string, limit int64) ([]byte, fs.FileInfo, error) {
	if root, ok := fsys.(*Root); ok {
		content, st, err := root.openat2.readFile(name, limit)
		if ok, told := fastPathResult("open", name, err); ok {
			if st != nil { // read errors carry the file name already
				told = err
			}
			return content, st, told
		}
	}
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	content, err := readAll(name, st.Size(), limit, f)
	return content, st, err
}

// readAll reads a file to its end, which is expected after size bytes.
func readAll(name string, size, limit int64, from io.Reader) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%s: %d bytes, more than the %d allowed", name, size, limit)
	}
	content := make([]byte, 0, size+1)
	for {
		if int64(len(content)) > limit {
			return nil, fmt.Errorf("%s: more than the %d bytes allowed", name, limit)
		}
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: err}
		}
	}
}

// IsAbsent reports whether an error means that the file does not exist.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Cause returns the reason of a failed file operation without the file's name, for messages
// that begin with the name.
func Cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err.Error()
	}
	return err.Error()
}
