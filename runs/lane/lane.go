// Package lane bounds how many launches of a workspace are prepared at once,
// in all processes together: by workspace, provider and team, by priority and
// arrival, and not at all while a provider cools down.
//
// Invariants: a launch holds a ticket file in .local/lanes, locked by the
// kernel for the launch's life, so that the ticket of a dead process counts
// for nothing; tickets are made, granted and given back under one lock; whoever
// changes something grants, and a waiter watches only its own ticket. Nothing
// but cooldowns is kept while the lane is empty.
package lane

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
)

// Where the lane of a workspace lies.
const (
	dir           = workspace.LanesDir
	lockFile      = dir + "/launch.lock"
	cooldownsFile = dir + "/cooldowns.json"
)

// leavePatience bounds the wait for the lane's lock of a launch that goes.
const leavePatience = 5 * time.Second

// Lane is the launch lane of one workspace, as one process sees it. It is safe
// for concurrent use.
type Lane struct {
	w      *workspace.Workspace
	lock   *lock.Mutex
	random func() float64 // from 0 up to 1

	mu      sync.Mutex
	waiters map[string]chan struct{} // of this process, by ticket
	waiting *waiting                 // while there are any
}

// New makes the lane of a workspace. A process makes one for each workspace.
func New(w *workspace.Workspace) *Lane {
	return &Lane{w: w, lock: lock.NewMutex(w.FS, lockFile), random: rand.Float64, waiters: map[string]chan struct{}{}}
}

// Ticket admits one launch to the lane, once it is granted. Its methods are for one
// goroutine.
type Ticket struct {
	lane    *Lane
	name    string
	file    durable.File
	granted bool
	left    bool
}

// Enter takes a ticket, which is granted at once where a slot is free. It waits for
// nothing but the lane's lock. The caller calls Leave when the launch is
// through, or given up.
func (l *Lane) Enter(ctx context.Context, r Request) (ticket *Ticket, err error) {
	if err := durable.MkdirAll(l.w.FS, dir, 0o755); err != nil {
		return nil, fmt.Errorf("enter the launch lane: %w", err)
	}
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("enter the launch lane: %w", err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	tickets, err := l.tickets()
	if err != nil {
		return nil, err
	}
	seq := int64(1)
	for _, t := range tickets {
		seq = max(seq, t.seq+1)
	}
	t := newTicket(r, seq, l.w.Env.IDs.Hex(4))
	if ticket, err = l.issue(ctx, t.name, r); err != nil {
		return nil, fmt.Errorf("enter the launch lane: %w", err)
	}
	if err := l.grant(append(tickets, t)); err != nil {
		return nil, errors.Join(err, ticket.discard())
	}
	ticket.look()
	return ticket, nil
}

// issue writes a ticket and locks it.
func (l *Lane) issue(ctx context.Context, name string, r Request) (*Ticket, error) {
	file, err := l.w.FS.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	ticket := &Ticket{lane: l, name: name, file: file}
	text, err := content(r)
	if err == nil {
		err = durable.WriteAll(file, text)
	}
	if err != nil {
		return nil, errors.Join(err, ticket.discard())
	}
	if err := lock.File(ctx, file); err != nil { // closed by it
		return nil, errors.Join(err, l.w.FS.Remove(name))
	}
	return ticket, nil
}

// Granted reports whether the launch may go on.
func (p *Ticket) Granted() bool { return p.granted }

// Await waits until the launch may go on. When the context ends first the ticket
// is given up, and the error is the context's cause. A ticket that somebody
// removed is a fault.Conflict.
func (p *Ticket) Await(ctx context.Context) error {
	if p.granted {
		return nil
	}
	wake, stop := p.lane.join(p.name)
	defer stop()
	for !p.look() {
		if !p.stands() {
			p.Leave()
			return fault.New(fault.Conflict, "the launch lost its place in the lane: %s was removed", p.name)
		}
		select {
		case <-wake:
		case <-ctx.Done():
			p.Leave()
			return context.Cause(ctx)
		}
	}
	return nil
}

// look looks at the file of the ticket.
func (p *Ticket) look() bool {
	p.granted = p.granted || p.lane.w.Exists(running(p.name))
	return p.granted
}

// stands reports whether the ticket is still where others look for it.
func (p *Ticket) stands() bool { return p.lane.w.Exists(p.name) || p.look() }

// Leave gives the ticket back and grants what that makes room for. When the
// lane's lock cannot be had the slot is free all the same, and others find
// that out by themselves. Leaving twice is harmless.
func (p *Ticket) Leave() {
	if p.left {
		return
	}
	p.left = true
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	unlock, err := p.lane.lock.Lock(ctx)
	_ = p.discard() // a ticket that stays is unlocked, and cleared by the next who looks
	if err == nil {
		_ = p.lane.regrant() // who waits looks for itself in a while
		_ = unlock()
	}
}

// discard removes the ticket and gives up its lock.
func (p *Ticket) discard() error {
	name := p.name
	if p.look() {
		name = running(name)
	}
	return errors.Join(p.lane.w.FS.Remove(name), lock.Close(p.file))
}

// regrant runs with the lane locked.
func (l *Lane) regrant() error {
	tickets, err := l.tickets()
	if err != nil {
		return err
	}
	return l.grant(tickets)
}

// tickets reads all tickets, in no order. Those that cannot be read are cleared
// when nobody holds them.
func (l *Lane) tickets() ([]ticket, error) {
	entries, err := l.w.FS.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the launch lane: %w", err)
	}
	var tickets []ticket
	for _, e := range entries {
		t, ticketLike, ok := readTicket(e.Name())
		if ok {
			tickets = append(tickets, t)
		} else if ticketLike {
			if _, err := l.clear(t.name); err != nil {
				return nil, err
			}
		}
	}
	return tickets, nil
}

// clear removes a ticket that nobody holds, and tells whether it did.
func (l *Lane) clear(name string) (cleared bool, err error) {
	held, err := lock.Busy(l.w.FS, name)
	if held || err != nil {
		return false, err
	}
	if err := l.w.FS.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// grant lets every launch go on that may, clearing the tickets of the dead that
// are in its way. It runs with the lane locked.
func (l *Lane) grant(tickets []ticket) error {
	tickets, err := l.withoutDead(tickets)
	if err != nil {
		return err
	}
	inOrder(tickets)
	cooling := l.cooling()
	for {
		i := pick(tickets, cooling)
		if i < 0 {
			return nil
		}
		dead, err := l.clear(tickets[i].name)
		if err != nil {
			return err
		}
		if dead {
			tickets = slices.Delete(tickets, i, i+1)
			continue
		}
		if err := l.w.FS.Rename(tickets[i].name, running(tickets[i].name)); err != nil {
			return fmt.Errorf("grant a place in the launch lane: %w", err)
		}
		tickets[i].running = true
		l.wake(tickets[i].name)
	}
}

// withoutDead leaves out running launches that nobody prepares any more.
func (l *Lane) withoutDead(tickets []ticket) ([]ticket, error) {
	var failed error
	return slices.DeleteFunc(tickets, func(t ticket) bool {
		if !t.running || failed != nil {
			return false
		}
		dead, err := l.clear(t.name)
		failed = err
		return dead
	}), failed
}

// cooling gives the digests of the providers that cool down now. Cooldowns that cannot be read
// hold nobody back.
func (l *Lane) cooling() map[string]bool {
	cooldowns, _ := l.readCooldowns()
	now := l.w.Env.Clock.Now().UnixMilli()
	cooling := map[string]bool{}
	for _, c := range cooldowns {
		if c.active(now) {
			cooling[digest(c.Provider)] = true
		}
	}
	return cooling
}

// key is the form in which providers and teams are told apart: blank ones share
// one default.
func key(name string) string { return strings.TrimSpace(name) }
