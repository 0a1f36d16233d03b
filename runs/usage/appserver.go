package usage

// What the codex app server tells in its notifications.

import (
	"regexp"
	"strings"

	"ac/internal/shape"
)

// capturedFrom is the notification that carries an app server's usage.
const capturedFrom = "thread/tokenUsage/updated"

// AppServer reads the usage of a thread from raw JSON: the total where there is
// one, else the last turn's, else the object itself.
func AppServer(raw []byte) (Report, bool) {
	v, ok := parse(raw)
	if !ok {
		return Report{}, false
	}
	for _, name := range []string{"total", "last"} {
		if inner := v.Get(name); inner.Kind == shape.Map {
			v = *inner
			break
		}
	}
	c, ok := counters(&v)
	return Report{Counters: c, Captured: capturedFrom}, ok
}

// Sum adds up what threads of one session were charged with; each counts for itself.
func Sum(threads map[string]Report) Report {
	total := Report{Captured: capturedFrom}
	for _, r := range threads {
		total.Counters = total.Plus(r.Counters)
	}
	return total
}

var cycleMethod = regexp.MustCompile(`compact|compaction|context.?window|cycle`)

// NotificationCycles gives the signs of cycles in a notification: those of its
// params, else one for a method that is itself a sign.
func NotificationCycles(method string, params []byte) []Cycle {
	var found []Cycle
	if v, ok := parse(params); ok {
		found = signals(&v, FromNotification)
	}
	if method = strings.ToLower(method); len(found) == 0 && cycleMethod.MatchString(method) {
		found = []Cycle{{Count: 1, Type: method, Source: FromNotification}}
	}
	return found
}

// Take adds reports and cycles that did not come from lines of output, and
// gives those that are new.
func (c *Collector) Take(reports []Report, found []Cycle) (news News) {
	for _, r := range reports {
		if r.CostUSD != nil {
			c.cost = r.CostUSD
		}
		if c.add(r) {
			news.Reports = append(news.Reports, r)
		}
	}
	news.Cycles = c.take(found)
	return news
}
