package session

// What a run used, according to its log and its record.

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

// Price adds the cost by this machine's rate cards and passes the cost event to tell.
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

// LastReported returns the usage that a log reported last, nil for none.
func LastReported(w *workspace.Workspace, log string) (*doc.Usage, error) {
	var last *doc.Usage
	err := EachEvent(w, log, func(kind string, line []byte) {
		if kind == events.RunContinued {
			last = nil // earlier usage is in the run's record
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

// ReportedUsage decodes a payload of usage.reported.
func ReportedUsage(payload []byte) (u doc.Usage, ok bool) {
	if !json.Valid(payload) {
		return u, false
	}
	value := param.Parse(payload)
	for i := len(value.Keys) - 1; i >= 0; i-- {
		if slices.Contains(extraUsageMembers(), value.Keys[i]) {
			value.Keys, value.Items = slices.Delete(value.Keys, i, i+1), slices.Delete(value.Items, i, i+1)
		}
	}
	u, err := doc.UsageCodec.Bind(&value)
	return u, err == nil
}

// extraUsageMembers returns the members of a usage payload that a run's record does not have.
func extraUsageMembers() []string { return []string{"turn", "model", "cache_write_tokens"} }

// SumUsage adds the usage of a run's earlier sessions to that of the current one. A counter that
// only one of them has is taken as the sum. The cost is known only if both have one.
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
