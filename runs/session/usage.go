package session

// What a run used, as its log tells it and as its record sums it up.

import (
	"encoding/json"
	"slices"

	"ac/events"
	"ac/internal/param"
	"ac/runs/usage"
	"ac/workspace"
	"ac/workspace/doc"
)

// costPayload is the payload of usage.cost_computed.
type costPayload struct {
	CostUSD          float64 `json:"cost_usd"`
	Currency         string  `json:"currency"`
	Source           string  `json:"source"`
	RateCardProvider *string `json:"rate_card_provider"`
}

// Price adds the cost by this machine's rate cards and tells it.
func Price(w *workspace.Workspace, u *doc.Usage, tell func(kind string, payload any) error) error {
	machine, err := w.Machine()
	if err != nil {
		return nil //nolint:nilerr // without the overlay there is no card, and no claim about one
	}
	if !usage.Price(u, machine.Pricing) {
		return nil
	}
	return tell(events.UsageCost, costPayload{*u.CostUSD, u.CostCurrency, u.CostSource, orNull(u.CostRateCardProvider)})
}

// LastReported is the usage that a log told last, nil when it told none.
func LastReported(w *workspace.Workspace, log string) (*doc.Usage, error) {
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
		if u, ok := ReportedUsage(e.Payload); ok {
			last = &u
		}
	})
	return last, err
}

// ReportedUsage reads the payload of usage.reported.
func ReportedUsage(payload []byte) (u doc.Usage, ok bool) {
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

// more are the members of a usedPayload that a run's record does not have.
func more() []string { return []string{"turn", "model", "cache_write_tokens"} }

// SumUsage is what a run used over its sessions: of what they say, each where one of
// them says it; a cost only where all of them have one.
func SumUsage(prior, now *doc.Usage) *doc.Usage {
	if prior == nil || now == nil {
		if now == nil {
			return prior
		}
		return now
	}
	total := *now
	c := usage.OfRecord(prior).Plus(usage.OfRecord(now))
	total.InputTokens, total.CachedInputTokens, total.OutputTokens, total.ReasoningOutputTokens = c.Input, c.Cached, c.Output, c.Reasoning
	total.TotalTokens = c.Total
	if prior.CostUSD == nil || now.CostUSD == nil {
		total.CostUSD, total.CostCurrency, total.CostRateCardProvider = nil, "", ""
		total.CostSource = usage.CostUnknown
		return &total
	}
	total.CostUSD = new(*prior.CostUSD + *now.CostUSD)
	return &total
}
