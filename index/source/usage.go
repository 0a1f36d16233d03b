package source

// Usage of runs, by turn. A record is one closed turn with usage or, where the log has no
// turns, one session. Its time is that of the event that closed it.
//
// A report with a turn is the cumulative sum of the session, so the sum at the end of the
// earlier turn is subtracted. Of the reports without a turn the highest in the session counts.
// A cost that was computed for a session is divided among its records by their tokens.

import (
	"database/sql"
	"encoding/json"

	"ac/events"
)

// counters are disjoint token counts and a cost. Reports include cache writes in the input;
// here Input excludes them, and Written has them. Total is the reported total, else the sum.
type counters struct {
	Input     int64    `json:"i,omitempty"`
	Cached    int64    `json:"c,omitempty"`
	Written   int64    `json:"w,omitempty"`
	Output    int64    `json:"o,omitempty"`
	Reasoning int64    `json:"s,omitempty"`
	Total     int64    `json:"t,omitempty"`
	Cost      *float64 `json:"m,omitempty"` // in USD, nil if unknown
}

// less subtracts an earlier sum. If the sum shrank, counting restarted, and c is returned as it
// is.
func (c counters) less(before counters) counters {
	if c.Total < before.Total {
		return c
	}
	rest := counters{
		Input: max(0, c.Input-before.Input), Cached: max(0, c.Cached-before.Cached), Written: max(0, c.Written-before.Written),
		Output: max(0, c.Output-before.Output), Reasoning: max(0, c.Reasoning-before.Reasoning), Total: c.Total - before.Total, Cost: c.Cost,
	}
	if c.Cost != nil && before.Cost != nil {
		rest.Cost = new(max(0, *c.Cost-*before.Cost))
	}
	return rest
}

func (c *counters) add(more counters) {
	c.Input, c.Cached, c.Written = c.Input+more.Input, c.Cached+more.Cached, c.Written+more.Written
	c.Output, c.Reasoning, c.Total = c.Output+more.Output, c.Reasoning+more.Reasoning, c.Total+more.Total
	if more.Cost != nil {
		cost := *more.Cost
		if c.Cost != nil {
			cost += *c.Cost
		}
		c.Cost = &cost
	}
}

// Sources of a record's cost.
const (
	CostReported = "reported" // by the agent
	CostRate     = "rate"     // by the rate cards of the machine
)

// UsageRecord is the usage of one turn or session of a run.
type UsageRecord struct {
	counters

	At        int64  `json:"at"` // NoTime if the event has none
	Turn      int    `json:"n,omitempty"`
	Model     string `json:"d,omitempty"` // as the agent reported it
	Estimated bool   `json:"e,omitempty"`
	CostBy    string `json:"b,omitempty"`
}

// Values returns the columns of its row, after the key.
func (r *UsageRecord) Values() []any {
	return []any{
		r.At, r.Estimated, r.Input, r.Cached, r.Written, r.Output, r.Reasoning, r.Total, finite(r.Cost), Nullable(r.CostBy), Nullable(r.Model),
	}
}

// UsageFold derives the usage records of a run, event by event. It is stored between reads of
// the log.
type UsageFold struct {
	Closed []UsageRecord `json:"r,omitempty"`
	First  int           `json:"f,omitempty"` // index of the open session's first record
	// Turn is the turn of the newest report, and Latest that report. Before is the last report
	// of an earlier turn.
	Turn   int      `json:"n,omitempty"`
	Latest counters `json:"l,omitzero"`
	Before counters `json:"p,omitzero"`
	Model  string   `json:"d,omitempty"` // model in that report
	// Whole is the highest report without a turn, or the estimate.
	Whole     *counters `json:"w,omitempty"`
	WholeOf   string    `json:"o,omitempty"` // model in Whole
	Estimated bool      `json:"e,omitempty"`
	Rate      *float64  `json:"c,omitempty"` // computed cost of the session

	saved int // number of records that the table has
}

// usagePayload has the payload members that the fold reads.
type usagePayload struct {
	Turn       int      `json:"turn"`
	Input      *int64   `json:"input_tokens"`
	Cached     *int64   `json:"cached_input_tokens"`
	Written    *int64   `json:"cache_write_tokens"` // included in Input
	Output     *int64   `json:"output_tokens"`
	Reasoning  *int64   `json:"reasoning_output_tokens"`
	Total      *int64   `json:"total_tokens"`
	Cost       *float64 `json:"cost_usd"`
	CostSource string   `json:"cost_source"`
	Model      string   `json:"model"`
}

func (p usagePayload) counters() counters {
	known := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return max(0, *n)
	}
	c := counters{Input: known(p.Input), Cached: known(p.Cached), Output: known(p.Output), Reasoning: known(p.Reasoning), Cost: p.Cost}
	if c.Total = c.Input + c.Cached + c.Output + c.Reasoning; p.Total != nil {
		c.Total = known(p.Total)
	}
	c.Written = min(known(p.Written), c.Input)
	c.Input -= c.Written
	return c
}

// foldUsage folds an event. Only events about usage, turns and sessions change anything.
func (s *Stats) foldUsage(e *Event) {
	kind := string(e.Kind.Text)
	switch kind {
	case events.UsageReported, events.UsageEstimated, events.UsageCost, events.TurnEnded, events.RunContinued:
	default:
		if !events.Terminal(kind) {
			return
		}
	}
	if s.Usage == nil {
		s.Usage = &UsageFold{}
	}
	u := s.Usage
	at := int64(NoTime)
	if e.hasAt {
		at = e.at
	}
	var p usagePayload
	_ = json.Unmarshal(e.Payload, &p) // members of another type count as unknown
	switch kind {
	case events.UsageReported:
		u.addReport(p)
	case events.UsageEstimated:
		c := p.counters()
		u.Whole, u.WholeOf, u.Estimated = &c, p.Model, true
	case events.UsageCost:
		u.Rate = p.Cost
	case events.TurnEnded:
		if p.Turn == u.Turn {
			u.closeTurn(at)
		}
	default:
		u.close(at)
	}
}

func (u *UsageFold) addReport(p usagePayload) {
	c := p.counters()
	if p.Turn <= 0 {
		if u.Whole == nil || u.Estimated || c.Total > u.Whole.Total {
			u.Whole, u.WholeOf, u.Estimated = &c, p.Model, false
		}
		return
	}
	if p.Turn > u.Turn {
		u.Before, u.Turn = u.Latest, p.Turn
	}
	u.Latest, u.Model = c, p.Model
	if last := len(u.Closed) - 1; last >= u.First && u.Closed[last].Turn == p.Turn { // a late report for a closed turn
		u.Closed[last].counters, u.Closed[last].Model = c.less(u.Before), p.Model
		u.markChanged(last)
	}
}

// markChanged marks the records from an index on to be saved again.
func (u *UsageFold) markChanged(from int) { u.saved = min(u.saved, from) }

// closeTurn makes the record of the newest turn, unless it has one.
func (u *UsageFold) closeTurn(at int64) {
	if last := len(u.Closed) - 1; u.Turn == 0 || last >= u.First && u.Closed[last].Turn == u.Turn {
		return
	}
	r := UsageRecord{counters: u.Latest.less(u.Before), At: at, Turn: u.Turn, Model: u.Model}
	if r.Cost != nil {
		r.CostBy = CostReported
	}
	u.Closed = append(u.Closed, r)
}

// close makes the records of a session that has ended.
func (u *UsageFold) close(at int64) {
	u.closeTurn(at)
	if u.Whole != nil {
		u.closeWhole(at)
	}
	if u.Rate != nil {
		u.share(*u.Rate)
	}
	*u = UsageFold{Closed: u.Closed, First: len(u.Closed), saved: u.saved}
}

// closeWhole adds what the turns did not report to the last of them. Without turns it makes a
// record of its own.
func (u *UsageFold) closeWhole(at int64) {
	if len(u.Closed) == u.First {
		r := UsageRecord{counters: *u.Whole, At: at, Estimated: u.Estimated, Model: u.WholeOf}
		if r.Cost != nil {
			r.CostBy = CostReported
		}
		u.Closed = append(u.Closed, r)
		return
	}
	var sum counters
	for _, r := range u.Closed[u.First:] {
		sum.add(r.counters)
	}
	if u.Estimated || u.Whole.Total <= sum.Total {
		return
	}
	last := len(u.Closed) - 1
	rest := u.Whole.less(sum)
	if sum.Cost == nil {
		rest.Cost = nil
	}
	u.Closed[last].add(rest)
	u.markChanged(last)
}

// share divides a computed cost among the records of the session that have none.
func (u *UsageFold) share(cost float64) {
	var tokens, unpriced int64
	for _, r := range u.Closed[u.First:] {
		if r.Cost == nil {
			tokens, unpriced = tokens+r.Total, unpriced+1
		}
	}
	for i := u.First; i < len(u.Closed); i++ {
		r := &u.Closed[i]
		if r.Cost != nil {
			continue
		}
		part := 1 / float64(unpriced)
		if tokens > 0 {
			part = float64(r.Total) / float64(tokens)
		}
		r.Cost, r.CostBy = new(cost*part), CostRate
		u.markChanged(i)
	}
}

// UsageJSON returns the fold as stored in the stats table, nil for none.
func (s *Stats) UsageJSON() any {
	if s.Usage == nil {
		return nil
	}
	text, err := json.Marshal(s.Usage)
	if err != nil {
		return nil // numbers and texts always encode
	}
	return string(text)
}

// SetUsage restores the fold from the stats table.
func (s *Stats) SetUsage(text sql.NullString) {
	if !text.Valid {
		return
	}
	var u UsageFold
	if json.Unmarshal([]byte(text.String), &u) == nil {
		u.saved = len(u.Closed)
		s.Usage = &u
	}
}

// Unsaved returns the records that the table lacks, and the index of the first.
func (u *UsageFold) Unsaved() (from int, records []UsageRecord) {
	if u == nil {
		return 0, nil
	}
	return u.saved, u.Closed[u.saved:]
}

// MarkSaved records that the table has all records.
func (u *UsageFold) MarkSaved() { u.saved = len(u.Closed) }
