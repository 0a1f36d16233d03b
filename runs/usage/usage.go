// Package usage determines what a run consumed. It reads token counters and context compactions
// from the JSON that providers print, estimates usage if nothing was reported, and prices it by
// rate card.
//
// Invariants:
//   - A counter that was not reported is unknown, never zero.
//   - The parts of a report never overlap, however its provider counts. Tokens written to a cache
//     are part of the input and also reported separately.
//   - A report that occurs twice counts once.
//   - A run's usage is one report, the one with the highest total. Agents that report each step
//     separately have their steps added up first.
package usage

import (
	"math"
	"strings"

	"ac/internal/shape"
	"ac/workspace/doc"
)

// Values of fields in doc.Usage.
const (
	SourceReported  = "provider_reported"
	SourceEstimated = "estimated_chars"
	EstimateMethod  = "utf16 length / 4, rounded up"

	CostReported = "provider_reported"
	CostRateCard = "provider_rate_card"
	CostUnknown  = "no_rate_card"
)

// Counters holds the token counters of one report. A nil counter was not reported.
type Counters struct {
	Input, Cached, Output, Reasoning *int64
	Total                            int64
	CacheWrite                       *int64 // the part of Input that was written to a cache
}

// key identifies counters by value, for deduplication.
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

// Report is a set of counters and its origin.
type Report struct {
	Counters
	Captured string // the event type that contained it, "" if unknown
	// CostUSD is the cost that the agent reported, nil if none.
	CostUSD *float64
	Model   string // the agent's name of its model, "" if it reported none
}

// Usage converts the report for a run's record. Its cost is set only if the agent reported one.
func (r Report) Usage(provider string) *doc.Usage {
	u := r.counted(provider)
	if r.CostUSD != nil {
		u.CostUSD, u.CostCurrency, u.CostSource = r.CostUSD, "USD", CostReported
	}
	return u
}

// Event converts the report for an event, without the cost.
func (r Report) Event(provider string) *doc.Usage { return r.counted(provider) }

func (r Report) counted(provider string) *doc.Usage {
	return &doc.Usage{
		Source: SourceReported, Confidence: "high", Provider: provider,
		InputTokens: r.Input, CachedInputTokens: r.Cached, OutputTokens: r.Output, ReasoningOutputTokens: r.Reasoning,
		TotalTokens: r.Total, CapturedFromEventType: r.Captured,
	}
}

// Estimate estimates usage from the lengths of the input and output in UTF-16 code units.
func Estimate(provider string, input, output int64) *doc.Usage {
	quarter := func(n int64) *int64 { return new((n + 3) / 4) }
	u := &doc.Usage{
		Source: SourceEstimated, Confidence: "low", EstimateMethod: EstimateMethod, Provider: provider,
		InputTokens: quarter(input), OutputTokens: quarter(output),
	}
	u.TotalTokens = *u.InputTokens + *u.OutputTokens
	return u
}

// maxDepth is the nesting limit of the search for reports.
const maxDepth = 8

// find searches a value depth-first and calls found for each report, in order.
func find(v *shape.Value, depth int, found func(Report)) {
	switch v.Kind {
	case shape.Map:
		if own, ok := counters(v); ok && hasTokens(v) {
			captured := ""
			if t := v.Get("type"); t.Kind == shape.String {
				captured = strings.ToValidUTF8(t.Text, "\uFFFD") // for an unpaired surrogate
			}
			found(Report{Counters: own, Captured: captured})
		}
		for _, name := range []string{"tokenUsage", "last_token_usage", "total_token_usage", "usage"} {
			if inner := v.Get(name); inner.Kind == shape.Map {
				if c, ok := counters(inner); ok {
					found(Report{Counters: c, Captured: name})
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
	for _, name := range []string{"total_tokens", "input_tokens", "output_tokens", "prompt_tokens", "completion_tokens"} { // not the camel-case forms: their protocol names its reports (tokenUsage)
		if v.Get(name).Kind != shape.Absent {
			return true
		}
	}
	return false
}

// counters parses an object's counters into parts that do not overlap. ok is false if there are
// none. The names determine the overlap. Under OpenAI's and gemini's names, cached and reasoning
// tokens are parts of input and output. Under Anthropic's names, cached tokens are separate.
func counters(v *shape.Value) (c Counters, ok bool) {
	c.Input = first(v, "input_tokens", "prompt_tokens", "inputTokens")
	c.Output = first(v, "output_tokens", "completion_tokens", "outputTokens")
	total := first(v, "total_tokens", "totalTokens")
	switch {
	case v.Get("cache_read_input_tokens").Kind != shape.Absent || v.Get("cache_creation_input_tokens").Kind != shape.Absent:
		c.CacheWrite = count(v.Get("cache_creation_input_tokens"))
		c.Input = sum(c.Input, c.CacheWrite)
		c.Cached = count(v.Get("cache_read_input_tokens"))
		if c.Cached == nil {
			c.Cached = count(v.Get("cached_input_tokens"))
		}
		c.Reasoning = count(v.Get("reasoning_output_tokens"))
		if thinking := count(v.Get("output_tokens_details").Get("thinking_tokens")); c.Reasoning == nil && thinking != nil {
			c.Reasoning = thinking
		}
	default:
		c.Cached = first(v, "cached_input_tokens", "cachedInputTokens", "cached")
		c.CacheWrite = first(v, "cache_write_input_tokens", "cacheWriteInputTokens")
		for _, details := range []string{"input_tokens_details", "prompt_tokens_details", "inputTokensDetails"} {
			if c.Cached == nil {
				c.Cached = first(v.Get(details), "cached_tokens", "cachedTokens")
			}
			if c.CacheWrite == nil {
				c.CacheWrite = first(v.Get(details), "cache_write_tokens", "cacheWriteTokens")
			}
		}
		c.Reasoning = first(v, "reasoning_output_tokens", "reasoningOutputTokens")
		for _, details := range []string{"output_tokens_details", "completion_tokens_details", "outputTokensDetails"} {
			if c.Reasoning == nil {
				c.Reasoning = first(v.Get(details), "reasoning_tokens", "thinking_tokens", "reasoningTokens")
			}
		}
		if stated := v.Get("input"); v.Get("cached").Kind == shape.Number && stated.Kind == shape.Number && total != nil && c.Input != nil && c.Output != nil {
			// In gemini's stream, tokens that are neither input nor output are reasoning.
			if rest := *total - *c.Input - *c.Output; rest > 0 && c.Reasoning == nil {
				c.Reasoning = &rest
				return withTotal(c.disjointInput(), total)
			}
		}
		c = c.disjointInput()
	}
	return withTotal(c.disjointOutput(), total)
}

// disjointInput subtracts cached tokens from the input. A part larger than its whole must
// already be separate, so it is not subtracted.
func (c Counters) disjointInput() Counters {
	c.Input = subtract(c.Input, c.Cached)
	return c
}

// disjointOutput subtracts reasoning tokens from the output, with the same exception.
func (c Counters) disjointOutput() Counters {
	c.Output = subtract(c.Output, c.Reasoning)
	return c
}

func subtract(whole, part *int64) *int64 {
	if whole == nil || part == nil || *part > *whole {
		return whole
	}
	return new(*whole - *part)
}

func withTotal(c Counters, total *int64) (Counters, bool) {
	if total != nil {
		c.Total = *total
		return c, true
	}
	for _, n := range []*int64{c.Input, c.Cached, c.Output, c.Reasoning} {
		if n != nil {
			c.Total = addCounts(c.Total, *n)
		}
	}
	return c, c.Total > 0
}

// first returns the counter under the first name that has a value.
func first(v *shape.Value, names ...string) *int64 {
	for _, name := range names {
		if member := v.Get(name); member.Kind != shape.Absent && member.Kind != shape.Null {
			return count(member)
		}
	}
	return nil
}

// maxCount is the largest counter that a run's record can hold. Sums saturate at it.
const maxCount = 1<<53 - 1

func addCounts(a, b int64) int64 { return min(a+b, maxCount) }

// count parses a counter: a finite, non-negative number, rounded down. It returns nil for
// others.
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
	return new(addCounts(*a, *b))
}

// WholeOutput parses a report from output that is one JSON value, as gemini prints it. It
// searches the usual places, then the statistics of the models.
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

// modelStats sums stats.models.<name>.tokens. Report.Model is the model with the most tokens.
func modelStats(v *shape.Value) (r Report, ok bool) {
	models := v.Get("stats").Get("models")
	var total *int64
	most := int64(0)
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
		if tokens := count(tokens.Get("total")); tokens != nil && *tokens > most {
			most, r.Model = *tokens, models.Keys[i]
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

// OfRecord returns the counters in a record.
func OfRecord(u *doc.Usage) Counters {
	return Counters{Input: u.InputTokens, Cached: u.CachedInputTokens, Output: u.OutputTokens, Reasoning: u.ReasoningOutputTokens, Total: u.TotalTokens}
}
