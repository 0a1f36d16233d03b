package session

// What a session consumed: reports picked out of the output as it comes, the
// choice and the price at the end.

import (
	"encoding/json"
	"path"
	"path/filepath"
	"time"

	"ac/events"
	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/param"
	"ac/runs/provider"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

// cyclePayload is the payload of context.cycle.detected.
type cyclePayload struct {
	Count      int64  `json:"count"`
	SignalType string `json:"signal_type"`
	Source     string `json:"source"`
}

// costPayload is the payload of usage.cost_computed.
type costPayload struct {
	CostUSD          float64 `json:"cost_usd"`
	Currency         string  `json:"currency"`
	Source           string  `json:"source"`
	RateCardProvider *string `json:"rate_card_provider"`
}

// news gives the drafts of what a line told for the first time.
func (s *supervisor) news(line []byte) ([]events.Draft, error) {
	return s.tell(s.collector.Line(line))
}

// notified is news for what a notification told.
func (s *supervisor) notified(reports []usage.Report, found []usage.Cycle) ([]events.Draft, error) {
	return s.tell(s.collector.Take(reports, found))
}

func (s *supervisor) tell(told usage.News) ([]events.Draft, error) {
	if len(told.Reports) > 0 {
		s.budget.reported(s.collector.Best().Usage(s.order.Provider), s.prior)
	}
	turn := 0
	if s.talk != nil && !s.order.perTurn() {
		turn = s.talk.turns // this is its goroutine
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
		draft, err := s.draft(events.UsageReported, reportedPayload{*r.Event(s.order.Provider), turn})
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// reportedPayload is the payload of usage.reported.
type reportedPayload struct {
	doc.Usage
	Turn int `json:"turn,omitempty"` // of a live session
}

// accounting fills in what the run consumed and gives the events that tell it.
// A session that never started its provider consumed nothing that could be
// measured.
func (s *supervisor) accounting(c *closing) ([]events.Draft, error) {
	c.usage = s.prior
	if s.recorder == nil {
		return nil, nil
	}
	c.cycles = s.collector.ContextCycles()
	var drafts []events.Draft
	tell := func(kind string, payload any) error {
		draft, err := s.draft(kind, payload)
		drafts = append(drafts, draft)
		return err
	}
	if r, ok := s.collector.Whole(s.printed()); ok {
		if err := tell(events.UsageReported, r.Event(s.order.Provider)); err != nil {
			return nil, err
		}
	}
	best := s.collector.Best()
	if r, ok := s.noted(c); ok && (best == nil || r.Total > best.Total) {
		if err := tell(events.UsageReported, r.Event(s.order.Provider)); err != nil {
			return nil, err
		}
		best = &r
	}
	if best != nil {
		c.usage = best.Usage(s.order.Provider)
	} else {
		said := s.recorder.units
		if s.talk != nil && s.talk.turns == s.order.Live.Turns {
			return drafts, nil // it never got to a turn
		}
		if s.isAgent() {
			if s.facts.Said == 0 && c.status == doc.StatusFailed {
				return drafts, nil // it never got to its model
			}
			if s.facts.Known {
				said = s.facts.Said // not its protocol
			}
		}
		c.usage = usage.Estimate(s.order.Provider, s.given(), said)
		if err := tell(events.UsageEstimated, c.usage); err != nil {
			return nil, err
		}
	}
	if err := price(s.w, c.usage, tell); err != nil {
		return nil, err
	}
	c.usage = sumUsage(s.prior, c.usage)
	text, err := json.MarshalIndent(c.usage, "", "  ")
	if err != nil {
		return nil, err
	}
	return drafts, s.w.Replace(path.Join(s.outDir, "token_usage.json"), append(text, '\n'), 0o644)
}

// noted is what codex noted of its usage: more than it told where the session ended
// before that, or other agents worked for it.
func (s *supervisor) noted(c *closing) (r usage.Report, ok bool) {
	if !s.isAgent() || provider.DriverOf(s.order.Provider) != provider.Codex {
		return r, false
	}
	environ := s.environ()
	home := lookup(environ, "CODEX_HOME")
	if home == "" {
		home = filepath.Join(lookup(environ, "HOME"), ".codex")
	}
	return usage.Rollout(home, s.facts.Conversation, time.UnixMilli(c.record.StartedAtMS))
}

// given is the length of the provider's input.
func (s *supervisor) given() int64 {
	switch {
	case s.talk != nil:
		return s.talk.units // its goroutine has ended
	case s.order.Stdin != nil:
		return utf16Units(valid([]byte(*s.order.Stdin)))
	}
	return 0
}

// maxPrinted bounds the output that is searched as a whole.
const maxPrinted = 16 << 20

// printed is all of stdout, nothing when that is too long or unreadable.
func (s *supervisor) printed() []byte {
	text, err := durable.ReadFile(s.w.FS, path.Join(s.outDir, "stdout.txt"), maxPrinted)
	if err != nil {
		return nil
	}
	return text
}

// price adds the cost by this machine's rate cards and tells it.
func price(w *workspace.Workspace, u *doc.Usage, tell func(kind string, payload any) error) error {
	machine, err := w.Machine()
	if err != nil {
		return nil //nolint:nilerr // without the overlay there is no card, and no claim about one
	}
	if !usage.Price(u, machine.Pricing) {
		return nil
	}
	return tell(events.UsageCost, costPayload{*u.CostUSD, u.CostCurrency, u.CostSource, orNull(u.CostRateCardProvider)})
}

// lastReported is the usage that a log told last, nil when it told none.
func lastReported(w *workspace.Workspace, log string) (*doc.Usage, error) {
	var last *doc.Usage
	err := EachEvent(w, log, func(kind string, line []byte) {
		if kind == events.RunContinued {
			last = nil // what came before stands in the run's record
		}
		if kind != events.UsageReported {
			return
		}
		var e struct {
			Payload json.RawMessage `json:"payload"`
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		text, err := canonjson.CanonicalWithout(nil, e.Payload, "turn")
		if err != nil {
			return
		}
		value := param.Parse(text)
		if u, err := doc.UsageCodec.Bind(&value); err == nil {
			last = &u
		}
	})
	return last, err
}
