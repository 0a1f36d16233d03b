// Package lane is admission control for launches: it bounds how many launches
// of a workspace are prepared at once, across all processes, by workspace,
// provider and team. The queue is ordered by priority and arrival. Launches of
// a provider wait while it cools down.
//
// Invariants:
//   - A launch holds a ticket file in .local/lanes, locked by the kernel for
//     the launch's life. The ticket of a dead process therefore counts for
//     nothing.
//   - Tickets are created, granted and removed under one lock. Whoever changes
//     something also grants; a waiter watches only its own ticket.
//   - An empty lane keeps nothing but cooldowns.
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

// The files of a lane.
const (
	dir           = workspace.LanesDir
	lockFile      = dir + "/launch.lock"
	cooldownsFile = dir + "/cooldowns.json"
)

// leavePatience bounds how long a leaving launch waits for the lane's lock.
const leavePatience = 5 * time.Second

// Lane is the launch lane of one workspace. It is safe for concurrent use.
type Lane struct {
	w      *workspace.Workspace
	lock   *lock.Mutex
	random func() float64 // in [0, 1)

	mu      sync.Mutex
	waiters map[string]chan struct{} // of this process, by ticket
	waiting *waiting                 // while there are any
}

// New makes the lane of a workspace. A process must make only one for each.
func New(w *workspace.Workspace) *Lane {
	return &Lane{w: w, lock: lock.NewMutex(w.FS, lockFile), random: rand.Float64, waiters: map[string]chan struct{}{}}
}

// Ticket is the place of one launch in the queue, later its slot. It is not safe
// for concurrent use.
type Ticket struct {
	lane    *Lane
	name    string
	file    durable.File
	granted bool
	left    bool
}

// Enter queues a launch and grants it at once if a slot is free. It waits for
// nothing but the lane's lock. The caller must call Leave when the launch is
// done or given up.
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
	if err := lock.File(ctx, file); err != nil { // it closes the file on failure
		return nil, errors.Join(err, l.w.FS.Remove(name))
	}
	return ticket, nil
}

// Granted reports whether the launch may go on.
func (p *Ticket) Granted() bool { return p.granted }

// Await waits until the launch is granted. If the context ends first, the ticket
// is released and the error is the context's cause. If the ticket was removed,
// the error is fault.Conflict.
func (p *Ticket) Await(ctx context.Context) error {
	if p.granted {
		return nil
	}
	wake, stop := p.lane.join(p.name)
	defer stop()
	for !p.look() {
		if !p.stands() {
			p.Leave()
			return fault.New(fault.Conflict, "the launch lost its ticket in the lane: %s was removed", p.name)
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

// look checks the file of the ticket.
func (p *Ticket) look() bool {
	p.granted = p.granted || p.lane.w.Exists(running(p.name))
	return p.granted
}

// stands reports whether the ticket still exists.
func (p *Ticket) stands() bool { return p.lane.w.Exists(p.name) || p.look() }

// Leave releases the ticket and grants waiting launches. If the lane's lock
// cannot be taken, the slot is free anyway, and other processes find
// that out by themselves. It is idempotent.
func (p *Ticket) Leave() {
	if p.left {
		return
	}
	p.left = true
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	unlock, err := p.lane.lock.Lock(ctx)
	_ = p.discard() // a remaining ticket is unlocked; the next process clears it
	if err == nil {
		_ = p.lane.regrant() // waiters also look for themselves
		_ = unlock()
	}
}

// discard removes the ticket and releases its lock.
func (p *Ticket) discard() error {
	name := p.name
	if p.look() {
		name = running(name)
	}
	return errors.Join(p.lane.w.FS.Remove(name), lock.Close(p.file))
}

// regrant grants waiting launches. The caller holds the lane's lock.
func (l *Lane) regrant() error {
	tickets, err := l.tickets()
	if err != nil {
		return err
	}
	return l.grant(tickets)
}

// tickets reads all tickets, unordered. It clears unreadable ones that no
// process holds.
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

// clear removes a ticket that no process holds, and reports whether it did.
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

// grant grants every launch that may go on, and clears the tickets of dead
// processes in its way. The caller holds the lane's lock.
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

// withoutDead drops granted launches whose process is dead.
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

// cooling returns the digests of the providers that cool down now. Unreadable
// cooldowns delay nothing.
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

// key normalizes provider and team names: all blank ones are the same.
func key(name string) string { return strings.TrimSpace(name) }
