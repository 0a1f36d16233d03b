package audit

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"ac/internal/durable"
)

// readers records which logs are opened.
type readers struct {
	durable.FS
	opened []string
}

func (r *readers) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if strings.HasSuffix(name, "events.jsonl") || name == recordsFile && flag&os.O_WRONLY == 0 {
		r.opened = append(r.opened, name)
	}
	return r.FS.OpenFile(name, flag, perm)
}

// TestResume checks that a seal reads only logs that have grown, and reads everything if the
// state or the tiles of the previous seal are corrupt. A change of sealed text must not pass
// as growth.
func TestResume(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	long := strings.Repeat("a line of a log\n", 4000)
	for i := range 5 {
		c.append(i, long)
	}
	c.seal()
	counting := &readers{FS: c.w.FS}
	c.w.FS = counting
	seal := func(added, opened int) {
		t.Helper()
		counting.opened = nil
		if s := c.seal(); s.Added != added || len(s.Refused) > 0 {
			t.Errorf("%+v, want %d records", s, added)
		}
		if len(counting.opened) != opened {
			t.Errorf("%q were opened, want %d", counting.opened, opened)
		}
		if r := c.verify(); !r.OK {
			t.Errorf("%v", r.Findings)
		}
	}
	seal(0, 0)
	c.append(2, "new\n")
	seal(1, 1)
	c.append(3, "half a li")
	seal(0, 1)
	c.append(3, "ne\n")
	seal(1, 1)
	// With a corrupt state, or a corrupt tile, everything is read.
	for _, broken := range []string{stateFile, Dir + "/tile/8/0/000.p/8"} {
		if err := os.WriteFile(c.path(broken), []byte("nonsense"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.append(4, "more\n")
		seal(1, 6)
	}
	// Change one sealed byte, and let the log grow.
	file := c.path(logName(1))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text[100] = 'X'
	if err := os.WriteFile(file, append(text, "grown\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	c.seal()
	if r := c.verify(); r.OK || r.Findings[0].Code != Changed || r.Findings[0].Log != logName(1) {
		t.Errorf("%+v", r.Findings)
	}
}

// TestSealWithoutTiles checks that a seal succeeds and verifies even if its tiles cannot be
// written.
func TestSealWithoutTiles(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	if err := os.MkdirAll(c.path(Dir), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path(Dir+"/tile"), nil, 0o600); err != nil { // a file in place of the folder
		t.Fatal(err)
	}
	for i := range 3 {
		c.append(i, "{}\n")
		if s := c.seal(); s.Added != 1 {
			t.Errorf("%+v", s)
		}
		if r := c.verify(); !r.OK || r.Records != int64(i+1) {
			t.Errorf("%+v", r)
		}
	}
}
