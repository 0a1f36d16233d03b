// Package faultfs is a file system that injects faults. Tests use it to see what state a full
// disk, a failing disk or the death of a process leaves.
//
// A Plan counts the calls of every FS opened with it and makes one of them fail. Syncs count
// and can fail, but they never reach the disk: the same machine reads the files back.
package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"ac/internal/durable"
)

// Kind is the way in which a call fails.
type Kind int

const (
	// NoSpace fails with ENOSPC and without any effect. Calls that need no space fail with EIO.
	NoSpace Kind = iota
	// Broken fails with EIO and without any effect.
	Broken
	// Short performs half of a write and then fails with ENOSPC; other calls fail as with
	// NoSpace.
	Short
	// Late performs the call and nevertheless reports EIO. Opening and reading fail without any
	// effect.
	Late
	// Death makes the call and every later one fail, as if the process had been killed at that
	// point. A write writes half of its data.
	Death
)

func (k Kind) String() string {
	return [...]string{"no space", "broken", "short", "late", "death"}[k]
}

// ErrDead is the error of every call after the death of the process.
var ErrDead = errors.New("the process is dead")

// Plan determines when and how to fail. It is safe for concurrent use.
type Plan struct {
	// OnDeath is called before the call returns that the process is to die in: a child process
	// can exit here. It must be set before the plan is used.
	OnDeath func()

	mu    sync.Mutex
	at    int // the call that fails, counted from 1; 0 for none
	kind  Kind
	calls int
	dead  bool
	hit   string
	open  map[durable.File]struct{}
}

// NewPlan returns a plan in which the n-th call fails, or none if n is 0.
func NewPlan(n int, kind Kind) *Plan {
	return &Plan{at: n, kind: kind, open: map[durable.File]struct{}{}}
}

// Arm restarts the count and makes the n-th call from now on fail.
func (p *Plan) Arm(n int, kind Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.at, p.kind, p.hit = 0, n, kind, ""
}

// Calls returns the number of calls since the count began.
func (p *Plan) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// Hit describes the call that failed, "" if none did.
func (p *Plan) Hit() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

// CloseAll closes every file that is still open and so releases its kernel locks, as the system
// does when a process ends.
func (p *Plan) CloseAll() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	errs := make([]error, 0, len(p.open))
	for f := range p.open {
		errs = append(errs, f.Close())
	}
	clear(p.open)
	return errors.Join(errs...)
}

// OpenFiles returns the number of open files.
func (p *Plan) OpenFiles() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// Open opens a directory under the plan. It fits workspace.Env.OpenFS.
func (p *Plan) Open(dir string) (durable.FS, error) {
	root, err := durable.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &faulty{FS: root, plan: p}, nil
}

// step counts a call. half means that a write must write half of its data before it fails.
// after means that the call must be performed before it fails.
func (p *Plan) step(op, name string, needsSpace bool) (half, after bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false, false, &fs.PathError{Op: op, Path: name, Err: ErrDead}
	}
	p.calls++
	if p.at == 0 || p.calls != p.at {
		return false, false, nil
	}
	p.hit = fmt.Sprintf("call %d, %s %s (%s)", p.calls, op, name, p.kind)
	fail := func(err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }
	switch {
	case p.kind == Death:
		p.dead = true
		if p.OnDeath != nil {
			p.OnDeath()
		}
		return op == "write", false, fail(ErrDead)
	case p.kind == Late:
		return false, true, fail(syscall.EIO)
	case p.kind == Broken || !needsSpace:
		return false, false, fail(syscall.EIO)
	}
	return p.kind == Short && op == "write", false, fail(syscall.ENOSPC)
}

// do counts a call, and performs it unless the plan makes it fail without effect.
func (p *Plan) do(op, name string, needsSpace bool, call func() error) error {
	_, after, failure := p.step(op, name, needsSpace)
	if failure != nil && !after {
		return failure
	}
	return errors.Join(failure, call())
}

type faulty struct {
	durable.FS
	plan *Plan
}

func (f *faulty) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	if _, _, failure := f.plan.step("open", name, flag&os.O_CREATE != 0); failure != nil {
		return nil, failure
	}
	inner, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	f.plan.mu.Lock()
	f.plan.open[inner] = struct{}{}
	f.plan.mu.Unlock()
	return &file{File: inner, plan: f.plan, name: name}, nil
}

func (f *faulty) Sub(name string) (durable.FS, error) {
	var inner durable.FS
	err := f.plan.do("open directory", name, false, func() (err error) { inner, err = f.FS.Sub(name); return err })
	if err != nil {
		if inner != nil {
			err = errors.Join(err, inner.Close())
		}
		return nil, err
	}
	return &faulty{FS: inner, plan: f.plan}, nil
}

func (f *faulty) Mkdir(name string, perm fs.FileMode) error {
	return f.plan.do("mkdir", name, true, func() error { return f.FS.Mkdir(name, perm) })
}

func (f *faulty) Rename(from, to string) error {
	return f.plan.do("rename", from+" to "+to, true, func() error { return f.FS.Rename(from, to) })
}

func (f *faulty) Link(from, to string) error {
	return f.plan.do("link", from+" to "+to, true, func() error { return f.FS.Link(from, to) })
}

func (f *faulty) Exchange(a, b string) error {
	return f.plan.do("exchange", a+" and "+b, false, func() error { return f.FS.Exchange(a, b) })
}

func (f *faulty) Chmod(name string, perm fs.FileMode) error {
	return f.plan.do("chmod", name, false, func() error { return f.FS.Chmod(name, perm) })
}

func (f *faulty) SetModified(name string, at time.Time) error {
	return f.plan.do("set time of", name, false, func() error { return f.FS.SetModified(name, at) })
}

func (f *faulty) Symlink(target, name string) error {
	return f.plan.do("symlink", name, true, func() error { return f.FS.Symlink(target, name) })
}

func (f *faulty) Readlink(name string) (target string, err error) {
	err = f.plan.do("read link", name, false, func() (err error) { target, err = f.FS.Readlink(name); return err })
	return target, err
}

func (f *faulty) Remove(name string) error {
	return f.plan.do("remove", name, false, func() error { return f.FS.Remove(name) })
}

func (f *faulty) RemoveAll(name string) error {
	return f.plan.do("remove all", name, false, func() error { return f.FS.RemoveAll(name) })
}

func (f *faulty) SyncDir(name string) error {
	return f.plan.do("sync directory", name, true, func() error {
		_, err := f.FS.Stat(name)
		return err
	})
}

func (f *faulty) Lstat(name string) (st fs.FileInfo, err error) {
	err = f.plan.do("lstat", name, false, func() (err error) { st, err = f.FS.Lstat(name); return err })
	return st, err
}

func (f *faulty) Stat(name string) (st fs.FileInfo, err error) {
	err = f.plan.do("stat", name, false, func() (err error) { st, err = f.FS.Stat(name); return err })
	return st, err
}

func (f *faulty) ReadNames(name string) (names []string, err error) {
	err = f.plan.do("list", name, false, func() (err error) { names, err = f.FS.ReadNames(name); return err })
	return names, err
}

func (f *faulty) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = f.plan.do("list", name, false, func() (err error) { entries, err = f.FS.ReadDir(name); return err })
	return entries, err
}

type file struct {
	durable.File
	plan *Plan
	name string
}

func (f *file) Read(b []byte) (n int, err error) {
	if err := f.plan.do("read", f.name, false, func() error { return nil }); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}

func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	if err := f.plan.do("read", f.name, false, func() error { return nil }); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, at)
}

func (f *file) Write(b []byte) (n int, err error) {
	half, after, failure := f.plan.step("write", f.name, true)
	switch {
	case failure == nil:
		return f.File.Write(b)
	case half:
		n, err = f.File.Write(b[:len(b)/2])
	case after:
		n, err = f.File.Write(b)
	}
	return n, errors.Join(failure, err)
}

func (f *file) SyncData() error {
	return f.plan.do("sync", f.name, true, func() error { return nil })
}

func (f *file) Truncate(size int64) error {
	return f.plan.do("truncate", f.name, true, func() error { return f.File.Truncate(size) })
}

// Close never fails by plan: a file that stayed open would keep its lock.
func (f *file) Close() error {
	f.plan.mu.Lock()
	delete(f.plan.open, f.File)
	f.plan.mu.Unlock()
	return f.File.Close()
}
