package hub_test

// What the hub's tests share: a workspace with a hub over the real carrier, and a worker whose
// messages the test sends.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/carrier"
	"ac/fleet/hub"
	"ac/internal/clock"
	"ac/internal/runtimetest"
	"ac/internal/ulid"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

func TestMain(m *testing.M) { os.Exit(runtimetest.With(m).Run()) }

// patience bounds every wait for a state, even on a busy machine.
const patience = 30 * time.Second

// stage is a workspace with a hub.
type stage struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // of the test
	w       *workspace.Workspace
	project string
	options hub.Options
	hub     *hub.Hub
}

func newStage(t *testing.T, settings fleet.Settings) *stage {
	t.Helper()
	env := workspace.SystemEnv()
	env.LockPatience = patience
	dir := filepath.Join(workspace.Canonical(t.TempDir()), "ws")
	s := &stage{t: t, ctx: t.Context()}
	if err := workspace.Init(s.ctx, env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.w, err = workspace.Open(env, dir); err != nil {
		t.Fatal(err)
	}
	if s.project, err = s.w.NewProject(s.ctx, "P"); err != nil {
		t.Fatal(err)
	}
	settings = fleet.Settings{BeatMS: 100, UnreachableAfterMS: 60_000, MinFreeBytes: 1}.Over(settings)
	s.options = hub.Options{Workspace: s.w, Version: "1", Environ: os.Environ(), Log: slog.New(slog.DiscardHandler), Settings: settings, Elapsed: clock.Stopwatch()}
	s.start()
	t.Cleanup(func() {
		s.stop()
		if err := s.w.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) start() {
	s.t.Helper()
	var err error
	if s.hub, err = hub.Start(s.ctx, s.options); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) stop() {
	s.t.Helper()
	if s.hub == nil {
		return
	}
	if err := s.hub.Close(); err != nil {
		s.t.Error(err)
	}
	s.hub = nil
}

// call sends a request to the hub's socket, as other processes do.
func call[R any](s *stage, verb string, params any) (result R, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	err = fleet.CallHub(ctx, s.w, verb, params, &result)
	return result, err
}

func must[R any](s *stage, verb string, params any) R {
	s.t.Helper()
	result, err := call[R](s, verb, params)
	if err != nil {
		s.t.Fatalf("%s: %v", verb, err)
	}
	return result
}

// run creates a run and returns the order to execute it.
func (s *stage) run(argv ...string) session.Order {
	s.t.Helper()
	made, err := runs.Create(s.ctx, s.w, s.project, "agent", "cmd")
	if err != nil {
		s.t.Fatal(err)
	}
	return session.Order{
		WorkspaceDir: s.w.Dir(), ProjectID: s.project, RunID: made.RunID, SessionRef: session.LocalRef(made.RunID), AgentID: "agent", Provider: "cmd", Argv: argv,
	}
}

// place places a session on any worker.
func (s *stage) place(order session.Order) fleet.PlaceResult {
	s.t.Helper()
	return must[fleet.PlaceResult](s, fleet.HubPlace, fleet.PlaceRequest{Order: order, Placement: fleet.Placement{Where: fleet.WhereRemote}})
}

func (s *stage) record(order session.Order) doc.Session {
	s.t.Helper()
	record, err := session.Read(s.w, order.SessionRef)
	if err != nil {
		s.t.Fatal(err)
	}
	return record
}

// until waits for a state.
func (s *stage) until(what string, state func() bool) {
	s.t.Helper()
	for began := time.Now(); !state(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			s.t.Fatalf("%s: not after %s", what, patience)
		}
	}
}

// log returns the types and the lines of a run's log. It verifies the log's chain.
func (s *stage) log(order session.Order) (types []string, lines []string) {
	s.t.Helper()
	name := workspace.LogFile(order.ProjectID, order.RunID)
	f, err := s.w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	report, err := events.Verify(f, nil, false, func(line events.Line) {
		types, lines = append(types, events.Type(line.Raw)), append(lines, string(line.Raw))
	})
	if err != nil || len(report.ParseIssues)+len(report.VerificationIssues) > 0 {
		s.t.Errorf("the chain is broken: %+v %v", report, err)
	}
	return types, lines
}

// member is a worker whose messages the test sends.
type member struct {
	s     *stage
	id    string
	link  fleet.WorkerLink
	c     fleet.WorkerCarrier
	boot  string
	seq   atomic.Int64
	again atomic.Int64 // requests that were not answered in time
	ids   *ulid.Source
	told  chan string
	tell  func(attempt, verb string, body []byte) any
}

// invite invites a worker and lets it join.
func (s *stage) invite(p fleet.InviteRequest) *member {
	s.t.Helper()
	invited := must[fleet.InviteResult](s, fleet.HubInvite, p)
	token, err := fleet.ParseToken(invited.Token)
	if err != nil {
		s.t.Fatal(err)
	}
	seed, err := fleet.ParseKey(token.Seed)
	if err != nil {
		s.t.Fatal(err)
	}
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	m := &member{s: s, id: token.Worker, boot: "joining", ids: ulid.NewSource(time.Now), told: make(chan string, 256)}
	m.link = fleet.WorkerLink{HubID: token.Hub, WorkerID: token.Worker, URLs: token.URLs, Fingerprint: token.Fingerprint, HubKey: token.HubKey, Key: seed}
	m.connect()
	first := ask[fleet.JoinReply](m, fleet.AskJoin, &fleet.Join{Stamp: m.stamp()})
	public := key.Public()
	joined := ask[fleet.JoinReply](m, fleet.AskJoin, &fleet.Join{
		Stamp: m.stamp(), PublicKey: public, Nonce: first.Nonce, Instance: "i",
		Signature: base64.RawURLEncoding.EncodeToString(key.Raw(fleet.JoinText(token.Hub, token.Worker, first.Nonce, public))),
	})
	if joined.WorkerID != token.Worker {
		s.t.Fatalf("%+v", joined)
	}
	m.c.Close()
	m.link.Key, m.boot = key, "1"
	m.link.Tell = func(_ context.Context, attempt, verb string, body []byte) []byte {
		m.told <- verb + " " + attempt
		if m.tell == nil || verb == fleet.TellSealed || verb == fleet.TellResend {
			return nil
		}
		var tell fleet.Tell
		if json.Unmarshal(body, &tell) != nil {
			return nil
		}
		text, _ := json.Marshal(m.tell(attempt, verb, tell.Params))
		reply := fleet.TellReply{Reply: fleet.Reply{Seq: tell.Seq}, Result: text}
		answer, _ := json.Marshal(reply)
		return answer
	}
	m.connect()
	m.hello()
	return m
}

func (m *member) connect() {
	m.s.t.Helper()
	ctx, cancel := context.WithTimeout(m.s.ctx, patience)
	defer cancel()
	for {
		c, err := carrier.ConnectWorker(ctx, m.link)
		if err == nil {
			m.c = c
			m.s.t.Cleanup(c.Close)
			return
		}
		if ctx.Err() != nil {
			m.s.t.Fatal(err)
		}
	}
}

func (m *member) stamp() fleet.Stamp { return fleet.Stamp{Boot: m.boot, Seq: m.seq.Add(1)} }

func ask[R any](m *member, verb string, body any) (reply R) {
	m.s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		m.s.t.Fatal(err)
	}
	answer, err := m.c.Ask(m.s.ctx, verb, text)
	if err == nil {
		err = json.Unmarshal(answer, &reply)
	}
	if err != nil {
		m.s.t.Fatalf("%s: %v", verb, err)
	}
	return reply
}

func (m *member) hello(attempts ...fleet.HelloAttempt) fleet.HelloReply {
	m.s.t.Helper()
	reply := ask[fleet.HelloReply](m, fleet.AskHello, &fleet.Hello{
		Stamp: m.stamp(), Protocol: [2]int{1, 1}, Orders: [2]int{1, 1}, Version: "1", Instance: "i", OS: "linux", Arch: "amd64", CPUs: 2, Slots: 8, Attempts: attempts,
	})
	if err := reply.Err(); err != nil {
		m.s.t.Fatal(err)
	}
	return reply
}

func (m *member) beat(attempts ...string) fleet.BeatReply {
	m.s.t.Helper()
	p := &fleet.Beat{Stamp: m.stamp(), NowMS: time.Now().UnixMilli(), FreeSlots: 8, DiskFree: 1 << 40, Attempts: map[string]fleet.BeatAttempt{}}
	for _, a := range attempts {
		p.Attempts[a] = fleet.BeatAttempt{State: "started"}
	}
	return ask[fleet.BeatReply](m, fleet.AskBeat, p)
}

// take waits for an order.
func (m *member) take() (order fleet.Order) {
	m.s.t.Helper()
	ctx, cancel := context.WithTimeout(m.s.ctx, patience)
	defer cancel()
	message, err := m.c.NextOrder(ctx)
	if err == nil {
		err = json.Unmarshal(message.Body, &order)
	}
	if err == nil {
		err = message.Ack(ctx)
	}
	if err != nil {
		m.s.t.Fatal(err)
	}
	return order
}

func (m *member) claim(o fleet.Order) fleet.ClaimReply {
	m.s.t.Helper()
	return ask[fleet.ClaimReply](m, fleet.AskClaim, &fleet.Claim{Stamp: m.stamp(), Attempt: o.Attempt, Epoch: o.Epoch, Instance: "i"})
}

// draft returns a draft of an event on the worker.
func (m *member) draft(kind, text string) fleet.Draft {
	payload, _ := json.Marshal(map[string]string{"chunk": text, "stream": "stdout"})
	return fleet.Draft{ID: m.ids.New("evt"), At: clock.Stamp(time.Now()), Actor: "system", Vis: "team", Type: kind, Payload: payload}
}

// send retries publishing a batch until the carrier has stored it.
func (m *member) send(o fleet.Order, generation, first int64, drafts ...fleet.Draft) {
	m.s.t.Helper()
	b := fleet.Batch{Attempt: o.Attempt, First: first, Generation: generation, Drafts: drafts}
	if first == 1 {
		b.Spec, b.Record = &doc.Spec{Kind: "command", Argv: []string{"true"}}, &fleet.Record{PID: new(4711)}
	}
	m.publish(o, fleet.MessageID(o.Attempt, first, len(drafts), generation), b)
}

func (m *member) publish(o fleet.Order, id string, body any) {
	m.s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		m.s.t.Fatal(err)
	}
	m.s.until("the carrier takes it", func() bool { return m.deliver(m.s.ctx, o.Attempt, id, text) == nil })
}

func (m *member) deliver(ctx context.Context, attempt, id string, text []byte) error {
	stored, err := m.c.Publish(ctx, attempt, id, text)
	if err != nil {
		return err
	}
	return stored(ctx)
}

func (m *member) end(o fleet.Order, n int64) {
	m.s.t.Helper()
	code := 0
	m.publish(o, o.Attempt+".end."+m.ids.New("x"), fleet.End{Attempt: o.Attempt, End: true, N: n, Status: doc.StatusEnded, ExitCode: &code})
}

func count(list []string, want string) (n int) {
	for _, one := range list {
		if one == want {
			n++
		}
	}
	return n
}

func chunks(lines []string) (text string) {
	for _, line := range lines {
		var e struct {
			Payload struct {
				Chunk string `json:"chunk"`
			} `json:"payload"`
		}
		if json.Unmarshal([]byte(line), &e) == nil {
			text += e.Payload.Chunk
		}
	}
	return text
}
