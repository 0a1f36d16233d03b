package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ missing, made bool }{
		"watched": {}, "not there yet": {missing: true}, "entries": {made: true}, "entries, not there yet": {missing: true, made: true},
	} {
		missing := c.missing
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "f")
			if !missing {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			looked := make(chan struct{}, 1)
			made := make(chan error, 1)
			go func() {
				<-looked
				made <- errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600), os.WriteFile(filepath.Join(dir, "marker"), nil, 0o600))
			}()
			f := Folder{Dir: dir, Name: "marker", OnlyNew: c.made, PollUnwatched: time.Millisecond, PollWatched: time.Hour}
			if !f.Until(t.Context(), func() bool {
				_, err := os.Lstat(filepath.Join(dir, "marker"))
				select {
				case looked <- struct{}{}:
				default:
				}
				return err == nil
			}) {
				t.Error("it ended without the marker")
			}
			if err := <-made; err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if (Folder{Dir: t.TempDir(), PollUnwatched: time.Hour, PollWatched: time.Hour}).Until(ctx, func() bool { return false }) {
		t.Error("it went on after the end of its context")
	}
}

// TestUntilMade checks that writes to files of the folder trigger no check, but a new entry does,
// even in a folder that replaced the watched one.
func TestUntilMade(t *testing.T) {
	t.Parallel()
	if _, end, err := watchCreated(t.TempDir()); err != nil {
		t.Skipf("SKIPPED: entries alone cannot be watched here: %v", err)
	} else {
		end()
	}
	dir := filepath.Join(t.TempDir(), "f")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "log"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	looks := make(chan struct{}, 1000)
	over := make(chan bool, 1)
	f := Folder{Dir: dir, Name: "marker", OnlyNew: true, PollUnwatched: time.Millisecond, PollWatched: time.Hour}
	go func() {
		over <- f.Until(t.Context(), func() bool {
			looks <- struct{}{}
			_, err := os.Lstat(filepath.Join(dir, "marker"))
			return err == nil
		})
	}()
	<-looks
	for range 100 {
		if err := os.WriteFile(filepath.Join(dir, "log"), []byte("line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-looks // because of the new entry
	if len(looks) > 0 {
		t.Errorf("%d looks more", len(looks))
	}
	if err := errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "marker"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if !<-over {
		t.Error("it ended without the marker")
	}
}

// TestTree checks which changes a tree reports: each once, to every listener of its folder. When
// a folder is moved away, anything may have changed.
func TestTree(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := NewTree(dir)
	tree.barrierTimeout = time.Minute
	defer func() { _ = tree.Close() }()
	both := [2]*Listener{}
	for i := range both {
		var err error
		both[i], err = tree.Listen()
		if errors.Is(err, errors.ErrUnsupported) {
			t.Log("folders cannot be watched here")
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	do := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	drained := func(want string, lost bool) {
		t.Helper()
		for i, l := range both {
			changes, all := l.Drain(t.Context())
			var got []string
			for _, c := range changes {
				got = append(got, c.Name)
			}
			if strings.Join(got, " ") != want || all != lost {
				t.Errorf("listener %d: %q, %v", i, got, all)
			}
		}
	}
	add := func(name string, want bool) {
		t.Helper()
		for _, l := range both {
			if _, err := l.Add(name); (err == nil) != want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	do(os.MkdirAll(at("a/b"), 0o700), os.Symlink("a", at("link")), os.WriteFile(at("file"), nil, 0o600))
	for name, want := range map[string]bool{"a/b": true, "a": true, "link": false, "link/b": false, "file": false, "none": false} {
		add(name, want)
	}
	drained("", false)
	do(os.WriteFile(at("a/b/x"), []byte("1"), 0o600), os.WriteFile(at("a/b/x"), []byte("2"), 0o600), os.Mkdir(at("a/c"), 0o700))
	drained("a/b/x a/c", false)
	drained("", false)
	_, err := both[0].Add("a/c")
	do(err)
	do(os.WriteFile(at("a/c/y"), nil, 0o600))
	if changes, lost := both[0].Drain(t.Context()); lost || len(changes) != 1 || changes[0] != (Change{Name: "a/c/y", Made: true}) {
		t.Errorf("%+v %v", changes, lost)
	}
	drained("", false) // the other listener did not add it
	do(os.Rename(at("a"), at("z")))
	drained("", true)
	drained("", false)
	do(os.WriteFile(at("z/b/y"), nil, 0o600))
	drained("", false) // nothing is watched any more
	add("z/b", true)
	do(os.Remove(at("z/b/y")))
	drained("z/b/y", false)
	tree.MarkLost()
	drained("", true)
	do(tree.Close())
	drained("", true)
	add("z/b", false)
}

// TestTreeFiles checks that a listener receives changes of single files, except for forgotten
// ones.
func TestTreeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := NewSmallTree(dir)
	tree.barrierTimeout = time.Minute
	defer func() { _ = tree.Close() }()
	l, err := tree.Listen()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"a": true, "b": true, "none": false} {
		if err := l.AddFile(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	l.Forget("b")
	for _, name := range []string{"a", "b", "c"} {
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+"2")); err != nil {
			t.Fatal(err)
		}
	}
	if changes, lost := l.Drain(t.Context()); lost || len(changes) != 1 || changes[0].Name != "a" || !changes[0].Gone {
		t.Errorf("%+v %v", changes, lost)
	}
}

// TestFolderGoneTwice moves a watched folder away and removes it there, which the watcher reports
// as an error. The tree must not hang while it replaces the watcher.
func TestFolderGoneTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tree := NewTree(dir)
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(moveAndRemove(tree, dir, 500), tree.Close()) }()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the tree hangs")
	}
}

func moveAndRemove(tree *Tree, dir string, times int) error {
	l, err := tree.Listen()
	if err != nil {
		return err
	}
	for range times {
		if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
			return err
		}
		for _, name := range []string{".", "a", "a/b"} {
			_, _ = l.Add(name) // fails while the watcher is given up
		}
		if err := errors.Join(os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")), os.RemoveAll(filepath.Join(dir, "c"))); err != nil {
			return err
		}
		l.Take()
	}
	return nil
}

// TestClosedWhileAwaited closes a barrier whose change was not reported yet. The waiter learns
// that changes may be missing.
func TestClosedWhileAwaited(t *testing.T) {
	t.Parallel()
	var m barrier
	inFlight := make(chan struct{}, 1)
	reported := make(chan bool, 1)
	go func() {
		reported <- m.await(t.Context(), func(string) error { inFlight <- struct{}{}; return nil })
	}()
	<-inFlight
	m.close()
	if <-reported {
		t.Error("it was reported")
	}
	if m.await(t.Context(), func(string) error { return nil }) {
		t.Error("it was reported after the end")
	}
}
