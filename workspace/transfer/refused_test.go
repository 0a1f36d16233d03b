package transfer_test

// Tests of what an import or export refuses.

import (
	"errors"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ac/internal/fault"
	"ac/workspace"
)

func TestWhatIsNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	put(t, filepath.Join(dir, "secret"), "s")
	listener, err := net.Listen("unix", filepath.Join(from, "inbox/socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := errors.Join(
		syscall.Mkfifo(filepath.Join(from, "inbox/fifo"), 0o600),
		os.Symlink("../../secret", filepath.Join(from, "inbox/out")),
		os.Symlink(filepath.Join(from, "company/company.yaml"), filepath.Join(from, "inbox/absolute")),
		os.Symlink("reviews", filepath.Join(from, "inbox/relative")),
		os.Symlink("../.local/machine.yaml", filepath.Join(from, "inbox/machine")),
		os.Symlink("nowhere", filepath.Join(from, "inbox/dangling")),
		os.Symlink(".", filepath.Join(from, "inbox/self")),
		os.Chmod(filepath.Join(from, "inbox/comments"), 0o500),
	); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	o := order(from, filepath.Join(dir, "b"))
	report, err := o.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(report.Skipped)
	if want := []string{"inbox/dangling", "inbox/fifo", "inbox/machine", "inbox/out", "inbox/socket"}; !slices.Equal(report.Skipped, want) {
		t.Errorf("skipped %v", report.Skipped)
	}
	got := tree(t, o.To, "inbox")
	if got["inbox/absolute"] != "../company/company.yaml" || got["inbox/relative"] != "reviews" || got["inbox/self"] != "." {
		t.Errorf("links: %q %q %q", got["inbox/absolute"], got["inbox/relative"], got["inbox/self"])
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "above/a"))
	other := made(t, filepath.Join(dir, "other"))
	put(t, filepath.Join(dir, "foreign/mine"), "x")
	put(t, filepath.Join(dir, "file"), "x")
	if err := errors.Join(os.Symlink(from, filepath.Join(dir, "link")), os.Symlink(filepath.Join(from, "work"), filepath.Join(dir, "inner"))); err != nil {
		t.Fatal(err)
	}
	before := tree(t, dir, "above/a/company", "above/a/work", "other", "foreign", "file")
	for _, c := range []struct {
		to     string
		force  bool
		reason fault.Reason
	}{
		{from, true, fault.Conflict},
		{filepath.Join(dir, "link"), true, fault.Conflict},
		{filepath.Join(dir, "link/new"), false, fault.Conflict},
		{filepath.Join(dir, "inner/new/deep"), true, fault.Conflict},
		{filepath.Join(from, "work/projects"), true, fault.Conflict},
		{filepath.Join(dir, "above"), true, fault.Conflict},
		{"/", true, fault.Conflict},
		{filepath.Join(dir, "foreign"), true, fault.NotAWorkspace},
		{filepath.Join(dir, "foreign"), false, fault.NotEmpty},
		{other, false, fault.NotEmpty},
		{filepath.Join(dir, "file"), true, fault.Conflict},
		{filepath.Join(dir, "file/below"), true, fault.Conflict},
		{filepath.Join(dir, strings.Repeat("n", 300)), false, fault.IO},
		{"/proc/x/y", false, fault.IO},
	} {
		o := order(from, c.to)
		o.Force = c.force
		if _, err := o.Run(t.Context()); !fault.Is(err, c.reason) {
			t.Errorf("to %s: %v, want %s", c.to, err, c.reason)
		}
	}
	busy := order(from, other)
	busy.Force, busy.Busy = true, func(*workspace.Workspace) error { return fault.New(fault.Conflict, "at work") }
	if _, err := busy.Run(t.Context()); err == nil {
		t.Error("a workspace at work was replaced")
	}
	if after := tree(t, dir, "above/a/company", "above/a/work", "other", "foreign", "file"); !maps.Equal(before, after) {
		t.Error("something was touched")
	}
}

// TestReadOnlyTarget exports into a read-only directory.
func TestReadOnlyTarget(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("SKIPPED: root may write everywhere")
	}
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	if err := os.Mkdir(filepath.Join(dir, "closed"), 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := order(from, filepath.Join(dir, "closed/b")).Run(t.Context()); !fault.Is(err, fault.IO) {
		t.Errorf("%v", err)
	}
}
