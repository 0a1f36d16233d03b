// Package usage finds out what a run consumed: token counters in the JSON that
// providers print, signs that a provider compacted its context, an estimate
// where nothing was reported, and the price by rate card.
//
// Invariants: a counter that nobody reported stays unknown, it is never zero;
// the same report seen twice counts once; a run's usage is one report, the one
// with the highest total, never a sum of several.
package usage

import (
	"math"
	"strings"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// Words of a doc.Usage.
const (
	SourceReported  = "provider_reported"
	SourceEstimated = "estimated_chars"
	EstimateMethod  = "utf16 length / 4, rounded up"
)

// Counters are what one report tells. A nil counter was not reported.
type Counters struct {
	Input, Cached, Output, Reasoning *int64
	Total                            int64
}

// key tells counters apart by value.
type key struct{ input, cached, output, reasoning, total int64 }

func (c Counters) key() key {
	value := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	return key{value(c.Input), value(c.Cached), value(c.Output), value(c.Reasoning), c.Total}
}

// Report is a report of usage with where it came from.
type Report struct {
	Counters
	Captured string // the event type that it was captured from, "" when unknown
}

// Usage is the report as a run records it, without a price.
func (r Report) Usage(provider string) *doc.Usage {
	return &doc.Usage{
		Source: SourceReported, Confidence: "high", Provider: provider,
		InputTokens: r.Input, CachedInputTokens: r.Cached, OutputTokens: r.Output, ReasoningOutputTokens: r.Reasoning,
		TotalTokens: r.Total, CapturedFromEventType: r.Captured,
	}
}

// Estimate guesses usage from the length of texts in UTF-16 code units.
func Estimate(provider string, input, output int64) *doc.Usage {
	quarter := func(n int64) *int64 { return new((n + 3) / 4) }
	u := &doc.Usage{
		Source: SourceEstimated, Confidence: "low", EstimateMethod: EstimateMethod, Provider: provider,
		InputTokens: quarter(input), OutputTokens: quarter(output),
	}
	u.TotalTokens = *u.InputTokens + *u.OutputTokens
	return u
}

// maxDepth bounds the search for reports within a value.
const maxDepth = 8

// find searches a value depth first and calls found for each report, in order.
func find(v *shape.Value, depth int, found func(Report)) {
	switch v.Kind {
	case shape.Map:
		if own, ok := counters(v); ok && hasTokens(v) {
			captured := ""
			if t := v.Get("type"); t.Kind == shape.String {
				captured = strings.ToValidUTF8(t.Text, "\uFFFD") // of half a pair of surrogates
			}
			found(Report{own, captured})
		}
		for _, name := range []string{"tokenUsage", "last_token_usage", "total_token_usage", "usage"} {
			if inner := v.Get(name); inner.Kind == shape.Map {
				if c, ok := counters(inner); ok {
					found(Report{c, name})
				}
			}
		}
	case shape.List:
	default:
		return
	}
	if depth == maxDepth {
		return
	}
	for i := range v.Items {
		find(&v.Items[i], depth+1, found)
	}
}

func hasTokens(v *shape.Value) bool {
	for _, name := range []string{"total_tokens", "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"} {
		if v.Get(name).Kind != shape.Absent {
			return true
		}
	}
	return false
}

// counters normalises the counters of an object; ok is false when it tells
// nothing.
func counters(v *shape.Value) (c Counters, ok bool) {
	c.Input = sum(first(v, "input_tokens", "prompt_tokens"), count(v.Get("cache_creation_input_tokens")))
	c.Cached = first(v, "cached_input_tokens", "cache_read_input_tokens")
	c.Output = first(v, "output_tokens", "completion_tokens")
	c.Reasoning = count(v.Get("reasoning_output_tokens"))
	return withTotal(c, count(v.Get("total_tokens")))
}

func withTotal(c Counters, total *int64) (Counters, bool) {
	if total != nil {
		c.Total = *total
		return c, true
	}
	for _, n := range []*int64{c.Input, c.Cached, c.Output, c.Reasoning} {
		if n != nil {
			c.Total = plus(c.Total, *n)
		}
	}
	return c, c.Total > 0
}

// first is the counter under the first name that has a value.
func first(v *shape.Value, names ...string) *int64 {
	for _, name := range names {
		if member := v.Get(name); member.Kind != shape.Absent && member.Kind != shape.Null {
			return count(member)
		}
	}
	return nil
}

// maxCount is the largest counter that a run's record can hold; sums stay at it.
const maxCount = 1<<53 - 1

func plus(a, b int64) int64 { return min(a+b, maxCount) }

// count reads a counter: a finite number from zero on, rounded down.
func count(v *shape.Value) *int64 {
	if v.Kind != shape.Number || !(v.Num >= 0) || v.Num > maxCount {
		return nil
	}
	return new(int64(math.Floor(v.Num)))
}

func sum(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(plus(*a, *b))
}

// WholeOutput reads a report from output that is one JSON value, as gemini
// prints it: the usual places, then the models' statistics.
func WholeOutput(v *shape.Value) (r Report, ok bool) {
	find(v, 0, func(found Report) {
		if !ok || found.Total > r.Total {
			r, ok = found, true
		}
	})
	if ok {
		return r, true
	}
	return modelStats(v)
}

// modelStats sums stats.models.<name>.tokens.
func modelStats(v *shape.Value) (r Report, ok bool) {
	models := v.Get("stats").Get("models")
	var total *int64
	for i := range models.Items {
		tokens := models.Items[i].Get("tokens")
		if tokens.Kind != shape.Map {
			continue
		}
		ok = true
		cached := count(tokens.Get("cached"))
		prompt := count(tokens.Get("prompt"))
		if prompt != nil && cached != nil {
			prompt = new(max(0, *prompt-*cached))
		}
		r.Input, r.Cached = sum(r.Input, prompt), sum(r.Cached, cached)
		r.Output = sum(r.Output, count(tokens.Get("candidates")))
		r.Reasoning = sum(r.Reasoning, count(tokens.Get("thoughts")))
		total = sum(total, count(tokens.Get("total")))
	}
	if !ok {
		return r, false
	}
	r.Captured = "stats.models"
	r.Counters, ok = withTotal(r.Counters, total)
	return r, ok
}
