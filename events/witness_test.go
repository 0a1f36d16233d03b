package events

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/internal/durable"
	"ac/internal/durable/faultfs"
)

func watched(t *testing.T) (*Log, *Witness, string) {
	t.Helper()
	dir := t.TempDir()
	root, err := durable.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	before := OpenLog(root, FileName)
	if err := errors.Join(before.Append(t.Context(), note(0)), before.Close()); err != nil {
		t.Fatal(err)
	}
	log := OpenLog(root, FileName)
	t.Cleanup(func() { _ = log.Close() })
	w := &Witness{Tampered: func(i Integrity) (Draft, error) {
		return Draft{ID: "evt_lost", RunID: "run_a", SessionRef: "s", Actor: "system", Visibility: "org", Type: RunLogTampered, Payload: fmt.Appendf(nil, `{"state":"broken","lost_events":%d,"last_hash":"%s"}`, i.LostEvents, i.LastHash)}, nil
	}}
	if err := log.Watch(t.Context(), w, 1); err != nil {
		t.Fatal(err)
	}
	return log, w, filepath.Join(dir, FileName)
}

func note(n int) Draft {
	return Draft{ID: fmt.Sprintf("evt_%d", n), RunID: "run_a", SessionRef: "s", Actor: "system", Visibility: "org", Type: "note", Payload: fmt.Appendf(nil, `{"n":%d}`, n)}
}

// TestWitness tampers with the log of a live run, as somebody might who wants to hide
// something. The next append records a loss, and the witness knows what was lost.
func TestWitness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, file string, text []byte)
		lost int64
		kept int
	}{
		"nothing":  {func(*testing.T, string, []byte) {}, 0, 0},
		"emptied":  {func(t *testing.T, file string, _ []byte) { write(t, file, nil) }, 4, 3},
		"removed":  {func(_ *testing.T, file string, _ []byte) { _ = os.Remove(file) }, 4, 3},
		"cut":      {func(t *testing.T, file string, text []byte) { write(t, file, firstLines(text, 2)) }, 2, 2},
		"one less": {func(t *testing.T, file string, text []byte) { write(t, file, firstLines(text, 3)) }, 1, 1},
		"made anew": {func(t *testing.T, file string, text []byte) {
			write(t, file+".new", bytes.ReplaceAll(text, []byte(`{"n":2}`), []byte(`{"n":9}`)))
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			// The last line is unchanged, so only verification of the chain detects this.
		}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, w, file := watched(t)
			if err := log.Append(t.Context(), note(1), note(2), note(3)); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c.do(t, file, text)
			if err := log.Append(t.Context(), note(4)); err != nil {
				t.Fatal(err)
			}
			broken, lost := w.Loss()
			switch {
			case c.lost == 0 && broken != nil:
				t.Errorf("%+v", broken)
			case c.lost > 0 && (broken == nil || broken.LostEvents != c.lost || len(lost) != c.kept || broken.LastHash == ""):
				t.Errorf("%+v, %d kept", broken, len(lost))
			}
			text, err = os.ReadFile(file)
			if err != nil || strings.Contains(string(text), RunLogTampered) != (c.lost > 0) {
				t.Errorf("%s (%v)", text, err)
			}
			if err := log.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again, _ := w.Loss(); again != nil && again.LostEvents != c.lost {
				t.Errorf("told twice: %+v", again)
			}
		})
	}
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func firstLines(text []byte, n int) []byte {
	return bytes.Join(bytes.SplitAfter(text, []byte("\n"))[:n], nil)
}

// TestOthersAppendBeside checks that appends by others are not reported as a loss.
func TestOthersAppendBeside(t *testing.T) {
	t.Parallel()
	log, w, file := watched(t)
	root, err := durable.OpenRoot(filepath.Dir(file))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	other := OpenLog(root, FileName)
	defer other.Close()
	for n := range 20 {
		if err := errors.Join(log.Append(t.Context(), note(n)), other.Append(t.Context(), note(100+n)), log.Check(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	if broken, _ := w.Loss(); broken != nil {
		t.Errorf("%+v", broken)
	}
}

// TestFullDiskLeavesNoTornLine checks that after a partial write the log is truncated to its
// last whole line.
func TestFullDiskLeavesNoTornLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := faultfs.NewPlan(0, faultfs.Short)
	fsys, err := plan.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := OpenLog(fsys, FileName)
	if err := log.Append(t.Context(), note(1)); err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		plan.Arm(n, faultfs.Short)
		err := log.Append(t.Context(), note(2), note(3))
		hit := plan.Hit()
		plan.Arm(0, faultfs.Short)
		text, readErr := os.ReadFile(filepath.Join(dir, FileName))
		if readErr != nil || !bytes.HasSuffix(text, []byte("}\n")) {
			t.Fatalf("%s (%v): %q (%v)", hit, err, text, readErr)
		}
		if hit == "" {
			return
		}
	}
}
