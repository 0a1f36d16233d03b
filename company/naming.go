package company

// How errors name places: as the caller did, and below the workspace relative to it.
// Where the caller's name leads to on this machine is no business of who reads a
// message.

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// named is an error in other words.
type named struct {
	cause error
	text  string
}

func (n *named) Error() string { return n.text }
func (n *named) Unwrap() error { return n.cause }

// Named is the error of an operation in the folder, as its caller reads it. A nil folder
// changes nothing.
func (c *Folder) Named(err error) error {
	if err == nil || c == nil || c.given == "" || c.dir == "" || c.dir == string(filepath.Separator) {
		return err
	}
	text := err.Error()
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		if below, ok := strings.CutPrefix(failed.Path, c.dir+string(filepath.Separator)); ok {
			relative := fs.PathError{Op: failed.Op, Path: filepath.ToSlash(below), Err: failed.Err}
			text = strings.ReplaceAll(text, failed.Error(), relative.Error())
		}
	}
	if c.given != c.dir {
		text = renamed(text, c.dir, c.given)
	}
	if text == err.Error() {
		return err
	}
	return &named{err, text}
}

// renamed puts another name in the place of a directory's wherever it stands by itself
// or before a separator, and not as a part of a longer name.
func renamed(text, dir, name string) string {
	var out strings.Builder
	for {
		at := strings.Index(text, dir)
		if at < 0 {
			return out.String() + text
		}
		before, after := text[:at], text[at+len(dir):]
		out.WriteString(before)
		if (at == 0 || !inName(before[at-1])) && (after == "" || !inName(after[0])) {
			out.WriteString(name)
		} else {
			out.WriteString(dir)
		}
		text = after
	}
}

// inName reports whether a byte may be part of a name in a path.
func inName(b byte) bool {
	return b >= 0x80 || b == '-' || b == '_' || b == '.' || b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z'
}
