package supervisor

// What a session consumed. Usage reports are extracted from the output as it arrives. The end
// chooses the best one and its price.

import (
	"encoding/json"
	"path"
	"strings"
	"time"
	"unicode"

	"ac/events"
	"ac/internal/clip"
	"ac/internal/durable"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/session/output"
	"ac/runs/usage"
	"ac/workspace/doc"
)

// cyclePayload is the payload of context.cycle.detected.
type cyclePayload struct {
	Count      int64  `json:"count"`
	SignalType string `json:"signal_type"`
	Source     string `json:"source"`
}

// lineEvents returns drafts for what an output line reports for the first time.
func (s *supervisor) lineEvents(line []byte) ([]events.Draft, error) {
	return s.newsEvents(s.collector.Line(line))
}

// notificationEvents is news for a notification.
func (s *supervisor) notificationEvents(reports []usage.Report, found []usage.Cycle) ([]events.Draft, error) {
	return s.newsEvents(s.collector.Take(reports, found))
}

func (s *supervisor) newsEvents(told usage.News) ([]events.Draft, error) {
	if len(told.Reports) > 0 {
		s.budget.reported(s.collector.Best().Usage(s.order.Provider), s.prior)
	}
	turn := 0
	if s.talk != nil && !s.order.PerTurn() {
		turn = s.talk.TurnCount() // called on the conversation's goroutine
	}
	var drafts []events.Draft
	for _, c := range told.Cycles {
		draft, err := s.draft(events.ContextCycle, cyclePayload{c.Count, c.Type, c.Source})
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	for _, r := range told.Reports {
		draft, err := s.draft(events.UsageReported, s.reported(r, turn))
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// usedPayload is the payload of usage.reported and usage.estimated: the usage as the run's record
// has it, whose members are fixed, and more.
type usedPayload struct {
	doc.Usage
	Turn  int    `json:"turn,omitempty"`  // of a live session
	Model string `json:"model,omitempty"` // the model the agent used, by its own name
	// CacheWrite is the part of the input, in tokens, that was written to a cache.
	CacheWrite *int64 `json:"cache_write_tokens,omitempty"`
}

// maxModel bounds the length of a model's name.
const maxModel = 200

// reported returns the event payload for a usage report.
func (s *supervisor) reported(r usage.Report, turn int) usedPayload {
	return usedPayload{*r.Event(s.order.Provider), turn, s.modelName(r.Model), r.CacheWrite}
}

// modelName returns a model's name with secrets masked, "" if it holds control characters.
func (s *supervisor) modelName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return ""
	}
	return clip.Head(s.secrets.String(name), maxModel)
}

// accounting fills in what the run consumed and returns the usage events. A session that never
// started its provider consumed nothing measurable.
func (s *supervisor) accounting(c *session.Closing) ([]events.Draft, error) {
	c.Usage = s.prior
	if s.recorder == nil {
		return nil, nil
	}
	c.Cycles = s.collector.ContextCycles()
	var drafts []events.Draft
	tell := func(kind string, payload any) error {
		draft, err := s.draft(kind, payload)
		drafts = append(drafts, draft)
		return err
	}
	if r, ok := s.collector.Whole(s.printed()); ok {
		if err := tell(events.UsageReported, s.reported(r, 0)); err != nil {
			return nil, err
		}
	}
	best := s.collector.Best()
	if r, ok := s.rolloutUsage(c); ok && (best == nil || r.Total > best.Total) {
		if err := tell(events.UsageReported, s.reported(r, 0)); err != nil {
			return nil, err
		}
		best = &r
	}
	if best != nil {
		c.Usage = best.Usage(s.order.Provider)
	} else {
		said := s.recorder.RecordedUnits()
		if s.talk != nil && s.talk.TurnCount() == s.order.Live.Turns {
			return drafts, nil // no turn began
		}
		if s.isAgent() {
			if s.facts.Said == 0 && c.Status == doc.StatusFailed {
				return drafts, nil // it never reached its model
			}
			if s.facts.Known {
				said = s.facts.Said // excludes the protocol's overhead
			}
		}
		c.Usage = usage.Estimate(s.order.Provider, s.inputLength(), said)
		if err := tell(events.UsageEstimated, usedPayload{Usage: *c.Usage, Model: s.modelName(s.handshakeModel())}); err != nil {
			return nil, err
		}
	}
	if err := session.Price(s.w, c.Usage, tell); err != nil {
		return nil, err
	}
	c.Usage = session.SumUsage(s.prior, c.Usage)
	text, err := json.MarshalIndent(c.Usage, "", "  ")
	if err != nil {
		return nil, err
	}
	return drafts, s.w.Replace(path.Join(s.outDir, "token_usage.json"), append(text, '\n'), 0o644)
}

// handshakeModel returns the model that the agent named in its handshake, "" if the launch named one.
func (s *supervisor) handshakeModel() string {
	if s.talk == nil || s.order.Live.Model != "" {
		return ""
	}
	return s.talk.Model() // the conversation's goroutine has ended
}

// rolloutUsage returns the usage from codex's own rollout files. They hold more than codex printed if
// the session ended early or other agents worked for it.
func (s *supervisor) rolloutUsage(c *session.Closing) (r usage.Report, ok bool) {
	if !s.isAgent() || provider.DriverOf(s.order.Provider) != provider.Codex {
		return r, false
	}
	environ := s.environ()
	home := usage.CodexHome(func(name string) string { return session.EnvironValue(environ, name) })
	return usage.Rollout(home, s.facts.Conversation, time.UnixMilli(c.Record.StartedAtMS))
}

// inputLength returns the length of the provider's input.
func (s *supervisor) inputLength() int64 {
	switch {
	case s.talk != nil:
		return s.talk.SentLength() // the conversation's goroutine has ended
	case s.order.Stdin != nil:
		return output.Length(*s.order.Stdin)
	}
	return 0
}

// maxPrinted bounds the output that is searched as a whole, in bytes.
const maxPrinted = 16 << 20

// printed returns all of stdout, nil if it is too long or unreadable.
func (s *supervisor) printed() []byte {
	text, err := durable.ReadFile(s.w.FS, path.Join(s.outDir, "stdout.txt"), maxPrinted)
	if err != nil {
		return nil
	}
	return text
}
