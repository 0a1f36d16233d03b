package lock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"ac/internal/durable"
)

// holdCommand makes the test binary take the lock in a directory and keep it until it is killed.
const holdCommand = "hold"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == holdCommand {
		hold(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func hold(dir string) {
	fsys, err := durable.OpenRoot(dir)
	if err == nil {
		_, err = NewMutex(fsys, "locks/m").Lock(context.Background())
	}
	fmt.Println("held", err)
	time.Sleep(time.Minute) // killed long before
}

func newRoot(t *testing.T) *durable.Root {
	t.Helper()
	return openRoot(t, t.TempDir())
}

func openRoot(t *testing.T, dir string) *durable.Root {
	t.Helper()
	r, err := durable.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func busy(t *testing.T, fsys durable.FS, name string) bool {
	t.Helper()
	held, err := Busy(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// until waits until reached returns true.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	if busy(t, r, "locks/a") {
		t.Error("a missing file is held")
	}
	held, err := Try(r, "locks/a")
	if err != nil || !busy(t, r, "locks/a") {
		t.Fatalf("%v", err)
	}
	if _, err := Try(r, "locks/a"); !errors.Is(err, ErrBusy) {
		t.Errorf("taken twice: %v", err)
	}
	if err := held.Release(); err != nil || busy(t, r, "locks/a") || !durable.Exists(r, "locks/a") {
		t.Errorf("released: %v", err)
	}
	if held, err = Try(r, "locks/a"); err != nil {
		t.Fatal(err)
	}
	if err := held.RemoveAndRelease(); err != nil || durable.Exists(r, "locks/a") {
		t.Errorf("retired: %v", err)
	}
}

// TestLooksFailNoTry checks that Try waits for a concurrent check of the lock instead of failing.
func TestLooksFailNoTry(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	held, err := Try(r, "locks/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	look, err := r.OpenFile("locks/a", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := flock(look, true, true); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		held, err := Try(r, "locks/a")
		if err == nil {
			err = held.Release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait for the look: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := look.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// TestRetireRace takes and retires one lock from several goroutines. No two ever hold it,
// although its file is removed and recreated.
func TestRetireRace(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	var inside, taken int
	var mu sync.Mutex
	enter := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		if inside += by; inside > 1 {
			t.Error("two hold it")
		}
		taken++
	}
	var sides sync.WaitGroup
	for side := range 4 {
		sides.Go(func() {
			for range 50 {
				var held *Hold
				var err error
				if side%2 == 0 {
					held, err = Wait(t.Context(), r, "locks/a")
				} else if held, err = Try(r, "locks/a"); errors.Is(err, ErrBusy) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				enter(1)
				enter(-1)
				if err := held.RemoveAndRelease(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sides.Wait()
	if taken < 200 {
		t.Errorf("taken %d times", taken/2)
	}
}

// TestBoundedWait checks that a wait that times out returns the cause, and does not take the lock
// later.
func TestBoundedWait(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	cause := errors.New("too long")
	first := NewMutex(r, "locks/m")
	unlock, err := first.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, cause)
	defer cancel()
	for _, m := range []*Mutex{first, NewMutex(r, "locks/m")} {
		if _, err := m.Lock(ctx); !errors.Is(err, cause) {
			t.Errorf("%v", err)
		}
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	until(t, "the lock is free again", func() bool { return !busy(t, r, "locks/m") })
	if unlock, err = NewMutex(r, "locks/m").Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
}

// TestTurns checks that a waiter gets the lock before the one who just released it.
func TestTurns(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	here, there := NewMutex(r, "locks/m"), NewMutex(r, "locks/m")
	for range 20 {
		unlock, err := here.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 2)
		var sides sync.WaitGroup
		take := func(name string, m *Mutex) {
			sides.Go(func() {
				unlock, err := m.Lock(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				order <- name
				if err := unlock(); err != nil {
					t.Error(err)
				}
			})
		}
		take("there", there)
		until(t, "the other side waits", func() bool { return busy(t, r, "locks/m.turn") })
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		take("here", here)
		if first := <-order; first != "there" {
			t.Fatal("who just released came first")
		}
		sides.Wait()
	}
}

// TestDeathFrees kills the process that holds a lock. The waiter then gets it.
func TestDeathFrees(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	cmd := exec.Command(os.Args[0], holdCommand, r.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held <nil>\n" || !busy(t, r, "locks/m") {
		t.Errorf("%q (%v)", line, err)
	}
	got := make(chan error, 1)
	go func() {
		unlock, err := NewMutex(r, "locks/m").Lock(t.Context())
		if err == nil {
			err = unlock()
		}
		got <- err
	}()
	until(t, "somebody waits", func() bool { return busy(t, r, "locks/m.turn") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // it was killed
}
