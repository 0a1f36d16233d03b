package usage

// Collecting usage from lines of output.

import (
	"bytes"

	"ac/internal/canonjson"
	"ac/internal/param"
	"ac/internal/shape"
	"ac/workspace/doc"
)

const (
	// maxLine is the length limit of a searched line, in bytes. Longer lines are skipped.
	maxLine = 8 << 20
	// maxNesting is the nesting limit of a searched line. Deeper lines are skipped.
	maxNesting = 512
	// maxWhole is the size limit of output parsed as a single value, in bytes.
	maxWhole = 16 << 20
)

// News holds what a line reported for the first time.
type News struct {
	Cycles  []Cycle
	Reports []Report
}

// Collector collects the usage of one run from its output. It is not safe for
// concurrent use.
type Collector struct {
	seen    map[key]bool
	best    *Report
	steps   steps
	cost    *float64 // the last cost that the agent reported
	signals map[Cycle]bool
	taken   []Cycle
	lower   []byte // the current line in lower case
}

// NewCollector returns an empty collector.
func NewCollector() *Collector {
	return &Collector{seen: map[key]bool{}, signals: map[Cycle]bool{}}
}

// Line searches one line of output for usage and cycles. It ignores lines that are not JSON.
func (c *Collector) Line(line []byte) (news News) {
	line = bytes.TrimSpace(line)
	if len(line) > maxLine || !c.worthReading(line) {
		return news
	}
	v, ok := parse(line)
	if !ok {
		return news
	}
	take := func(r Report) {
		r.Model = c.steps.model
		if c.add(r) {
			news.Reports = append(news.Reports, r)
		}
	}
	if v.Kind == shape.Map {
		news.Cycles = c.take(signals(&v, FromJSONL))
		c.price(&v)
		if r, ok, mine := c.steps.line(&v); mine {
			if ok {
				take(r)
			}
			return news
		}
	}
	find(&v, 0, take)
	return news
}

// price records the cumulative cost in a line, if any.
func (c *Collector) price(v *shape.Value) {
	if cost := v.Get("total_cost_usd"); cost.Kind == shape.Number && cost.Num >= 0 && cost.Num < maxCount {
		c.cost = new(cost.Num)
	}
	if cost, ok := c.steps.priced(v); ok {
		c.cost = &cost
	}
}

// worthReading is a cheap filter. It reports whether a line contains one of the words in telling,
// ignoring case. Escaped letters could hide such a word, so a line with them passes.
func (c *Collector) worthReading(line []byte) bool {
	if len(line) < 2 || (line[0] != '{' && line[0] != '[') {
		return false
	}
	c.lower = append(c.lower[:0], line...)
	for i, b := range c.lower {
		if b >= 'A' && b <= 'Z' {
			c.lower[i] = b | 0x20
		}
	}
	for _, word := range telling {
		if bytes.Contains(c.lower, word) {
			return true
		}
	}
	return false
}

// telling lists the suffixes of report keys and the words of cycles.
var telling = [][]byte{
	[]byte(`usage"`), []byte(`tokens"`), []byte(`cost`), []byte(`message_start`), []byte("compact"), []byte("cycle"), []byte("window"), []byte(`\u00`),
}

// parse parses a JSON value, unless its nesting exceeds maxNesting.
func parse(text []byte) (shape.Value, bool) {
	end, err := canonjson.Value(text, 0)
	if err != nil || len(bytes.TrimSpace(text[end:])) > 0 || canonjson.Depth(text) > maxNesting {
		return shape.Value{}, false
	}
	return param.Parse(text), true
}

// add records a report and returns whether it is new.
func (c *Collector) add(r Report) bool {
	if c.seen[r.key()] {
		return false
	}
	c.seen[r.key()] = true
	if c.best == nil || r.Total > c.best.Total {
		c.best = &r
	}
	return true
}

func (c *Collector) take(found []Cycle) (fresh []Cycle) {
	for _, signal := range found {
		if !signal.boundary {
			if c.signals[signal] {
				continue
			}
			c.signals[signal] = true
		}
		c.taken = append(c.taken, signal)
		fresh = append(fresh, signal)
	}
	return fresh
}

// Whole parses all of stdout as one value, if no line reported usage.
func (c *Collector) Whole(stdout []byte) (r Report, ok bool) {
	stdout = bytes.TrimSpace(stdout)
	if c.best != nil || len(stdout) > maxWhole {
		return r, false
	}
	v, ok := parse(stdout)
	if !ok {
		return r, false
	}
	if r, ok = WholeOutput(&v); ok {
		c.add(r)
	}
	return r, ok
}

// Best returns the report that counts for the run, with the last reported cost; nil if there is
// none.
func (c *Collector) Best() *Report {
	if c.best == nil {
		return nil
	}
	best := *c.best
	best.CostUSD = c.cost
	return &best
}

// ContextCycles returns the summary of the cycle signals for the run's record.
func (c *Collector) ContextCycles() *doc.ContextCycles { return cycles(c.taken) }
