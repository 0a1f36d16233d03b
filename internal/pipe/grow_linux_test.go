package pipe

import (
	"os"
	"testing"
	"time"
)

// TestGrow checks that a grown pipe accepts a large write that nobody has read yet.
func TestGrow(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	const size = 300_000
	Grow(r, size)
	if err := w.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, size)); err != nil {
		t.Errorf("took %d: %v", n, err)
	}
	Grow(r, 1) // does not shrink it
	if n, err := r.Read(make([]byte, size)); err != nil || n != size {
		t.Errorf("%d (%v)", n, err)
	}
}
