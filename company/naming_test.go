package company

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"ac/internal/fault"
)

// TestNamed checks that errors name a folder and its contents by the path that the caller gave.
func TestNamed(t *testing.T) {
	t.Parallel()
	full := &Folder{location{given: "/host/a", dir: "/host/a"}}
	link := &Folder{location{given: "named", dir: "/host/a"}}
	inside := &fs.PathError{Op: "open", Path: "/host/a/x/y", Err: fs.ErrNotExist}
	for _, c := range []struct {
		folder *Folder
		err    error
		want   string
	}{
		{full, fault.New(fault.IO, "x/y cannot be read: %w", inside), "x/y cannot be read: open x/y: file does not exist"},
		{full, errors.New("/host/a is not empty"), "/host/a is not empty"},
		{link, fmt.Errorf("/host/a is not empty: %w", inside), "named is not empty: open x/y: file does not exist"},
		{link, errors.New("/host/ab, /host/a-b, /host/a.b and /more/host/a"), "/host/ab, /host/a-b, /host/a.b and /more/host/a"},
		{link, errors.New("/host/a/b beside (/host/a)"), "named/b beside (named)"},
		{nil, inside, inside.Error()},
	} {
		got := c.folder.WithCallerPaths(c.err)
		if got.Error() != c.want || !errors.Is(got, c.err) || fault.ReasonOf(got) != fault.ReasonOf(c.err) {
			t.Errorf("%q: %q", c.err, got)
		}
	}
	if err := link.WithCallerPaths(nil); err != nil {
		t.Error(err)
	}
}
