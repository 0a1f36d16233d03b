package transcript

// The usage of a turn. Reports are totals of the session, so the last report of an earlier turn
// is subtracted.

import "encoding/json"

// turnUsage is the usage of the newest turn so far.
type turnUsage struct {
	turn   int
	before Usage // the session's last report before this turn
	latest Usage
	item   *Item
	done   UsageTotal // by earlier turns
}

// UsageTotal is the usage of a transcript's turns so far, as the agent reported it. Cost is in US
// dollars, nil if none was reported.
type UsageTotal struct {
	Tokens int64
	Cost   *float64
}

// Used returns the usage of all turns. ok is false if none was reported.
func (f *Fold) Used() (sum UsageTotal, ok bool) {
	if f.used.item == nil {
		return f.used.done, f.used.done != UsageTotal{}
	}
	return f.used.done.and(f.used.item.Usage), true
}

func (u UsageTotal) and(turn *Usage) UsageTotal {
	sum := UsageTotal{u.Tokens + turn.TotalTokens, u.Cost}
	if turn.CostUSD != nil {
		cost := *turn.CostUSD
		if u.Cost != nil {
			cost += *u.Cost
		}
		sum.Cost = &cost
	}
	return sum
}

// usage handles a usage report.
func (f *Fold) usage(e Event) {
	var p struct {
		Turn int `json:"turn"`
		Usage
	}
	if json.Unmarshal(e.Payload, &p) != nil || p.Turn <= 0 {
		return
	}
	u := &f.used
	if u.item == nil || p.Turn > u.turn {
		u.close(f)
		if u.item != nil {
			u.done = u.done.and(u.item.Usage)
		}
		u.turn, u.before, u.item = p.Turn, u.latest, nil
	}
	u.latest = p.Usage
	used := p.less(u.before)
	if u.item != nil { // even if the turn is over
		u.item.Usage = &used
		f.add(Change{Op: Update, Item: u.item})
		return
	}
	u.item = &Item{ID: ownID(e), Kind: KindUsage, Role: RoleSystem, State: StateOpen, Usage: &used}
	f.begin(u.item)
	u.item.Turn = p.Turn
	f.add(Change{Op: Open, Item: u.item})
	if f.turn != p.Turn {
		u.close(f)
	}
}

// close closes the item of the turn.
func (u *turnUsage) close(f *Fold) {
	if u.item != nil && u.item.State == StateOpen {
		u.item.State = StateClosed
		f.add(Change{Op: Close, Item: u.item})
	}
}

// less subtracts an earlier total. A total that shrank is treated as a new count.
func (u Usage) less(before Usage) Usage {
	if u.TotalTokens < before.TotalTokens {
		before = Usage{}
	}
	count := func(now, then *int64) *int64 {
		if now == nil || then == nil {
			return now
		}
		return new(max(0, *now-*then))
	}
	used := Usage{
		InputTokens: count(u.InputTokens, before.InputTokens), CachedInputTokens: count(u.CachedInputTokens, before.CachedInputTokens),
		CacheWriteTokens: count(u.CacheWriteTokens, before.CacheWriteTokens),
		OutputTokens:     count(u.OutputTokens, before.OutputTokens), ReasoningOutputTokens: count(u.ReasoningOutputTokens, before.ReasoningOutputTokens),
		TotalTokens: u.TotalTokens - before.TotalTokens, CostUSD: u.CostUSD,
	}
	if u.CostUSD != nil && before.CostUSD != nil {
		used.CostUSD = new(max(0, *u.CostUSD-*before.CostUSD))
	}
	return used
}
