package lock

// The lock file that other programs of a workspace know: it exists exactly
// while a process writes. Its protocol is fixed. Our own processes queue at a
// Mutex before they come here.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
)

// The retry interval, and the age at which a lock file counts as stale:
// sharedStaleOwned if its owner was a process of this host and is dead, else
// sharedStale.
const (
	sharedRetry      = 10 * time.Millisecond
	sharedStale      = 120 * time.Second
	sharedStaleOwned = 2 * time.Second
)

// SharedFile is the lock file of a workspace.
type SharedFile struct {
	FS     durable.FS
	Name   string
	PID    int
	Host   string
	Clock  *clock.Clock
	Random func(bytes int) string
	// Alive reports whether a process of this host lives; one that we may not
	// signal counts as alive.
	Alive func(pid int) bool

	// leftoverNonce is the nonce of our own lock file that could not be removed. Since
	// our process lives, no other process may treat the file as stale.
	leftoverNonce string
}

// Owner is the content of a lock file. Other programs write only the first two
// fields.
type Owner struct {
	PID        int    `json:"pid"`
	AcquiredAt string `json:"acquired_at"`
	Host       string `json:"host,omitempty"`
	Nonce      string `json:"nonce,omitempty"`
}

// Acquire creates the lock file. It retries until the context ends. It does not sync the file,
// because only its existence counts.
func (s *SharedFile) Acquire(ctx context.Context) (release func() error, err error) {
	nonce := s.Random(8)
	for {
		err := s.create(nonce)
		if err == nil {
			return func() error { return s.release(nonce) }, nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			if err := durable.MkdirAll(s.FS, path.Dir(s.Name), 0o755); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := s.clearStale(); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(sharedRetry):
		}
	}
}

// Holder describes the owner of the lock file, for error messages.
func (s *SharedFile) Holder() string {
	owner, _, err := s.read()
	if err != nil || owner.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("process %d since %s", owner.PID, owner.AcquiredAt)
}

// create creates the lock file together with its content, if the file system has hard links. So
// a killed process leaves no lock file without an owner.
func (s *SharedFile) create(nonce string) error {
	line, err := json.Marshal(Owner{PID: s.PID, AcquiredAt: clock.Stamp(s.Clock.Now()), Host: s.Host, Nonce: nonce})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	temp := s.Name + ".new-" + nonce
	if err := s.fill(temp, line); err != nil {
		return err
	}
	err = s.FS.Link(temp, s.Name)
	if err != nil && s.sameFile(temp, s.Name) {
		err = nil // it was made but the reply was lost, as happens over a network
	}
	_ = s.FS.Remove(temp) // a leftover blocks no one
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.fill(s.Name, line)
}

// sameFile reports whether two names resolve to one file.
func (s *SharedFile) sameFile(a, b string) bool {
	first, err := s.FS.Lstat(a)
	if err != nil {
		return false
	}
	second, err := s.FS.Lstat(b)
	return err == nil && durable.SameFile(first, second)
}

// fill creates a file that must not exist yet and removes it if it cannot write
// it.
func (s *SharedFile) fill(name string, line []byte) error {
	f, err := s.FS.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = errors.Join(durable.WriteAll(f, line), f.Close()); err != nil {
		err = errors.Join(err, s.remove(name))
	}
	return err
}

// maxRemoveTries is how often the removal of our lock file is tried: a leftover blocks every writer.
const maxRemoveTries = 3

func (s *SharedFile) remove(name string) (err error) {
	for range maxRemoveTries {
		if err = s.FS.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// maxLock bounds the size of a lock file, in bytes.
const maxLock = 1 << 16

func (s *SharedFile) read() (Owner, fs.FileInfo, error) {
	st, err := s.FS.Lstat(s.Name)
	if err != nil {
		return Owner{}, nil, err
	}
	text, err := durable.ReadFile(s.FS, s.Name, maxLock)
	if err != nil {
		return Owner{}, st, err
	}
	var owner Owner
	if json.Unmarshal(text, &owner) != nil {
		return Owner{}, st, nil //nolint:nilerr // a file without an owner counts as that of a dead one, see Inspect
	}
	return owner, st, nil
}

// Inspection is what Inspect found out about a lock file.
type Inspection struct {
	Owner Owner
	// Present reports that there is a lock file.
	Present bool
	// Dead reports that its owner is gone; Stale, that the file is also old
	// enough to be removed.
	Dead, Stale bool

	file fs.FileInfo
}

// Inspect inspects the lock file.
func (s *SharedFile) Inspect() Inspection {
	owner, st, err := s.read()
	if st == nil {
		return Inspection{} // removed meanwhile, or never there
	}
	j := Inspection{Owner: owner, Present: true, file: st}
	j.Dead = err != nil || owner.PID <= 0 || !s.Alive(owner.PID)
	age := s.Clock.Now().Sub(st.ModTime())
	ours := owner.PID > 0 && (owner.Host == "" || owner.Host == s.Host)
	j.Stale = j.Dead && (age > sharedStale || ours && age > sharedStaleOwned)
	return j
}

// clearStale removes a lock file whose owner is gone. Only one of our processes
// does so at a time, so that it removes the file it judged.
func (s *SharedFile) clearStale() error {
	if j := s.Inspect(); !j.Present || !j.Stale && (s.leftoverNonce == "" || j.Owner.Nonce != s.leftoverNonce) {
		return nil // the next attempt decides
	}
	clearing, err := Try(s.FS, s.Name+".clearing")
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.clear(), clearing.RemoveAndRelease())
}

// clear judges the lock file again and removes it. It renames the file first
// and then checks it again, since other programs may clear it, too.
func (s *SharedFile) clear() error {
	j := s.Inspect()
	if !j.Present {
		return nil
	}
	if j.Owner.Nonce != "" && j.Owner.Nonce == s.leftoverNonce {
		return s.remove(s.Name)
	}
	if !j.Stale {
		return nil
	}
	stale := s.Name + ".stale-" + s.Random(6)
	if err := s.FS.Rename(s.Name, stale); err != nil {
		return nil //nolint:nilerr // another waiter was first
	}
	moved, err := s.FS.Lstat(stale)
	if err != nil {
		return err
	}
	if !durable.SameFile(j.file, moved) {
		// A fresh lock replaced the one judged.
		if err := s.putBack(stale); err != nil {
			return err
		}
	}
	return s.FS.Remove(stale)
}

// putBack gives a lock file that was moved away its name again, unless there is a newer one by
// now. Without hard links it makes a copy: a rename would replace the newer one, and an owner
// recognizes its lock by the content.
func (s *SharedFile) putBack(moved string) error {
	err := s.FS.Link(moved, s.Name)
	if err == nil || errors.Is(err, fs.ErrExist) || s.sameFile(moved, s.Name) {
		return nil
	}
	text, err := durable.ReadFile(s.FS, moved, maxLock)
	if err != nil {
		return err
	}
	if err := s.fill(s.Name, text); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (s *SharedFile) release(nonce string) (err error) {
	for range maxRemoveTries {
		var owner Owner
		owner, _, err = s.read()
		if errors.Is(err, fs.ErrNotExist) || (err == nil && owner.Nonce != nonce) {
			return nil // another process took it as stale: it is not ours to remove
		}
		if err == nil {
			err = s.remove(s.Name)
			break
		}
	}
	if err != nil {
		s.leftoverNonce = nonce // the next Acquire removes it
	}
	return err
}
