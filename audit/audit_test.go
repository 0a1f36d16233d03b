package audit

// Sealed histories, and the findings of verification after changes.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/workspace"
)

type company struct {
	t   testing.TB
	w   *workspace.Workspace
	key Key
	dir string
}

func newCompany(t testing.TB) *company {
	t.Helper()
	c := &company{t: t, dir: filepath.Join(t.TempDir(), "ws")}
	env := workspace.SystemEnv()
	if err := workspace.Init(context.Background(), env, c.dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.w, err = workspace.Open(env, c.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.w.Close(); err != nil {
			t.Error(err)
		}
	})
	if c.key, err = LoadKey(env, filepath.Join(t.TempDir(), "keys", "audit.key")); err != nil {
		t.Fatal(err)
	}
	return c
}

func logName(i int) string { return workspace.LogFile("proj_a", fmt.Sprintf("run_%d", i)) }

func (c *company) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

func (c *company) append(i int, text string) {
	c.t.Helper()
	file := c.path(logName(i))
	err := os.MkdirAll(filepath.Dir(file), 0o750)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *company) seal() SealResult {
	c.t.Helper()
	s, err := Seal(context.Background(), c.w, c.key)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *company) verify(kept ...string) Report {
	c.t.Helper()
	r, err := Verify(context.Background(), c.w, Options{Key: c.key.Public, Kept: kept})
	if err != nil {
		c.t.Fatal(err)
	}
	if r.OK != (len(r.Findings) == 0) {
		c.t.Errorf("ok %v with %v", r.OK, r.Findings)
	}
	return r
}

// codes abbreviates findings.
func codes(findings []Finding) (short []string) {
	for _, f := range findings {
		short = append(short, f.Code+" "+filepath.Base(filepath.Dir(f.Log))+filepath.Base(f.File))
	}
	return short
}

func TestSealAndVerify(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	if s := c.seal(); s.Checkpoint != nil || s.Added != 0 {
		t.Errorf("a workspace without logs: %+v", s)
	}
	c.append(1, "one\ntwo\n")
	c.append(2, "half")
	first := c.seal()
	if first.Added != 1 || first.Checkpoint.Size != 1 {
		t.Errorf("the first seal: %+v", first)
	}
	if again := c.seal(); again.Added != 0 || again.File != first.File {
		t.Errorf("nothing has grown: %+v", again)
	}
	c.append(1, "three\nunder way")
	c.append(2, " and whole\n")
	c.append(3, "\n")
	second := c.seal()
	if second.Added != 3 || second.Checkpoint.Size != 4 {
		t.Errorf("the second seal: %+v", second)
	}
	c.append(4, "not sealed yet\n")
	r := c.verify(c.path(first.File), c.path(second.File))
	want := []LogReport{
		{Log: logName(1), Bytes: 23, SealedBytes: 14, SealedLines: 3, OK: true}, {Log: logName(2), Bytes: 15, SealedBytes: 15, SealedLines: 1, OK: true},
		{Log: logName(3), Bytes: 1, SealedBytes: 1, SealedLines: 1, OK: true}, {Log: logName(4), Bytes: 15, OK: true},
	}
	for i := range r.Logs {
		r.Logs[i].SealedAt = ""
	}
	if diff := cmp.Diff(want, r.Logs); diff != "" || !r.OK || r.Checkpoints != 2 || r.Records != 4 {
		t.Errorf("%+v %s", r, diff)
	}
}

// TestEveryByte changes each byte of the sealed logs and of the seal itself, one at a
// time. Verification must detect each change.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.append(1, "{\"a\":1}\n{\"b\":2}\n")
	c.seal()
	c.append(1, "{\"c\":3}\n")
	c.append(2, "{}\n")
	last := c.seal()
	files := []string{logName(1), logName(2), recordsFile, last.File, checkpointFile(1)}
	for _, name := range files {
		text, err := os.ReadFile(c.path(name))
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			changed := append([]byte(nil), text...)
			changed[i] ^= 1
			if err := os.WriteFile(c.path(name), changed, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.verify().OK {
				t.Errorf("%s: byte %d was changed and nobody noticed", name, i)
			}
		}
		if err := os.WriteFile(c.path(name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r := c.verify(); !r.OK {
		t.Errorf("everything is as it was: %v", r.Findings)
	}
}

// TestFindings attacks a history, as somebody might who wants to hide something, and
// checks the findings.
func TestFindings(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]struct {
		do   func(c *company)
		want []string
	}{
		"a log is removed":            {func(c *company) { c.remove(logName(2)) }, []string{"removed run_2."}},
		"a log is cut":                {func(c *company) { c.write(logName(2), "{}\n") }, []string{"shortened run_2."}},
		"a log is changed and longer": {func(c *company) { c.write(logName(1), strings.Repeat("x", 99)) }, []string{"changed run_1."}},
		"two logs, the older first":   {func(c *company) { c.remove(logName(3)); c.remove(logName(1)) }, []string{"removed run_1.", "removed run_3."}},
		"records are cut":             {func(c *company) { c.write(recordsFile, "") }, []string{"bad_history .000000000003.txt", "bad_history .000000000004.txt", "rolled_back .000000000004.txt", "rolled_back .newest.txt", "unsealed .checkpoints"}},
		"the checkpoints are removed, a log made anew": {func(c *company) {
			c.remove(checkpointsDir)
			c.write(logName(1), "forged\n")
		}, []string{"changed run_1."}},
		"the checkpoints are removed, also here, and a log": {func(c *company) {
			c.remove(checkpointsDir)
			c.remove(standbyFile)
			c.remove(logName(3))
		}, []string{"removed run_3."}},
		"a record is removed": {func(c *company) {
			c.remove(checkpointsDir)
			text, err := os.ReadFile(c.path(recordsFile))
			if err != nil {
				c.t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(text), "\n")
			c.write(recordsFile, rest)
		}, []string{"rolled_back .000000000004.txt", "rolled_back .newest.txt", "unsealed .checkpoints"}},
		"everything of the seal is removed": {func(c *company) {
			c.remove(Dir)
			c.remove(standbyFile)
		}, []string{"rolled_back .000000000004.txt", "unsealed .checkpoints"}},
		"a FIFO stands in place of a log": {func(c *company) {
			c.remove(logName(2))
			if err := syscall.Mkfifo(c.path(logName(2)), 0o600); err != nil {
				c.t.Fatal(err)
			}
			c.remove(logName(3))
			if err := os.Mkdir(c.path(logName(3)), 0o700); err != nil {
				c.t.Fatal(err)
			}
		}, []string{"unreadable run_2.", "unreadable run_3."}},
		"all is made anew with another key": {func(c *company) {
			c.remove(Dir)
			c.remove(standbyFile)
			c.write(logName(1), "forged\n")
			other, err := LoadKey(c.w.Env, filepath.Join(c.t.TempDir(), "other.key"))
			if err == nil {
				_, err = Seal(context.Background(), c.w, other)
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}, []string{"bad_signature .000000000003.txt", "rolled_back .000000000004.txt", "unsealed .checkpoints"}},
		"all is made anew with the key": {func(c *company) {
			c.remove(Dir)
			c.remove(standbyFile)
			c.write(logName(1), "forged\n")
			c.seal()
		}, []string{"rolled_back .000000000004.txt"}},
		"the newest checkpoint is removed": {func(c *company) { c.remove(checkpointFile(4)) }, nil},
		"another company": {func(c *company) {
			text, err := os.ReadFile(c.path(workspace.CompanyFile))
			if err != nil {
				c.t.Fatal(err)
			}
			c.write(workspace.CompanyFile, strings.Replace(string(text), "\nid: ", "\nid: other_", 1))
		}, []string{"rolled_back .000000000004.txt"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			c.append(1, "{}\n{}\n")
			c.append(2, "{}\n{}\n")
			c.append(3, "{}\n")
			c.seal()
			c.append(3, "{}\n")
			last := c.seal()
			kept := filepath.Join(t.TempDir(), filepath.Base(last.File))
			text, err := os.ReadFile(c.path(last.File))
			if err == nil {
				err = os.WriteFile(kept, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			attack.do(c)
			if diff := cmp.Diff(attack.want, codes(c.verify(kept).Findings)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (c *company) remove(name string) {
	if err := os.RemoveAll(c.path(name)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *company) write(name, text string) {
	if err := os.WriteFile(c.path(name), []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}
