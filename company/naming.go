package company

// Paths in error messages: spelled as the caller spelled them, or relative to the workspace. They
// do not reveal the canonical path on this machine.

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// messageError replaces the message of an error.
type messageError struct {
	cause error
	text  string
}

func (n *messageError) Error() string { return n.text }
func (n *messageError) Unwrap() error { return n.cause }

// WithCallerPaths returns the error of an operation with paths spelled as its caller spelled them. A nil
// folder changes nothing.
func (c *Folder) WithCallerPaths(err error) error {
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
		text = replacePath(text, c.dir, c.given)
	}
	if text == err.Error() {
		return err
	}
	return &messageError{err, text}
}

// replacePath replaces the path of a directory in a text, but not inside a longer name.
func replacePath(text, dir, name string) string {
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
