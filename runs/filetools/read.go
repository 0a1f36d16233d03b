package filetools

// Reading one file, and listing directories.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// ReadFile holds the parameters of Read.
type ReadFile struct {
	_      struct{} `is:"strict"`
	Path   string   `json:"path" is:"path"`
	Offset int64    `json:"offset" is:"default=1,min=1"`
	Limit  int64    `json:"limit" is:"default=2000,min=1,cut=10000"`
}

// Read returns unchanged lines of a text file, as many as fit into an answer. If more follow, a
// last line in brackets says how to continue.
func (d *Dirs) Read(ctx context.Context, a ReadFile) (string, error) {
	p, err := d.open(a.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.root.Close() }() // opened for reading only
	f, err := p.root.OpenFile(p.name, os.O_RDONLY, 0)
	if err != nil {
		return "", plain(a.Path, err)
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := lines(ctx, f, a)
	return text, plain(a.Path, err)
}

var errBinary = errors.New("it is not text")

// lines reads lines of a file, with memory use independent of the file's size.
func lines(ctx context.Context, f io.Reader, a ReadFile) (string, error) {
	r := bufio.NewReaderSize(f, 64<<10)
	var out strings.Builder
	var n, given int64
	full := false
	for {
		line, cut, err := lineOf(ctx, r)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if bytes.IndexByte(line, 0) >= 0 {
			return "", errBinary
		}
		n++
		full = full || given == a.Limit || given > 0 && out.Len()+len(line) > answerBytes
		if n >= a.Offset && !full {
			given++
			out.Write(bytes.ToValidUTF8(line, []byte("\uFFFD")))
			if cut {
				fmt.Fprintf(&out, " [the rest of line %d is omitted]\n", n)
			}
		}
	}
	switch {
	case n == 0:
		return "[the file is empty]", nil
	case given == 0:
		return fmt.Sprintf("[the file has %d lines]", n), nil
	case full:
		fmt.Fprintf(&out, "[lines %d to %d of %d; continue with offset %d]", a.Offset, a.Offset+given-1, n, a.Offset+given)
	}
	return out.String(), nil
}

// lineOf reads a line including its line ending. It cuts off a line that is longer than an
// answer.
func lineOf(ctx context.Context, r *bufio.Reader) (line []byte, cut bool, err error) {
	for {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		piece, err := r.ReadSlice('\n')
		if room := answerBytes - len(line); len(piece) > room {
			piece, cut = piece[:room], true
		}
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, cut, err
		}
	}
}

// ListFiles holds the parameters of List.
type ListFiles struct {
	_     struct{} `is:"strict"`
	Path  string   `json:"path" is:"default=."`
	Depth int      `json:"depth" is:"default=1,min=1,cut=20"`
}

var errEnough = errors.New("enough")

// List lists a directory, one path per line. Directories have a trailing slash.
func (d *Dirs) List(ctx context.Context, a ListFiles) (string, error) {
	p, err := d.open(a.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.root.Close() }() // opened for reading only
	var out strings.Builder
	err = p.walk(ctx, a.Depth, func(name string, entry fs.DirEntry) error {
		line := p.full(d, name)
		if entry.IsDir() {
			line += "/"
		}
		if out.Len()+len(line) > answerBytes {
			out.WriteString("[there are more; list a subdirectory, or with less depth]")
			return errEnough
		}
		out.WriteString(line + "\n")
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return "", plain(a.Path, err)
	}
	if out.Len() == 0 {
		return "[it is empty]", nil
	}
	return out.String(), nil
}
