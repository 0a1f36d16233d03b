// Package lane is the admission control for launches. It limits how many launches of a workspace
// are prepared at once, across all processes, per workspace, provider and team. The queue is
// ordered by priority, then by arrival. Launches of a provider wait while it cools down.
//
// Invariants:
//   - A launch holds a ticket file in .local/lanes, with a kernel lock for the launch's lifetime.
//     The ticket of a dead process therefore counts for nothing.
//   - Tickets are created, granted and removed under one lock. Every process that changes the queue
//     also grants. A waiter watches only its own ticket.
//   - An empty lane retains only its cooldowns.
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

// leavePatience is how long Leave waits for the lane's lock.
const leavePatience = 5 * time.Second

// Lane is the launch lane of one workspace. It is safe for concurrent use.
type Lane struct {
	w      *workspace.Workspace
	lock   *lock.Mutex
	random func() float64 // in [0, 1)

	mu      sync.Mutex
	waiters map[string]chan struct{} // waiters of this process, by ticket
	watcher *watcher                 // nil without waiters
}

// New returns the lane of a workspace. A process must create at most one per workspace.
func New(w *workspace.Workspace) *Lane {
	return &Lane{w: w, lock: lock.NewMutex(w.FS, lockFile), random: rand.Float64, waiters: map[string]chan struct{}{}}
}

// Ticket is the place of one launch in the queue, and its slot once granted. It is not safe for
// concurrent use.
type Ticket struct {
	lane    *Lane
	name    string
	file    durable.File
	granted bool
	left    bool
}

// Enter queues a launch and grants it immediately if a slot is free. It blocks only on the
// lane's lock. The caller must call Leave when the launch is done or abandoned.
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
	ticket.checkGranted()
	return ticket, nil
}

// issue creates and locks a ticket file.
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
	if err := lock.File(ctx, file); err != nil { // on failure, it closes the file
		return nil, errors.Join(err, l.w.FS.Remove(name))
	}
	return ticket, nil
}

// Granted reports whether the launch may proceed.
func (p *Ticket) Granted() bool { return p.granted }

// Await waits until the launch is granted. If ctx ends first, Await releases the ticket and
// returns the cause of ctx. If somebody removed the ticket, the error is fault.Conflict.
func (p *Ticket) Await(ctx context.Context) error {
	if p.granted {
		return nil
	}
	wake, stop := p.lane.join(p.name)
	defer stop()
	for !p.checkGranted() {
		if !p.exists() {
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

// checkGranted checks the ticket's file and reports whether the launch is granted.
func (p *Ticket) checkGranted() bool {
	p.granted = p.granted || p.lane.w.Exists(running(p.name))
	return p.granted
}

// exists reports whether the ticket still exists.
func (p *Ticket) exists() bool { return p.lane.w.Exists(p.name) || p.checkGranted() }

// Leave releases the ticket and grants waiting launches. If Leave cannot get the lane's lock, it
// still frees the slot, and other processes notice that by polling. It is idempotent.
func (p *Ticket) Leave() {
	if p.left {
		return
	}
	p.left = true
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	unlock, err := p.lane.lock.Lock(ctx)
	_ = p.discard() // a leftover ticket is unlocked; the next process clears it
	if err == nil {
		_ = p.lane.regrant() // waiters poll as well
		_ = unlock()
	}
}

// discard removes the ticket and releases its lock.
func (p *Ticket) discard() error {
	name := p.name
	if p.checkGranted() {
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

// tickets reads all tickets, unordered. It removes invalid ones that no process holds.
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

// clear removes a ticket if no process holds it, and reports whether it did.
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

// grant grants all launches that may proceed. It removes tickets of dead processes that it
// encounters. The caller holds the lane's lock.
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

// cooling returns the digests of the providers that are cooling down. Unreadable cooldowns delay
// nothing.
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

// key normalizes the name of a provider or team. All blank names are equal.
func key(name string) string { return strings.TrimSpace(name) }
