package main

// Disks that are temporarily full.

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

// smallDisk mounts a disk of the given size. It skips the test where that is not possible.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: mounting a small disk needs root")
	}
	if err := unix.Mount("ac-test", dir, "tmpfs", 0, "mode=0700,size="+strconv.Itoa(bytes)); err != nil {
		t.Skip("SKIPPED: this system refuses to mount a disk: ", err)
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

// fill writes until the disk is full.
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

// free deletes the filler file.
func (f *filler) free() {
	f.t.Helper()
	if err := errors.Join(f.f.Close(), os.Remove(f.f.Name())); err != nil {
		f.t.Fatal(err)
	}
}

// TestTheDiskOfTheHubIsFull checks that a full disk loses nothing: the hub seals nothing while
// the disk is full. Once there is room, every line arrives once and in order.
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

// TestTheDiskOfAWorkerIsFull checks that the session is stopped and fails, and that its end arrives.
// Once there is room, the worker runs another session.
func TestTheDiskOfAWorkerIsFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, 256<<20)
	c := newCompany(t)
	c.hireIn("box", 2, disk)
	order := c.launch(`while true; do echo more; sleep 0.02; done`, nil)
	c.until("it runs", func() bool { _, printed := c.log(order); return printed != "" })
	full := newFiller(t, disk)
	c.until("it is stopped", func() bool {
		full.fill() // including the space reserved for ends
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

// providersIn returns the provider processes that work in a folder.
func providersIn(folder string) (pids []string) {
	for _, cwd := range processesIn(folder) {
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(cwd), "cmdline")); err == nil && strings.HasPrefix(string(line), "/bin/sh\x00") {
			pids = append(pids, cwd)
		}
	}
	return pids
}
