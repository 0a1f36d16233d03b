package usage

// Usage in notifications of the codex app server.

import (
	"strings"

	"ac/internal/lazyregexp"
	"ac/internal/shape"
)

// capturedFrom is the notification in which an app server reports usage.
const capturedFrom = "thread/tokenUsage/updated"

// AppServer parses the usage of a thread from raw JSON. It uses the total if present, else the
// last turn, else the object itself.
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

// Sum returns the total usage of a session's threads.
func Sum(threads map[string]Report) Report {
	total := Report{Captured: capturedFrom}
	for _, r := range threads {
		total.Counters = total.Plus(r.Counters)
	}
	return total
}

var cycleMethod = lazyregexp.New(`compact|compaction|context.?window|cycle`)

// NotificationCycles returns the cycle signals in a notification's params. If there are none but
// the method itself is a signal, it returns that one.
func NotificationCycles(method string, params []byte) []Cycle {
	var found []Cycle
	if v, ok := parse(params); ok {
		found = signals(&v, FromNotification)
	}
	if method = strings.ToLower(method); len(found) == 0 && cycleMethod().MatchString(method) {
		found = []Cycle{{Count: 1, Type: method, Source: FromNotification}}
	}
	return found
}

// Take adds reports and cycles from sources other than output lines. It returns the new ones.
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
