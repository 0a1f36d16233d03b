//go:build unix

package lock

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestForkHoldsNothing checks that a released lock is free at once, even if a child forked
// meanwhile still has the descriptor.
func TestForkHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(*Hold) error{"release": (*Hold).Release, "retire": (*Hold).RemoveAndRelease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoot(t)
			held, err := Try(r, "locks/a")
			if err != nil {
				t.Fatal(err)
			}
			conn, err := held.file.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			forked := -1
			if err := conn.Control(func(fd uintptr) { forked, err = unix.Dup(int(fd)) }); err != nil {
				t.Fatal(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(forked)
			if err := giveUp(held); err != nil {
				t.Fatal(err)
			}
			again, err := tryOnce(r, "locks/a")
			if err != nil {
				t.Fatal(err)
			}
			if err := again.Release(); err != nil {
				t.Error(err)
			}
		})
	}
}
