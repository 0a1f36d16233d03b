package usage

// Agents that report usage per step. The usage of a run is the sum over its steps. Claude
// reports each message of its model several times, with growing counters. It reports the sum
// only at the end, which a stopped run never reaches. Opencode reports each step once, and no
// sum.

import (
	"bytes"

	"ac/internal/shape"
)

// maxSteps bounds the tracked steps of a run. Further steps are not counted.
const maxSteps = 100_000

// synthetic is the model name in messages that claude generates without a model.
const synthetic = "<synthetic>"

// steps sums the usage of one run's steps.
type steps struct {
	byID    map[string]Counters
	sum     Counters
	message string             // claude's current streamed message
	model   string             // of claude's newest message, "" before the first
	others  bool               // claude used sub-agents
	costs   map[string]float64 // by opencode's step ids
	cost    float64
}

// line handles a line that reports a step. mine is false if the line needs the general search.
// ok is false if the line reported nothing new.
func (s *steps) line(v *shape.Value) (r Report, ok, mine bool) {
	switch kind := v.Get("type").Text; kind {
	case "stream_event":
		event := v.Get("event")
		if id := event.Get("message").Get("id"); id.Kind == shape.String {
			s.message = id.Text
		}
		usage := event.Get("usage")
		if usage.Kind != shape.Map {
			usage = event.Get("message").Get("usage")
		}
		if s.message == "" || event.Kind != shape.Map {
			return r, false, false
		}
		r, ok = s.add(s.message, usage, "stream_event")
		return r, ok, true
	case "result":
		if models := v.Get("modelUsage"); s.others && models.Kind == shape.Map {
			c, ok := modelCounters(models)
			return Report{Counters: c, Captured: "modelUsage"}, ok, true
		}
	case "assistant":
		message, sub := v.Get("message"), v.Get("parent_tool_use_id").Kind == shape.String
		s.others = s.others || sub
		if model := message.Get("model").Text; !sub && model != "" && model != synthetic {
			s.model = model
		}
		if id := message.Get("id"); id.Kind == shape.String && id.Text != "" && message.Get("usage").Kind == shape.Map {
			r, ok = s.add(id.Text, message.Get("usage"), "assistant")
			return r, ok, true
		}
	case "step_finish":
		part := v.Get("part")
		tokens := part.Get("tokens")
		if id := part.Get("id"); id.Kind == shape.String && tokens.Kind == shape.Map {
			r, ok = s.put(id.Text, stepTokens(tokens), "step_finish")
			return r, ok, true
		}
	}
	return r, false, false
}

// modelCounters sums the usage per model that claude reports at its end. Only this includes the
// full output of sub-agents. In a resumed conversation, it also includes earlier answers. It is
// therefore used only if there were sub-agents.
func modelCounters(models *shape.Value) (c Counters, ok bool) {
	for _, m := range models.Items {
		thought, out, written := count(m.Get("thinkingTokens")), count(m.Get("outputTokens")), count(m.Get("cacheCreationInputTokens"))
		c = c.Plus(Counters{
			Input: sum(count(m.Get("inputTokens")), written), Cached: count(m.Get("cacheReadInputTokens")),
			Output: Counters{Output: out}.Minus(Counters{Output: thought}).Output, Reasoning: thought, CacheWrite: written,
		})
	}
	return withTotal(c, nil)
}

// Turn sums the usage of the messages in one claude turn, because a turn's result can be
// incomplete. The result of an interrupted turn omits the unfinished message, and results omit
// sub-agents. The zero value is the start of a turn. Turn is not safe for concurrent use.
type Turn struct{ steps steps }

// Line processes one line of the turn's output.
func (t *Turn) Line(line []byte) {
	if len(line) > maxLine || !bytes.Contains(line, []byte(`"usage"`)) && !bytes.Contains(line, []byte(`"message_start"`)) {
		return
	}
	if v, ok := parse(line); ok && v.Kind == shape.Map && v.Get("type").Text != "result" {
		t.steps.line(&v)
	}
}

// Model returns the model of the turn's newest message, "" if there is none. Messages of
// sub-agents and synthetic messages do not count.
func (t *Turn) Model() string { return t.steps.model }

// Total returns the session's usage including this turn. before is the session's usage before
// the turn, and result is the usage in the turn's result. models is the result's modelUsage, the
// total of the conversation. baseline is the conversation's usage at the start of the session.
func (t *Turn) Total(before, result Counters, models []byte, baseline Counters) Counters {
	if t.steps.sum.Total > result.Total {
		result = t.steps.sum
	}
	sum := before.Plus(result)
	if v, ok := parse(models); ok && t.steps.others && v.Kind == shape.Map {
		if all, ok := modelCounters(&v); ok && all.Minus(baseline).Total > sum.Total {
			all = all.Since(baseline)
			if all.CacheWrite == nil {
				all.CacheWrite = sum.CacheWrite
			}
			return all
		}
	}
	return sum
}

// stepTokens parses the counters of an opencode step, which do not overlap.
func stepTokens(v *shape.Value) Counters {
	cache := v.Get("cache")
	written := count(cache.Get("write"))
	c := Counters{
		Input: sum(count(v.Get("input")), written), Cached: count(cache.Get("read")),
		Output: count(v.Get("output")), Reasoning: count(v.Get("reasoning")), CacheWrite: written,
	}
	c, _ = withTotal(c, nil) // a step of zeros adds nothing
	return c
}

// add adds the counters of a message, if usage contains any.
func (s *steps) add(id string, usage *shape.Value, captured string) (r Report, ok bool) {
	c, ok := counters(usage)
	if !ok {
		return r, false
	}
	return s.put(id, c, captured)
}

// put sets the counters of a step, unless known ones are at least as large.
func (s *steps) put(id string, c Counters, captured string) (r Report, ok bool) {
	if s.byID == nil {
		s.byID = map[string]Counters{}
	}
	before, known := s.byID[id]
	if c.Total == 0 || (known && c.Total <= before.Total) || (!known && len(s.byID) >= maxSteps) {
		return r, false
	}
	s.byID[id] = c
	s.sum = s.sum.Plus(c).Minus(before)
	return Report{Counters: s.sum, Captured: captured}, true
}

// Plus returns the sum of two sets of counters.
func (c Counters) Plus(o Counters) Counters {
	return Counters{
		sum(c.Input, o.Input), sum(c.Cached, o.Cached), sum(c.Output, o.Output), sum(c.Reasoning, o.Reasoning), addCounts(c.Total, o.Total),
		sum(c.CacheWrite, o.CacheWrite),
	}
}

// Minus subtracts counters. No result is below zero.
func (c Counters) Minus(o Counters) Counters {
	less := func(a, b *int64) *int64 {
		if a == nil || b == nil {
			return a
		}
		return new(max(0, *a-*b))
	}
	return Counters{
		less(c.Input, o.Input), less(c.Cached, o.Cached), less(c.Output, o.Output), less(c.Reasoning, o.Reasoning), max(0, c.Total-o.Total),
		less(c.CacheWrite, o.CacheWrite),
	}
}

// Since returns the usage since a baseline. Its CacheWrite is unknown if the baseline, for
// example one from a record, lacks it.
func (c Counters) Since(baseline Counters) Counters {
	rest := c.Minus(baseline)
	if baseline.Total > 0 && baseline.CacheWrite == nil {
		rest.CacheWrite = nil
	}
	return rest
}

// priced sums the costs of opencode's steps. Opencode reports a cost of zero if it does not know
// the price.
func (s *steps) priced(v *shape.Value) (total float64, ok bool) {
	part := v.Get("part")
	id, cost := part.Get("id"), part.Get("cost")
	if v.Get("type").Text != "step_finish" || id.Kind != shape.String || cost.Kind != shape.Number || !(cost.Num > 0) || cost.Num > maxCount {
		return 0, false
	}
	if s.costs == nil {
		s.costs = map[string]float64{}
	}
	if _, known := s.costs[id.Text]; known || len(s.costs) >= maxSteps {
		return s.cost, false
	}
	s.costs[id.Text] = cost.Num
	s.cost += cost.Num
	return s.cost, true
}
