package demo

// The board: it prints events and records the seqs seen of each run.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// board collects the events of all runs. It is safe for concurrent use.
type board struct {
	out   io.Writer
	began time.Time

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced with each event
	names    map[string]string
	early    map[string][]notification // of runs that are not yet introduced
	seen     map[string][]int64        // seqs by run, in order of arrival
	terminal int
}

func newBoard(out io.Writer) *board {
	return &board{out: out, began: time.Now(), changed: make(chan struct{}), names: map[string]string{}, seen: map[string][]int64{}, early: map[string][]notification{}}
}

func (b *board) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

func (b *board) introduce(run, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names[run] = name
	for _, n := range b.early[run] {
		b.show(n)
	}
	delete(b.early, run)
}

// saw records one event and prints it.
func (b *board) saw(n notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := n.Event.RunID
	b.seen[run] = append(b.seen[run], n.Seq)
	switch n.Event.Type {
	case "run.ended", "run.failed", "run.stopped":
		b.terminal++
	}
	if b.names[run] == "" {
		b.early[run] = append(b.early[run], n)
	} else {
		b.show(n)
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) show(n notification) {
	name := b.names[n.Event.RunID]
	fmt.Fprintf(b.out, "  %6.2fs  %-5s %2d  %-16s %s\n", time.Since(b.began).Seconds(), name, n.Seq, n.Event.Type, detail(n))
}

// detail returns a short description of an event.
func detail(n notification) string {
	var payload struct {
		Chunk    string  `json:"chunk"`
		Allowed  *bool   `json:"allowed"`
		RuleID   string  `json:"rule_id"`
		ExitCode *int    `json:"exit_code"`
		Signal   *string `json:"signal"`
	}
	if json.Unmarshal(n.Event.Payload, &payload) != nil {
		return ""
	}
	switch {
	case payload.Chunk != "":
		return strings.TrimSpace(payload.Chunk)
	case payload.Allowed != nil:
		return fmt.Sprintf("allowed=%v by %s", *payload.Allowed, payload.RuleID)
	case payload.Signal != nil:
		return *payload.Signal
	case payload.ExitCode != nil:
		return fmt.Sprintf("exit %d", *payload.ExitCode)
	}
	return ""
}

func (b *board) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, seqs := range b.seen {
		n += len(seqs)
	}
	return n
}

// lastSeqs returns the last seq seen of each run.
func (b *board) lastSeqs() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := map[string]int64{}
	for run, seqs := range b.seen {
		last[run] = slices.Max(seqs)
	}
	return last
}

// wait waits until the given number of events were seen.
func (b *board) wait(ctx context.Context, events int) error {
	return b.until(ctx, func() bool { return b.count() >= events }, "the events did not arrive")
}

// waitTerminal waits until the given number of runs were seen to end.
func (b *board) waitTerminal(ctx context.Context, runs int) error {
	return b.until(ctx, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.terminal >= runs
	}, "the ends of the runs were not sent")
}

func (b *board) until(ctx context.Context, holds func() bool, otherwise string) error {
	for {
		b.mu.Lock()
		changed := b.changed
		b.mu.Unlock()
		if holds() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.New(otherwise)
		}
	}
}

// gapless checks that the events of each run were seen from the first one on, once each and in
// order.
func (b *board) gapless() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, run := range slices.Sorted(maps.Keys(b.seen)) {
		for i, seq := range b.seen[run] {
			if seq != int64(i+1) {
				return fmt.Errorf("event %d of run %s arrived as number %d", seq, run, i+1)
			}
		}
	}
	return nil
}
