package proc

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ac/internal/proc/proctest"
)

// TestSameProgram checks that this process runs the same program, and that a process of another
// program, since removed, does not.
func TestSameProgram(t *testing.T) {
	t.Parallel()
	var programs Programs
	if same, err := programs.Same(os.Getpid()); err != nil || !same {
		t.Errorf("itself: %v, %v", same, err)
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "sleep")
	text, err := os.ReadFile(sleep)
	if err == nil {
		err = proctest.WriteProgram(copied, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command(copied, "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	if err := os.Remove(copied); err != nil { // as an upgrade does
		t.Fatal(err)
	}
	if same, err := programs.Same(other.Process.Pid); err != nil || same {
		t.Errorf("another one: %v, %v", same, err)
	}
	if _, err := programs.Same(1 << 30); err == nil {
		t.Error("nobody's program is known")
	}
}

// TestSameText compares equal texts, and texts that differ in their last byte, at block
// boundaries.
func TestSameText(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1 << 20, 1<<20 + 1} {
		a, b := make([]byte, size), make([]byte, size)
		for _, want := range []bool{true, false} {
			if !want && size > 0 {
				b[size-1] = 1
			}
			got, err := sameText(onlyReader{bytes.NewReader(a)}, bytes.NewReader(b))
			if err != nil || got != (want || size == 0) {
				t.Errorf("%d bytes: %v, %v", size, got, err)
			}
		}
	}
}

// onlyReader hides all other methods of a reader.
type onlyReader struct{ io.Reader }
