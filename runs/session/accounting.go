package session

// What a session consumed: reports picked out of the output as it comes, the
// choice and the price at the end.

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"ac/events"
	"ac/internal/clip"
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
		draft, err := s.draft(events.UsageReported, s.reported(r, turn))
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// usedPayload is the payload of usage.reported and usage.estimated: what a run's record
// has, whose members are fixed, and more.
type usedPayload struct {
	doc.Usage
	Turn  int    `json:"turn,omitempty"`  // of a live session
	Model string `json:"model,omitempty"` // that the agent used, in its own words
	// CacheWrite is the part of the input that was written to a cache.
	CacheWrite *int64 `json:"cache_write_tokens,omitempty"`
}

// more are the members of a usedPayload that a run's record does not have.
func more() []string { return []string{"turn", "model", "cache_write_tokens"} }

// maxModel bounds the name of a model.
const maxModel = 200

// reported is the payload that tells a report.
func (s *supervisor) reported(r usage.Report, turn int) usedPayload {
	return usedPayload{*r.Event(s.order.Provider), turn, s.modelName(r.Model), r.CacheWrite}
}

// modelName is the name of a model as it may be written down, "" for what is no name.
func (s *supervisor) modelName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return ""
	}
	return clip.Head(s.secrets.String(name), maxModel)
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
		if err := tell(events.UsageReported, s.reported(r, 0)); err != nil {
			return nil, err
		}
	}
	best := s.collector.Best()
	if r, ok := s.noted(c); ok && (best == nil || r.Total > best.Total) {
		if err := tell(events.UsageReported, s.reported(r, 0)); err != nil {
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
		if err := tell(events.UsageEstimated, usedPayload{Usage: *c.usage, Model: s.modelName(s.told())}); err != nil {
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

// told is the model that an agent told of in its handshake, which stands unless the launch
// named another one.
func (s *supervisor) told() string {
	if s.talk == nil || s.talk.order.Model != "" {
		return ""
	}
	return s.talk.talk.Model // its goroutine has ended
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
		if u, ok := reportedUsage(e.Payload); ok {
			last = &u
		}
	})
	return last, err
}

// reportedUsage reads the payload of usage.reported.
func reportedUsage(payload []byte) (u doc.Usage, ok bool) {
	if !json.Valid(payload) {
		return u, false
	}
	value := param.Parse(payload)
	for i := len(value.Keys) - 1; i >= 0; i-- {
		if slices.Contains(more(), value.Keys[i]) {
			value.Keys, value.Items = slices.Delete(value.Keys, i, i+1), slices.Delete(value.Items, i, i+1)
		}
	}
	u, err := doc.UsageCodec.Bind(&value)
	return u, err == nil
}
