package crashtest

// Kills of servers during conversations with agents. Acknowledged requests stand, repeated
// texts reach the agent once, no question stays open, and a client that reconnects gets each
// event exactly once.

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
)

var talkKills = flag.Int("talk-kills", 10, "how many servers are killed during a conversation")

// talkSteps are the steps of a conversation at which its server is killed. Half of the kills
// follow the event of the step, the others come at a random moment.
var talkSteps = []struct{ name, after string }{
	{"asking", events.InteractionRequested},
	{"answering", events.InteractionResolved},
	{"steering", events.SteerQueued},
	{"interrupting", events.InterruptRequested},
	{"continuing", events.RunContinued},
}

// spoken is one conversation and what servers acknowledged of it.
type spoken struct {
	*ground
	r       *rand.Rand
	run     string
	project string

	mu       sync.Mutex
	seqs     []int64           // of the events that the client got, over all servers
	answers  []string          // acknowledged: interaction ID and state
	texts    map[string]string // acknowledged steer IDs, by text
	requests map[string]bool   // texts not acknowledged, and whether they interrupt
}

// reply is an answer of a server: a result or an error.
type reply struct {
	SteerID      string `json:"steer_id"`
	State        string `json:"state"`
	RunID        string `json:"run_id"`
	Interactions []struct {
		ID    string `json:"interaction_id"`
		State string `json:"state"`
	} `json:"interactions"`
	Data struct {
		Reason string `json:"reason"`
		State  string `json:"state"`
	} `json:"data"`
	Message string `json:"message"`
}

func TestKilledConversations(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	t.Run("conversations", func(t *testing.T) {
		for lane := range *lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(*seed, uint64(lane)))
				for n := lane; n < *talkKills && !t.Failed(); n += *lanes {
					step := talkSteps[(int(*seed%5)+n)%len(talkSteps)]
					t.Run(fmt.Sprintf("%d, %s", n, step.name), func(t *testing.T) {
						g := newGround(t, r)
						k := &spoken{ground: g, r: r, project: g.own[0], texts: map[string]string{}, requests: map[string]bool{}}
						k.token = "TMPDIR=" + t.TempDir() // supervisors inherit this variable
						k.environ = append(k.environ, k.token)
						k.lose(step.name, step.after)
						k.recover()
						k.check()
					})
				}
			})
		}
	})
	alone(t)
}

// connect starts a server whose client records the events that it gets.
func (k *spoken) connect() *server {
	k.t.Helper()
	s := startWith(k.t, k.environ, func(params json.RawMessage) {
		var n struct{ Seq int64 }
		if json.Unmarshal(params, &n) == nil && n.Seq > 0 {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.seqs = append(k.seqs, n.Seq)
		}
	})
	if !s.call("system.ping", nil, nil) {
		k.t.Fatal("the server does not answer")
	}
	return s
}

// follow subscribes to the run after the last event that the client has.
func (k *spoken) follow(s *server) bool {
	k.mu.Lock()
	last := int64(0)
	if len(k.seqs) > 0 {
		last = k.seqs[len(k.seqs)-1]
	}
	k.mu.Unlock()
	return s.call("events.subscribe", k.params(object{"since_seq": last}, "project_id"), nil)
}

// params returns the params of a request about the run.
func (k *spoken) params(with object, without ...string) object {
	p := object{"workspace_dir": k.dir, "project_id": k.project, "run_id": k.run}
	for name, value := range with {
		p[name] = value
	}
	for _, name := range without {
		delete(p, name)
	}
	return p
}

// lose starts a conversation and kills its server at a step.
func (k *spoken) lose(step, after string) {
	s := k.connect()
	var made reply
	if !s.call("run.create", object{"workspace_dir": k.dir, "project_id": k.project, "agent_id": "agent_x", "provider": "acp"}, &made) {
		k.t.Fatal("no run")
	}
	k.run = made.RunID
	k.follow(s)
	launch := k.params(object{
		"driver": "acp", "argv": []string{k.executable, agentCommand}, "prompt_text": "ask first", "interactive": true, "mode": "default", "keep_open": true,
	})
	var group sync.WaitGroup
	if step != "asking" {
		s.call("session.launch", launch, nil)
		k.await(events.InteractionRequested)
		if step == "continuing" {
			// The log can show the question before its writer knows that it is written.
			for len(k.answers) == 0 && !k.t.Failed() {
				k.respond(s, "allow")
			}
			k.await(events.TurnEnded)
			s.call("session.stop", object{"workspace_dir": k.dir, "session_ref": session.LocalRef(k.run)}, nil)
			k.await(events.RunStopped)
		}
	}
	killed := make(chan struct{})
	group.Go(func() {
		defer close(killed)
		k.strike(s, after)
	})
	switch step {
	case "asking":
		s.call("session.launch", launch, nil)
	case "answering":
		group.Go(func() { k.respond(s, "allow") })
		group.Go(func() { k.respond(s, "deny") })
	case "steering":
		for i := range 3 {
			group.Go(func() { k.say(s, fmt.Sprintf("text-%d", i), "after_turn") })
		}
		group.Go(func() { k.respond(s, "allow") })
	case "interrupting":
		group.Go(func() { k.say(s, "text-now", "interrupt") })
		group.Go(func() { k.say(s, "text-then", "after_turn") })
	case "continuing":
		s.call("run.continue", k.params(object{"prompt_text": "ask more", "client_message_id": "more"}), nil)
	}
	<-killed
	group.Wait()
	_ = s.cmd.Wait() // it was killed
	k.forgetWriter()
}

// strike kills a server once an event is in the log, or at a random moment.
func (k *spoken) strike(s *server, after string) {
	moment := time.Now().Add(time.Duration(k.r.IntN(30_000)) * time.Microsecond)
	named := k.r.IntN(2) == 0
	for limit := time.Now().Add(2 * time.Second); time.Now().Before(limit); {
		if named && bytes.Contains(k.log(), []byte(`"type":"`+after+`"`)) || !named && time.Now().After(moment) {
			break
		}
		time.Sleep(100 * time.Microsecond) // polls for the moment of the kill
	}
	if err := s.cmd.Process.Kill(); err != nil {
		k.t.Error(err)
	}
}

func (k *spoken) log() []byte {
	text, _ := os.ReadFile(filepath.Join(k.dir, filepath.FromSlash(workspace.LogFile(k.project, k.run)))) // it may not be there yet
	return text
}

// await waits until an event is in the log.
func (k *spoken) await(kind string) {
	k.t.Helper()
	for limit := time.Now().Add(30 * time.Second); !bytes.Contains(k.log(), []byte(`"type":"`+kind+`"`)); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			k.t.Fatalf("never: %s\n%s", kind, k.log())
		}
	}
}

// respond answers the open questions and records the acknowledged answers.
func (k *spoken) respond(s *server, decision string) {
	var open reply
	if !s.call("interaction.list", k.params(nil), &open) {
		return
	}
	for _, i := range open.Interactions {
		var got reply
		if !s.call("interaction.respond", k.params(object{"interaction_id": i.ID, "decision": decision}), &got) {
			continue
		}
		if reason := got.Data.Reason; reason == "interaction_closed" && got.Data.State == "" || reason != "" && reason != "interaction_closed" && reason != "run_not_live" && reason != "supervisor_unreachable" {
			k.t.Errorf("respond: %+v", got)
		}
		if got.State != "" {
			k.mu.Lock()
			k.answers = append(k.answers, i.ID+" "+got.State)
			k.mu.Unlock()
		}
	}
}

// say sends a text with the text itself as client message ID.
func (k *spoken) say(s *server, text, mode string) {
	var got reply
	ok := s.call("run.steer", k.params(object{"text": text, "mode": mode, "client_message_id": text}), &got)
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.texts[text]
	switch {
	case ok && got.SteerID != "" && known && before != got.SteerID:
		k.t.Errorf("%s is %s, and was %s", text, got.SteerID, before)
	case ok && got.SteerID != "":
		k.texts[text] = got.SteerID
		delete(k.requests, text)
	case ok && got.Data.Reason != "run_not_live":
		k.t.Errorf("steer: %+v", got)
	case !known:
		k.requests[text] = mode == "interrupt"
	}
}

// recover lets another server take over, repeats what was not acknowledged, and ends the
// conversation.
func (k *spoken) recover() {
	s := k.connect()
	k.follow(s)
	for text, interrupts := range k.requests {
		mode := "after_turn"
		if interrupts {
			mode = "interrupt"
		}
		k.say(s, text, mode)
	}
	for text, id := range k.texts { // repeated as if the answer had been lost
		if k.say(s, text, "after_turn"); k.texts[text] != id {
			k.t.Errorf("%s was said twice", text)
		}
	}
	k.respond(s, "deny")
	k.respond(s, "allow")
	k.endAll()
	k.caughtUp()
	if err := s.stdin.Close(); err != nil {
		k.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		k.t.Errorf("the second server: %v", err)
	}
}

// endAll ends every session, even one that a launch in flight starts only now.
func (k *spoken) endAll() {
	k.t.Helper()
	w, err := workspace.Open(k.env, k.dir)
	k.must(err)
	defer func() { k.must(w.Close()) }()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		records, err := session.All(w)
		k.must(err)
		for _, r := range records {
			if _, err := session.Stop(k.t.Context(), w, r.Ref); err != nil {
				k.t.Error(err)
			}
			if _, err := session.Collect(k.t.Context(), w, r.Ref); err != nil {
				k.t.Error(err)
			}
		}
		if len(living(k.t, k.token)) == 1 { // the server alone
			return
		}
		if time.Now().After(limit) {
			k.t.Fatalf("survivors: %v", living(k.t, k.token))
		}
	}
}

// caughtUp waits until the client has the last event.
func (k *spoken) caughtUp() {
	k.t.Helper()
	head := int64(bytes.Count(k.log(), []byte("\n")))
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		k.mu.Lock()
		n := len(k.seqs)
		done := n > 0 && k.seqs[n-1] >= head
		k.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(limit) {
			k.t.Fatalf("the client has %v of %d events", k.seqs, head)
		}
	}
}

// check checks the log and the client's events against what was acknowledged.
func (k *spoken) check() {
	k.t.Helper()
	k.t.Logf("acknowledged: %d answers, %d texts; %d events, each once", len(k.answers), len(k.texts), len(k.seqs))
	for i, seq := range k.seqs {
		if seq != int64(i+1) {
			k.t.Errorf("event %d of the client is %d: %v", i+1, seq, k.seqs)
			break
		}
	}
	w, err := workspace.Open(k.env, k.dir)
	k.must(err)
	defer func() { k.must(w.Close()) }()
	if report, err := runs.VerifyLog(w, k.project, k.run); err != nil || len(report.VerificationIssues)+len(report.RecordIssues)+len(report.ParseIssues) > 0 {
		k.t.Errorf("the log is not sound: %+v (%v)", report, err)
	}
	ends, heard := map[string][]string{}, ""
	for line := range bytes.Lines(k.log()) {
		var e struct {
			Type    string
			Payload struct {
				InteractionID string `json:"interaction_id"`
				SteerID       string `json:"steer_id"`
				State, Chunk  string
				Text          string
			}
		}
		k.must(json.Unmarshal(line, &e))
		p := e.Payload
		switch e.Type {
		case events.InteractionRequested:
			ends[p.InteractionID] = []string{}
		case events.InteractionResolved:
			ends[p.InteractionID] = append(ends[p.InteractionID], p.InteractionID+" "+p.State)
		case events.SteerQueued:
			ends["queued "+p.Text] = append(ends["queued "+p.Text], p.SteerID)
		case events.ProviderRaw:
			heard += p.Chunk
		}
	}
	for id, list := range ends {
		if len(list) != 1 {
			k.t.Errorf("%s has the ends %v", id, list)
		}
	}
	for _, answer := range k.answers {
		id, _, _ := strings.Cut(answer, " ")
		if !slices.Contains(ends[id], answer) {
			k.t.Errorf("acknowledged: %s, in the log: %v", answer, ends[id])
		}
	}
	for text, id := range k.texts {
		if list := ends["queued "+text]; len(list) != 1 || list[0] != id {
			k.t.Errorf("%s was acknowledged as %s, the log has %v", text, id, list)
		}
		if n := strings.Count(heard, text+". "); n > 1 {
			k.t.Errorf("the agent heard %s %d times", text, n)
		}
	}
	if pids := survivors(k.t, k.token); len(pids) > 0 {
		k.t.Errorf("survivors: %v", pids)
	}
}

// TestTwoServersAnswer sends two concurrent answers through two servers. One wins, and the other
// gets an error with the decision.
func TestTwoServersAnswer(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	g := newGround(t, r)
	k := &spoken{ground: g, r: r, project: g.own[0]}
	one, two := k.connect(), k.connect()
	var made reply
	one.call("run.create", object{"workspace_dir": k.dir, "project_id": k.project, "agent_id": "agent_x", "provider": "acp"}, &made)
	k.run = made.RunID
	one.call("session.launch", k.params(object{
		"driver": "acp", "argv": []string{k.executable, agentCommand}, "prompt_text": "ask", "interactive": true, "mode": "default",
	}), nil)
	k.await(events.InteractionRequested)
	var open reply
	until(t, "the question is listed", func() bool {
		return one.call("interaction.list", k.params(nil), &open) && len(open.Interactions) == 1
	})
	var group sync.WaitGroup
	got := make([]reply, 2)
	for i, s := range []*server{one, two} {
		group.Go(func() {
			s.call("interaction.respond", k.params(object{"interaction_id": open.Interactions[0].ID, "decision": []string{"allow", "deny"}[i]}), &got[i])
		})
	}
	group.Wait()
	winner, loser := got[0], got[1]
	if winner.State == "" {
		winner, loser = loser, winner
	}
	if winner.State == "" || loser.Data.Reason != "interaction_closed" || loser.Data.State != winner.State {
		t.Errorf("%+v", got)
	}
	k.await(events.RunEnded)
	for _, s := range []*server{one, two} {
		if err := s.stdin.Close(); err != nil {
			t.Error(err)
		}
		if err := s.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	k.check()
}
