package lock

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/durable/faultfs"
	"ac/internal/ulid"
)

const (
	livePID = 100
	deadPID = 200
)

func shared(fsys durable.FS) *SharedFile {
	c := clock.System()
	return &SharedFile{
		FS: fsys, Name: "locks/w.lock", PID: livePID, Host: "here", Clock: c,
		Random: ulid.NewSource(c.Now).Hex, Alive: func(pid int) bool { return pid == livePID },
	}
}

// lay creates another process's lock file.
func lay(t *testing.T, r *durable.Root, text string, age time.Duration) {
	t.Helper()
	name := filepath.Join(r.Path(), "locks/w.lock")
	at := time.Now().Add(-age)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, at, at)); err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, s *SharedFile, patience time.Duration) (func() error, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Acquire(ctx)
}

// TestSharedContent checks what other programs can read while we hold the lock.
func TestSharedContent(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	s := shared(r)
	release, err := acquire(t, s, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	text, err := durable.ReadFile(r, s.Name, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var owner Owner
	if err := json.Unmarshal(text, &owner); err != nil || owner.PID != livePID || owner.Host != "here" || owner.Nonce == "" || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("%s (%v)", text, err)
	}
	if _, ok := clock.Parse(owner.AcquiredAt); !ok {
		t.Errorf("acquired_at: %s", owner.AcquiredAt)
	}
	if _, err := acquire(t, shared(r), 30*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("taken twice: %v", err)
	}
	if err := release(); err != nil || durable.Exists(r, s.Name) {
		t.Errorf("released: %v", err)
	}
}

// TestSharedStale checks which lock files count as stale.
func TestSharedStale(t *testing.T) {
	t.Parallel()
	live := `{"pid":100,"acquired_at":"2026-11-20T15:02:36.819Z"}` + "\n"
	dead := `{"pid":200,"acquired_at":"2026-11-20T15:02:36.819Z"}` + "\n"
	afar := `{"pid":200,"acquired_at":"2026-11-20T15:02:36.819Z","host":"elsewhere"}` + "\n"
	for _, c := range []struct {
		name, text string
		age        time.Duration
		stale      bool
	}{
		{"live and old", live, time.Hour, false},
		{"dead and fresh", dead, time.Second, false},
		{"dead for three seconds", dead, 3 * time.Second, true},
		{"dead on another host, a minute old", afar, time.Minute, false},
		{"dead on another host, old", afar, 121 * time.Second, true},
		{"unreadable, a minute old", "", time.Minute, false},
		{"unreadable, old", "{", 121 * time.Second, true},
		{"no process, old", `{"pid":0}`, 121 * time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRoot(t)
			lay(t, r, c.text, c.age)
			release, err := acquire(t, shared(r), 100*time.Millisecond)
			if (err == nil) != c.stale {
				t.Fatalf("%v", err)
			}
			if err == nil {
				err = release()
			} else if text, readErr := durable.ReadFile(r, "locks/w.lock", 1000); readErr != nil || string(text) != c.text {
				t.Errorf("the file was touched: %q (%v)", text, readErr)
			} else {
				err = nil
			}
			if err != nil {
				t.Error(err)
			}
			left, err := filepath.Glob(filepath.Join(r.Path(), "locks/*.stale-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// TestSharedTwoWaiters lets several waiters find one stale file concurrently. No two of them ever
// hold the lock.
func TestSharedTwoWaiters(t *testing.T) {
	t.Parallel()
	for range 10 {
		r := newRoot(t)
		lay(t, r, `{"pid":200}`, time.Minute)
		var mu sync.Mutex
		inside := 0
		enter := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			if inside += by; inside > 1 {
				t.Error("two hold it")
			}
		}
		var waiters sync.WaitGroup
		for range 6 {
			waiters.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				release, err := shared(r).Acquire(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				enter(1)
				enter(-1)
				if err := release(); err != nil {
					t.Error(err)
				}
			})
		}
		waiters.Wait()
	}
}

// TestSharedTaken checks that a release does not remove the file of another process that took
// over the lock as stale.
func TestSharedTaken(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	release, err := acquire(t, shared(r), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	const theirs = `{"pid":100,"nonce":"theirs"}`
	lay(t, r, theirs, 0)
	if err := release(); err != nil {
		t.Error(err)
	}
	if text, err := durable.ReadFile(r, "locks/w.lock", 1000); err != nil || string(text) != theirs {
		t.Errorf("%q (%v)", text, err)
	}
}

// TestSharedUnremovable checks that if a release fails to remove the lock file, the next Acquire
// by its live owner succeeds.
func TestSharedUnremovable(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	plan := faultfs.NewPlan(0, faultfs.Death)
	fsys, err := plan.Open(r.Path())
	if err != nil {
		t.Fatal(err)
	}
	s := shared(fsys)
	release, err := acquire(t, s, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	plan.Arm(1, faultfs.Death)
	if err := release(); err == nil || !durable.Exists(r, s.Name) {
		t.Fatalf("released: %v", err)
	}
	s.FS = r // the disk works again
	if release, err = acquire(t, s, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(release(), fsys.Close()); err != nil {
		t.Error(err)
	}
}

// lateLinks is a file system that creates links but reports failure.
type lateLinks struct{ durable.FS }

func (l lateLinks) Link(from, to string) error {
	return errors.Join(l.FS.Link(from, to), errors.New("the answer got lost"))
}

// TestSharedLostAnswer creates the lock file on a file system that reports failure all the same.
// We hold the lock, and the release removes the file.
func TestSharedLostAnswer(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	s := shared(lateLinks{r})
	release, err := acquire(t, s, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(t, shared(lateLinks{r}), 30*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("held twice: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if durable.Exists(r, s.Name) {
		t.Error("the lock file stayed")
	}
}

// raced is a file system where others change the lock file around the first rename. link may
// report that links are unsupported, or failures.
type raced struct {
	durable.FS
	before, after func()
	link          func(from, to string) error
}

func (r *raced) Rename(from, to string) error {
	before, after := r.before, r.after
	r.before, r.after = func() {}, func() {}
	before()
	err := r.FS.Rename(from, to)
	after()
	return err
}

func (r *raced) Link(from, to string) error { return r.link(from, to) }

// TestSharedPutBack checks a race: another program cleared the stale lock first, so clearStale
// takes a fresh one away. It must put it back, but not over a newer one.
func TestSharedPutBack(t *testing.T) {
	t.Parallel()
	const fresh, newer = `{"pid":100,"nonce":"fresh"}`, `{"pid":100,"nonce":"newer"}`
	for name, link := range map[string]func(durable.FS) func(from, to string) error{
		"hard links": func(fsys durable.FS) func(from, to string) error { return fsys.Link },
		"no hard links": func(durable.FS) func(from, to string) error {
			return func(string, string) error { return errors.ErrUnsupported }
		},
		"lost answers": func(fsys durable.FS) func(from, to string) error { return lateLinks{fsys}.Link },
	} {
		for _, want := range []string{fresh, newer} {
			r := newRoot(t)
			lay(t, r, `{"pid":200}`, time.Hour)
			s := shared(&raced{
				FS: r, link: link(r),
				before: func() {
					// Keep the stale file, or the new one could reuse its inode.
					if err := r.Rename("locks/w.lock", "locks/cleared"); err != nil {
						t.Error(err)
					}
					lay(t, r, fresh, 0)
				},
				after: func() {
					if want == newer {
						lay(t, r, newer, 0)
					}
				},
			})
			if err := s.clearStale(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if text, err := durable.ReadFile(r, s.Name, 1000); err != nil || string(text) != want {
				t.Errorf("%s: %q instead of %q (%v)", name, text, want, err)
			}
			if left, err := filepath.Glob(filepath.Join(r.Path(), "locks/*.stale-*")); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind: %v (%v)", name, left, err)
			}
		}
	}
}
