package main

// Disks that are full for a while.

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ac/fleet"
	"ac/workspace/doc"
)

// smallDisk is a disk of so many bytes, where this system lets the tests have one.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: a disk of one's own needs root")
	}
	if err := unix.Mount("ac-test", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(bytes)); err != nil {
		t.Skip("SKIPPED: this system gives the tests no disk of their own: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// filler keeps a disk full.
type filler struct {
	t *testing.T
	f *os.File
}

func newFiller(t *testing.T, disk string) *filler {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	return &filler{t, f}
}

// fill takes all that is free.
func (f *filler) fill() {
	f.t.Helper()
	for _, size := range []int{1 << 20, 1 << 12} {
		var err error
		for block := make([]byte, size); err == nil; {
			_, err = f.f.Write(block)
		}
		if !errors.Is(err, unix.ENOSPC) {
			f.t.Fatal(err)
		}
	}
}

// free gives it back.
func (f *filler) free() {
	f.t.Helper()
	if err := errors.Join(f.f.Close(), os.Remove(f.f.Name())); err != nil {
		f.t.Fatal(err)
	}
}

// TestTheDiskOfTheHubIsFull: nothing is sealed and nothing lost. Once there is room
// everything comes, in order and once.
func TestTheDiskOfTheHubIsFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 64<<20)
	c := makeCompanyIn(t, disk)
	t.Cleanup(c.end)
	c.startHub()
	c.hire("box", 2)
	const lines = 200
	order, starts := c.chatty(lines)
	c.until("it runs", func() bool { _, printed := c.log(order); return strings.HasPrefix(printed, "line 1\n") })
	full := newFiller(t, disk)
	c.until("the hub is behind", func() bool {
		full.fill()
		var status fleet.StatusResult
		c.ask(fleet.HubStatus, struct{}{}, &status)
		return status.Lag.Drafts > 20
	})
	full.free()
	c.whole(order, starts, lines)
}

// TestTheDiskOfAWorkerIsFull: the session is stopped and has failed, and its end arrives.
// Another one runs there once there is room.
func TestTheDiskOfAWorkerIsFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 256<<20)
	c := newCompany(t)
	c.hireIn("box", 2, disk)
	order := c.launch(`while true; do echo more; sleep 0.02; done`, nil)
	c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
	full := newFiller(t, disk)
	c.until("it is stopped", func() bool {
		full.fill() // of what was kept for ends, too
		return len(providersIn(c.folders["box"])) == 0
	})
	full.free()
	record := c.collect(order)
	if record.Status != doc.StatusFailed {
		t.Errorf("%+v", record)
	}
	again, starts := c.chatty(5)
	c.whole(again, starts, 5)
}

// providersIn are the processes of sessions that work in a folder.
func providersIn(folder string) (pids []string) {
	for _, cwd := range processesIn(folder) {
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline")); err == nil && strings.HasPrefix(string(line), "/bin/sh\x00") {
			pids = append(pids, cwd)
		}
	}
	return pids
}
