package hub_test

// Many workers on one hub.

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/runs/session"
	"ac/workspace/doc"

	"golang.org/x/sys/unix"
)

var (
	crowdWorkers  = flag.Int("crowd-workers", 8, "workers of TestCrowd")
	crowdSessions = flag.Int("crowd-sessions", 40, "its sessions")
)

// crowdSlots is how many sessions one worker of the crowd accepts at once.
const crowdSlots = 2

// TestCrowd places more sessions than there are slots. The workers have real connections, and the
// test plays their supervisors. Every session ends, no worker exceeds its slots, and crowdPatience
// bounds the wait for a placement.
func TestCrowd(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{BeatMS: 5_000})
	began, used := clock.Stopwatch(), processorTime(t)
	members := make([]*member, *crowdWorkers)
	for i := range members {
		members[i] = s.invite(fleet.InviteRequest{Name: fmt.Sprintf("w%d", i), Slots: crowdSlots})
		members[i].told = make(chan string, 4*(*crowdSessions))
	}
	t.Logf("%d workers joined after %s, %s of processor time", len(members), began().Round(time.Millisecond), processorTime(t)-used)
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	most := make([]int, len(members))
	for i, m := range members {
		serving.Go(func() { most[i] = m.serveAll(ctx) })
	}
	began, used = clock.Stopwatch(), processorTime(t)
	orders := make([]session.Order, *crowdSessions)
	for i := range orders {
		orders[i] = s.run("true")
	}
	made := began()
	var placing sync.WaitGroup
	errs := make([]error, len(orders))
	for i, order := range orders {
		placing.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), crowdPatience)
			defer cancel()
			errs[i] = fleet.CallHub(ctx, s.w, fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
		})
	}
	placing.Wait()
	placed := began()
	for i, order := range orders {
		if errs[i] != nil {
			t.Errorf("placing: %v", errs[i])
			continue
		}
		record, err := session.Collect(t.Context(), s.w, order.SessionRef)
		if err != nil || record.Status != doc.StatusEnded {
			t.Errorf("%s is %s: %s: %v", order.SessionRef, record.Status, record.Error, err)
		}
	}
	ended := began()
	cancel()
	serving.Wait()
	for i, n := range most {
		if n > crowdSlots {
			t.Errorf("worker %d had %d sessions at once", i, n)
		}
	}
	for _, order := range orders {
		if types, _ := s.log(order); count(types, "worker.placed") != 1 || count(types, "run.ended") != 1 {
			t.Errorf("%s: %v", order.RunID, types)
		}
	}
	again := int64(0)
	for _, m := range members {
		again += m.again.Load()
	}
	t.Logf("%d claims and beats were not answered in time", again)
	t.Logf("%d sessions: runs made after %s, all placed after %s, all ended after %s, %s of processor time (hub, carrier and workers)",
		len(orders), made.Round(time.Millisecond), placed.Round(time.Millisecond), ended.Round(time.Millisecond), processorTime(t)-used)
}

// crowdPatience bounds the wait for a placement.
const crowdPatience = 10 * time.Minute

// serveAll claims every order and ends it, until ctx ends. It returns the highest number of
// sessions that the worker had at once.
func (m *member) serveAll(ctx context.Context) (most int) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	wg.Go(func() { m.beatAll(ctx) })
	live := 0
	for {
		message, err := m.c.NextOrder(ctx)
		if err != nil {
			wg.Wait()
			return most
		}
		var o fleet.Order
		if json.Unmarshal(message.Body, &o) != nil || message.Ack(ctx) != nil {
			continue
		}
		mu.Lock()
		live++
		most = max(most, live)
		mu.Unlock()
		wg.Go(func() {
			m.serveOne(ctx, o, func() {
				mu.Lock()
				defer mu.Unlock()
				live--
			})
		})
	}
}

// serveOne plays a session: its claim, two drafts and its end. It calls over before the end.
func (m *member) serveOne(ctx context.Context, o fleet.Order, over func()) {
	for { // retries until there is an answer, as a worker does
		claim, err := json.Marshal(&fleet.Claim{Stamp: m.stamp(), Attempt: o.Attempt, Epoch: o.Epoch, Instance: "i"})
		if err != nil {
			m.s.t.Error(err)
			return
		}
		if _, err = m.c.Ask(ctx, fleet.AskClaim, claim); err == nil {
			break
		}
		m.again.Add(1)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	drafts := []fleet.Draft{m.draft("run.executing", ""), m.draft("provider.raw", "line\n")}
	spec := &doc.Spec{Kind: "command", Argv: []string{"true"}}
	code := 0
	batch := fleet.Batch{Attempt: o.Attempt, First: 1, Generation: 1, Drafts: drafts, Spec: spec, Record: &fleet.Record{PID: new(4711)}}
	m.offer(ctx, o, fleet.MessageID(o.Attempt, 1, len(drafts), 1), batch)
	over() // the hub frees the slot as soon as it has the end
	m.offer(ctx, o, o.Attempt+".end", fleet.End{Attempt: o.Attempt, End: true, N: int64(len(drafts)), Status: doc.StatusEnded, ExitCode: &code})
}

// offer retries publishing until the carrier has stored the message.
func (m *member) offer(ctx context.Context, o fleet.Order, id string, body any) {
	text, err := json.Marshal(body)
	for err == nil && m.deliver(ctx, o.Attempt, id, text) != nil && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
}

// beatAll sends a beat every five seconds until ctx ends.
func (m *member) beatAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Second):
		}
		p, err := json.Marshal(&fleet.Beat{Stamp: m.stamp(), NowMS: time.Now().UnixMilli(), FreeSlots: crowdSlots, DiskFree: 1 << 40})
		if err == nil {
			_, err = m.c.Ask(ctx, fleet.AskBeat, p)
		}
		if err != nil {
			m.again.Add(1)
		}
	}
}

// processorTime returns the CPU time that this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Round(time.Millisecond)
}
