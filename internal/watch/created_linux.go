package watch

import (
	"errors"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchCreated watches for new entries in a folder, and for nothing else. A write to a file in it wakes
// nobody. It needs a few kilobytes, where a Tree has buffers for thousands of changes. changed
// receives a value after entries were made. It is closed when the folder is no longer watched.
// end ends the watch.
func watchCreated(dir string) (changed <-chan struct{}, end func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return nil, nil, os.NewSyscallError("inotify_init1", err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MOVE_SELF|unix.IN_DELETE_SELF|unix.IN_ONLYDIR)
	if err != nil {
		return nil, nil, errors.Join(os.NewSyscallError("inotify_add_watch", err), f.Close())
	}
	notices := make(chan struct{}, 1)
	var group sync.WaitGroup
	group.Go(func() {
		defer close(notices)
		readEvents(f, notices)
	})
	return notices, func() {
		_ = f.Close() // ends the read
		group.Wait()
	}, nil
}

// readEvents reads events until the folder is gone or the watch ends.
func readEvents(f *os.File, notices chan<- struct{}) {
	// One event with the longest name fits.
	events := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
	for {
		n, err := f.Read(events)
		if err != nil {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(&events[at])) //nolint:gosec // the kernel aligns them
			if event.Mask&(unix.IN_IGNORED|unix.IN_MOVE_SELF|unix.IN_DELETE_SELF|unix.IN_UNMOUNT) != 0 {
				return
			}
			at += unix.SizeofInotifyEvent + int(event.Len)
		}
		select {
		case notices <- struct{}{}:
		default: // a notification is already pending
		}
	}
}
