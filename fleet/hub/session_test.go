package hub_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace/doc"
)

func TestASessionRunsOnAWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box", Labels: []string{"gpu"}, Slots: 2})
	order := s.run("true")
	placed := s.place(order)
	if placed.WorkerName != "box" || placed.Epoch != 1 {
		t.Fatalf("%+v", placed)
	}
	o := m.take()
	if o.RunID != order.RunID || o.Epoch != 1 || o.Argv[0] != "true" {
		t.Fatalf("%+v", o)
	}
	for range 2 { // the first answer may be lost
		if got := m.claim(o); got.Answer != fleet.Granted || got.LeaseS != 3600 {
			t.Fatalf("%+v", got)
		}
	}
	a, b, c := m.draft("provider.raw", "a"), m.draft("provider.raw", "b"), m.draft("provider.raw", "c")
	m.send(o, 1, 1, a, b)
	m.send(o, 1, 3, c)
	m.send(o, 2, 2, b, c) // a repetition
	s.until("its pid is known", func() bool { record := s.record(order); return record.PID != nil && *record.PID == 4711 })
	if record := s.record(order); record.Reach != doc.ReachOK || record.WorkerID != m.id {
		t.Errorf("%+v", record)
	}
	m.end(o, 3)
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusEnded || *final.ExitCode != 0 {
		t.Fatalf("%+v %v", final, err)
	}
	types, lines := s.log(order)
	if chunks(lines) != "abc" || types[len(types)-1] != "run.ended" || count(types, "worker.placed") != 1 || count(types, "worker.claimed") != 1 {
		t.Error(types, chunks(lines))
	}
	s.until("it may forget", func() bool { return m.hello(fleet.HelloAttempt{Attempt: o.Attempt}).Attempts[o.Attempt].Settled })
	if rows := must[fleet.WorkersResult](s, fleet.HubWorkers, struct{}{}); rows.Workers[0].Used != 0 || !rows.Workers[0].Online {
		t.Errorf("%+v", rows)
	}
	if status := must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}); !status.Running || status.Workers.Active != 1 || status.Slots.Total != 2 {
		t.Errorf("%+v", status)
	}
}

// TestTheHubDiesAtEachStep ends the hub after each step. The next hub continues, and every draft is
// in the log once.
func TestTheHubDiesAtEachStep(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	again := func() {
		s.stop()
		if record, err := session.Current(s.ctx, s.w, order.SessionRef); err != nil || record.Status != doc.StatusRunning {
			t.Fatalf("without a hub: %+v %v", record, err)
		}
		s.start()
		m.c.Close()
		m.connect()
		m.hello(fleet.HelloAttempt{Attempt: fleet.Attempt(order.ProjectID, order.RunID, order.SessionRef, 1)})
	}
	again()
	o := m.take()
	again()
	if got := m.claim(o); got.Answer != fleet.Granted {
		t.Fatalf("%+v", got)
	}
	again()
	if got := m.claim(o); got.Answer != fleet.Granted {
		t.Fatalf("%+v", got)
	}
	a, b, c := m.draft("provider.raw", "a"), m.draft("provider.raw", "b"), m.draft("provider.raw", "c")
	m.send(o, 1, 1, a, b)
	s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 2 })
	again()
	m.send(o, 2, 1, a, b, c)
	s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 3 })
	again()
	m.end(o, 3)
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusEnded {
		t.Fatalf("%+v %v", final, err)
	}
	s.stop()
	s.start()
	types, lines := s.log(order)
	if chunks(lines) != "abc" || count(types, "run.ended") != 1 || count(types, "worker.claimed") != 1 {
		t.Error(types, chunks(lines))
	}
}

// TestABatchThatFailedComesAgain checks that drafts that the log already has are not written again.
func TestABatchThatFailedComesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	o := m.take()
	m.claim(o)
	a, b, c := m.draft("provider.raw", "a"), m.draft("provider.raw", "b"), m.draft("provider.raw", "c")
	m.send(o, 1, 1, a, b)
	s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 2 })
	s.stop()
	list, _, err := fleet.ReadAttempts(s.w.FS)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	list[0].Checkpoint.N, list[0].Checkpoint.Offset = 0, 0 // as if the newest checkpoint was not written
	if err := fleet.WriteAttempt(s.w, list[0]); err != nil {
		t.Fatal(err)
	}
	s.start()
	m.c.Close()
	m.connect()
	m.hello(fleet.HelloAttempt{Attempt: o.Attempt})
	sum := sha256.Sum256(c.Payload)
	object := fleet.ObjectName(fleet.ObjectDraft, hex.EncodeToString(sum[:]))
	payload := c.Payload
	c.Payload, c.Object = nil, object
	m.send(o, 2, 1, a, b, c)
	s.until("it is told", func() bool { return must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}).Streams.Drafts > 0 })
	if err := m.c.Put(s.ctx, object, bytes.NewReader(payload)); err != nil {
		t.Fatal(err)
	}
	s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 3 })
	m.end(o, 3)
	if _, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	if types, lines := s.log(order); chunks(lines) != "abc" {
		t.Error(types, chunks(lines))
	}
}

// TestTwoHubsDieInARow checks that every draft is in the log once. The second hub receives a part
// of what the first one had written, and the third hub receives all of it.
func TestTwoHubsDieInARow(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	o := m.take()
	m.claim(o)
	a, b, c := m.draft("provider.raw", "a"), m.draft("provider.raw", "b"), m.draft("provider.raw", "c")
	m.send(o, 1, 1, a, b, c)
	s.until("it is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 3 })
	again := func() {
		s.start()
		m.c.Close()
		m.connect()
		m.hello(fleet.HelloAttempt{Attempt: o.Attempt})
	}
	s.stop()
	list, _, err := fleet.ReadAttempts(s.w.FS)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	list[0].Checkpoint = fleet.LogCheckpoint{} // as if the newest checkpoint was not written
	if err := fleet.WriteAttempt(s.w, list[0]); err != nil {
		t.Fatal(err)
	}
	elapsed := s.options.Elapsed
	s.options.Elapsed = func() time.Duration { return time.Hour + elapsed() } // a checkpoint is due
	again()
	m.send(o, 2, 1, a)
	s.until("a part is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 1 })
	s.stop()
	again()
	m.send(o, 3, 1, a, b, c)
	s.until("all is sealed", func() bool { return m.beat(o.Attempt).Sealed[o.Attempt] == 3 })
	m.end(o, 3)
	if _, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	if types, lines := s.log(order); chunks(lines) != "abc" {
		t.Error(types, chunks(lines))
	}
}

// TestAHubDiesWhileItPlacesAgain simulates a hub that died after it wrote the new attempt, but
// before it wrote the session's record. The next hub continues with the new attempt.
func TestAHubDiesWhileItPlacesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	s.place(order)
	m.claim(m.take())
	s.stop()
	list, _, err := fleet.ReadAttempts(s.w.FS)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	next := list[0]
	next.Epoch, next.State, next.ClaimedAtMS = 2, fleet.AttemptPlaced, 0
	next.Attempt = fleet.Attempt(order.ProjectID, order.RunID, order.SessionRef, next.Epoch)
	if err := fleet.WriteAttempt(s.w, next); err != nil {
		t.Fatal(err)
	}
	s.start()
	m.c.Close()
	m.connect()
	m.hello()
	o := m.take()
	if o.Epoch != 2 {
		t.Fatalf("%+v", o)
	}
	m.claim(o)
	m.send(o, 1, 1, m.draft("provider.raw", "a"))
	m.end(o, 1)
	record, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || record.Status != doc.StatusEnded || record.Epoch != 2 {
		t.Errorf("%+v %v", record, err)
	}
	if types, lines := s.log(order); chunks(lines) != "a" || !slices.Contains(types, "worker.withdrawn") {
		t.Error(types)
	}
}

func TestNobodyTakesIt(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	order := s.run("true")
	place := fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}}
	if _, err := call[fleet.PlaceResult](s, fleet.HubPlace, place); !fault.Is(err, fleet.NoWorker) {
		t.Error(err)
	}
	m := s.invite(fleet.InviteRequest{Name: "box"})
	place.Placement.Labels = []string{"gpu"}
	if _, err := call[fleet.PlaceResult](s, fleet.HubPlace, place); !fault.Is(err, fleet.NoWorker) {
		t.Error(err)
	}
	place.Placement.Where = fleet.WhereAny
	if got, err := call[fleet.PlaceResult](s, fleet.HubPlace, place); err != nil || !got.Local {
		t.Error(got, err)
	}
	must[fleet.WorkerRow](s, fleet.HubDrain, fleet.DrainRequest{WorkerID: "box", On: true})
	place.Placement = fleet.Placement{Where: fleet.WhereRemote}
	if _, err := call[fleet.PlaceResult](s, fleet.HubPlace, place); !fault.Is(err, fleet.NoWorker) {
		t.Error(err)
	}
	if reply := m.beat(); !reply.Drain {
		t.Error("it is not told to drain")
	}
	if _, err := call[fleet.InviteResult](s, fleet.HubInvite, fleet.InviteRequest{Name: "box"}); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
}

// TestABudgetEndsASession checks that usage reported by a worker counts like local usage.
func TestABudgetEndsASession(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	m.tell = func(string, string, []byte) any { return struct{}{} }
	order := s.run("true")
	order.Budget = &doc.Budget{HardTokens: new(int64(10))}
	o := m.started(order)
	if may := m.beat(o.Attempt).Limits[o.Attempt]; may.Tokens == nil || *may.Tokens != 10 {
		t.Errorf("%+v", may)
	}
	used := m.draft("usage.reported", "")
	used.Payload = []byte(`{"source":"provider_reported","confidence":"high","total_tokens":70}`)
	m.send(o, 1, 2, used)
	s.until("it is told to stop", func() bool { return strings.HasPrefix(<-m.told, "stop ") })
	if may := m.beat(o.Attempt).Limits[o.Attempt]; may.Tokens == nil || *may.Tokens != 0 {
		t.Errorf("%+v", may)
	}
	code := 143
	m.publish(o, "end", fleet.End{
		Attempt: o.Attempt, End: true, N: 2, Status: doc.StatusStopped, Stopped: true, ExitCode: &code,
		Usage: &doc.Usage{Source: "provider_reported", Confidence: "high", TotalTokens: 70}, Results: &fleet.Results{Error: "the disk is full"},
	})
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusFailed || !strings.Contains(final.Error, "budget exceeded") {
		t.Errorf("%+v %v", final, err)
	}
	types, _ := s.log(order)
	if count(types, "budget.exceeded") != 1 || count(types, "worker.results_failed") != 1 || count(types, "run.failed") != 1 {
		t.Error(types)
	}
}

// TestStatusTellsTheLag checks that the status reports how many drafts the worker has that the log
// lacks, and the age of the oldest.
func TestStatusTellsTheLag(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	o := m.started(order)
	if lag := must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}).Lag; lag != (fleet.Lag{}) {
		t.Errorf("all is sealed: %+v", lag)
	}
	ask[fleet.BeatReply](m, fleet.AskBeat, &fleet.Beat{
		Stamp: m.stamp(), NowMS: time.Now().UnixMilli(), Attempts: map[string]fleet.BeatAttempt{o.Attempt: {N: 4, State: "started", OldestMS: 3_600_000}},
	})
	if lag := must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}).Lag; lag.Drafts != 3 || lag.OldestMS < 3_600_000 || lag.OldestMS > 3_600_000+patience.Milliseconds() {
		t.Errorf("%+v", lag)
	}
	m.send(o, 1, 2, m.draft("provider.raw", "b"), m.draft("provider.raw", "c"), m.draft("provider.raw", "d"))
	s.until("all is sealed", func() bool { return must[fleet.StatusResult](s, fleet.HubStatus, struct{}{}).Lag == fleet.Lag{} })
	m.end(o, 4)
	if final, err := session.Collect(s.ctx, s.w, order.SessionRef); err != nil || final.Status != doc.StatusEnded {
		t.Errorf("%+v %v", final, err)
	}
}

// TestWhatAnAgentLacksIsTold checks that one notice lists what the agent lacks on its worker. A
// command that lacks nothing has no notice.
func TestWhatAnAgentLacksIsTold(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{})
	s.invite(fleet.InviteRequest{Name: "box", Slots: 2})
	err := s.w.UpdateMachine(s.ctx, func(m *doc.Machine) {
		m.MCPServers = map[string]doc.MCPServer{
			"docs": {Transport: doc.TransportStdio, Command: "docs-server", Enabled: true}, "keys": {Transport: doc.TransportStdio, Command: "x", Env: map[string]string{"KEY": doc.Hidden}, Enabled: true}, "off": {Transport: doc.TransportStdio, Command: "x"},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	plain, live := s.run("true"), s.run("true")
	live.Argv = nil
	live.Live = &session.LiveOrder{
		Driver: session.DriverClaude, MCP: true, Prompt: "hello", Version: "1", ActorID: "human", Cause: session.CauseLaunch,
		Policy: doc.RunPolicy{PermissionLevel: doc.LevelReadOnly, Mode: doc.ModeDefault, Rules: []doc.PolicyRule{}},
	}
	s.place(plain)
	if _, err := call[fleet.PlaceResult](s, fleet.HubPlace, fleet.PlaceRequest{Order: live, Placement: fleet.Placement{Where: fleet.WhereRemote}}); err != nil {
		t.Fatalf("%+v", err)
	}
	if types, _ := s.log(plain); count(types, "run.notice") != 0 {
		t.Error(types)
	}
	types, lines := s.log(live)
	want := "On box the agent does not have the tools of ac but who_am_i and ask_human, nor MCP server keys, which has a value that is stored here."
	if said := strings.Join(lines, ""); count(types, "run.notice") != 1 || !strings.Contains(said, want) {
		t.Errorf("%v: %s", types, said)
	}
}
