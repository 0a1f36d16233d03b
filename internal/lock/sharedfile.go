package lock

// The lock file that other programs of a workspace know: it exists exactly
// while somebody writes. Its protocol is fixed; our own processes queue at a
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

// How the lock file is judged and waited for.
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
	// Alive tells whether a process of this host lives; one that may not be
	// signalled counts as alive.
	Alive func(pid int) bool

	// left is the nonce of a lock file of ours that could not be removed. Our
	// process lives, so nobody else may take the file for stale.
	left string
}

// Owner is what a lock file says about its holder. Other programs write the
// first two fields alone.
type Owner struct {
	PID        int    `json:"pid"`
	AcquiredAt string `json:"acquired_at"`
	Host       string `json:"host,omitempty"`
	Nonce      string `json:"nonce,omitempty"`
}

// Acquire creates the lock file, waiting until the context ends. The file is
// not synced: its existence is what counts.
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

// Holder describes who holds the lock file, for messages.
func (s *SharedFile) Holder() string {
	owner, _, err := s.read()
	if err != nil || owner.PID == 0 {
		return "an unknown process"
	}
	return fmt.Sprintf("process %d since %s", owner.PID, owner.AcquiredAt)
}

// create makes the lock file with its content at once where the file system has
// links, so that a process killed in between leaves no file that names nobody.
func (s *SharedFile) create(nonce string) error {
	line, err := json.Marshal(Owner{PID: s.PID, AcquiredAt: clock.Stamp(s.Clock.Now()), Host: s.Host, Nonce: nonce})
	if err != nil {
		return err
	}
	line = append(line, '\n')
	aside := s.Name + ".new-" + nonce
	if err := s.fill(aside, line); err != nil {
		return err
	}
	err = s.FS.Link(aside, s.Name)
	if err != nil && s.sameFile(aside, s.Name) {
		err = nil // it was made, and the answer got lost, as happens over a network
	}
	_ = s.FS.Remove(aside) // what stays of it holds nobody up
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.fill(s.Name, line)
}

// sameFile reports whether two names lead to one file.
func (s *SharedFile) sameFile(a, b string) bool {
	first, err := s.FS.Lstat(a)
	if err != nil {
		return false
	}
	second, err := s.FS.Lstat(b)
	return err == nil && durable.SameFile(first, second)
}

// fill makes a file that must not exist yet; one that it could not fill goes.
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

// removals is how often the removal of our lock file is tried: one that stays
// keeps everybody from writing.
const removals = 3

func (s *SharedFile) remove(name string) (err error) {
	for range removals {
		if err = s.FS.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

func (s *SharedFile) read() (Owner, fs.FileInfo, error) {
	st, err := s.FS.Lstat(s.Name)
	if err != nil {
		return Owner{}, nil, err
	}
	text, err := durable.ReadFile(s.FS, s.Name, 1<<16)
	if err != nil {
		return Owner{}, st, err
	}
	var owner Owner
	if json.Unmarshal(text, &owner) != nil {
		return Owner{}, st, nil //nolint:nilerr // what names no owner has a dead one, see Judge
	}
	return owner, st, nil
}

// Judgement is what can be told of a lock file without taking it.
type Judgement struct {
	Owner Owner
	// Present says that there is a lock file.
	Present bool
	// Dead says that its owner is known to be gone; Stale, that the file is also
	// old enough to be removed.
	Dead, Stale bool

	file fs.FileInfo
}

// Judge looks at the lock file.
func (s *SharedFile) Judge() Judgement {
	owner, st, err := s.read()
	if st == nil {
		return Judgement{} // gone meanwhile, or never there
	}
	j := Judgement{Owner: owner, Present: true, file: st}
	j.Dead = err != nil || owner.PID <= 0 || !s.Alive(owner.PID)
	age := s.Clock.Now().Sub(st.ModTime())
	ours := owner.PID > 0 && (owner.Host == "" || owner.Host == s.Host)
	j.Stale = j.Dead && (age > sharedStale || ours && age > sharedStaleOwned)
	return j
}

// clearStale removes a lock file whose owner is gone. One of our processes does
// so at a time: what it judged is then what it removes.
func (s *SharedFile) clearStale() error {
	if j := s.Judge(); !j.Present || !j.Stale && (s.left == "" || j.Owner.Nonce != s.left) {
		return nil // the next attempt tells
	}
	clearing, err := Try(s.FS, s.Name+".clearing")
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(s.clear(), clearing.Retire())
}

// clear judges the lock file again and removes it. It is renamed first and
// looked at again, for other programs may clear it, too.
func (s *SharedFile) clear() error {
	j := s.Judge()
	if !j.Present {
		return nil
	}
	if j.Owner.Nonce != "" && j.Owner.Nonce == s.left {
		return s.remove(s.Name)
	}
	if !j.Stale {
		return nil
	}
	aside := s.Name + ".stale-" + s.Random(6)
	if err := s.FS.Rename(s.Name, aside); err != nil {
		return nil //nolint:nilerr // another waiter was first
	}
	moved, err := s.FS.Lstat(aside)
	if err != nil {
		return err
	}
	if !durable.SameFile(j.file, moved) {
		// A fresh lock took the place of the one judged: give it back, unless
		// there is a newer one by now.
		if err := s.FS.Link(aside, s.Name); err != nil && !errors.Is(err, fs.ErrExist) {
			return s.FS.Rename(aside, s.Name)
		}
	}
	return s.FS.Remove(aside)
}

func (s *SharedFile) release(nonce string) (err error) {
	for range removals {
		var owner Owner
		owner, _, err = s.read()
		if errors.Is(err, fs.ErrNotExist) || (err == nil && owner.Nonce != nonce) {
			return nil // taken from us as stale: not ours to remove
		}
		if err == nil {
			err = s.remove(s.Name)
			break
		}
	}
	if err != nil {
		s.left = nonce // the next Acquire tries again
	}
	return err
}
