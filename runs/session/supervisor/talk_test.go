package supervisor_test

// Helpers to talk to live sessions.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ac/events"
	"ac/runs/session"
	"ac/workspace/doc"
)

// talk is a live session of the stage.
type talk struct {
	*stage
	order session.Order
}

// live launches a conversation whose prompt lists what the agent does.
func (s *stage) live(prompt string, change func(*session.LiveOrder)) talk {
	s.t.Helper()
	return s.liveOf(session.DriverCodex, prompt, change)
}

// liveOf is live for a driver.
func (s *stage) liveOf(driver, prompt string, change func(*session.LiveOrder)) talk {
	s.t.Helper()
	order := s.turnOf(driver, prompt)
	l := order.Live
	l.Interactive, l.PermissionMS, l.QuestionMS, l.IdleMS, l.ActorID = true, 60_000, 60_000, 60_000, "human"
	l.Policy = doc.RunPolicy{Mode: doc.ModeDefault, PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}}
	if change != nil {
		change(l)
	}
	s.launch(order)
	return talk{s, order}
}

func keepOpen(l *session.LiveOrder) { l.KeepOpen = true }

// event is an event of the log.
type event struct {
	Type    string          `json:"type"`
	Actor   string          `json:"actor"`
	Payload json.RawMessage `json:"payload"`
}

// payload has the fields of payloads that the tests check.
type payload struct {
	InteractionID string              `json:"interaction_id"`
	SteerID       string              `json:"steer_id"`
	SteerIDs      []string            `json:"steer_ids"`
	Turn          int                 `json:"turn"`
	State         string              `json:"state"`
	Status        string              `json:"status"`
	Reason        string              `json:"reason"`
	Error         string              `json:"error"`
	How           string              `json:"how"`
	Delivery      string              `json:"delivery"`
	Cause         string              `json:"cause"`
	Text          string              `json:"text"`
	Effect        string              `json:"effect"`
	By            string              `json:"by"`
	Answers       map[string][]string `json:"answers"`
	Chunk         string              `json:"chunk"`
	Model         string              `json:"model"`
}

func (e event) read() (p payload) {
	_ = json.Unmarshal(e.Payload, &p) // fields of other types are ignored
	return p
}

func parsed(lines []string) (list []event) {
	for _, line := range lines {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil {
			list = append(list, e)
		}
	}
	return list
}

// await waits for an event whose payload fits, and returns the payload.
func (k talk) await(kind string, fits func(payload) bool) (found payload) {
	k.t.Helper()
	k.until(kind, func() bool {
		for _, e := range parsed(k.log(k.order)) {
			if e.Type == kind && (fits == nil || fits(e.read())) {
				found = e.read()
				return true
			}
		}
		return false
	})
	return found
}

// awaitSaid waits until the agent has said something.
func (k talk) awaitSaid(text string) {
	k.t.Helper()
	k.await(events.ProviderRaw, func(p payload) bool { return strings.Contains(p.Chunk, text) })
}

func (k talk) asked() string {
	k.t.Helper()
	return k.await(events.InteractionRequested, nil).InteractionID
}

func (k talk) respond(p session.AnswerRequest) (session.AnswerResult, error) {
	k.t.Helper()
	if p.Actor == "" {
		p.Actor, p.Role = "human", "human"
	}
	return session.Respond(k.ctx, k.w, k.record(k.order), p)
}

func (k talk) say(p session.SteerRequest) session.SteerResult {
	k.t.Helper()
	result, err := session.Steer(k.ctx, k.w, k.record(k.order), p)
	if err != nil || !result.Accepted {
		k.t.Fatalf("%+v: %v", result, err)
	}
	return result
}

func (k talk) end() doc.Session {
	k.t.Helper()
	return k.collect(k.order)
}

func (k talk) stop() doc.Session {
	k.t.Helper()
	if _, err := session.Stop(k.ctx, k.w, k.order.SessionRef); err != nil {
		k.t.Fatal(err)
	}
	return k.end()
}

// lastMessage returns the agent's last message.
func (k talk) lastMessage() string { return k.output(k.order, "last_message.md") }

// checkLive checks the guarantees that the log of an ended conversation gives: what began has
// ended once.
func (s *stage) checkLive(lines []string) {
	s.t.Helper()
	const waits = "a text for the next launch" // may stay open after a session
	open := map[string]string{}                // what has not ended yet
	begin := func(kind, id string) {
		if _, known := open[kind+id]; known {
			s.t.Errorf("%s %s begins twice", kind, id)
		}
		open[kind+id] = kind
	}
	end := func(kind, id string) {
		if _, known := open[kind+id]; !known {
			s.t.Errorf("%s %s ends without a beginning, or twice", kind, id)
		}
		delete(open, kind+id)
	}
	for _, e := range parsed(lines) {
		p := e.read()
		switch e.Type {
		case events.InteractionRequested:
			begin("interaction", p.InteractionID)
		case events.InteractionResolved:
			end("interaction", p.InteractionID)
		case events.SteerQueued:
			begin("steer", p.SteerID)
			if p.Delivery == session.DeliveryNextLaunch {
				open["steer"+p.SteerID] = waits
			}
		case events.SteerApplied, events.SteerDiscarded:
			end("steer", p.SteerID)
		case events.TurnStarted:
			begin("turn", fmt.Sprint(p.Turn))
		case events.TurnEnded:
			end("turn", fmt.Sprint(p.Turn))
		case events.RunEnded, events.RunFailed, events.RunStopped:
			for id, what := range open {
				if what != waits {
					s.t.Errorf("open at the end: %s", id)
				}
			}
		}
	}
}

// before checks that the first event that matches first precedes the first that matches second.
func (k talk) before(first, second func(event) bool) {
	k.t.Helper()
	list := parsed(k.log(k.order))
	a, b := slices.IndexFunc(list, first), slices.IndexFunc(list, second)
	if a < 0 || b < 0 || a > b {
		k.t.Errorf("lines %d and %d are not in this order", a+1, b+1)
	}
}

func isType(kind string) func(event) bool { return func(e event) bool { return e.Type == kind } }

func saying(text string) func(event) bool {
	return func(e event) bool { return e.Type == events.ProviderRaw && strings.Contains(e.read().Chunk, text) }
}
