// Package clock is the only source of time in ac. It has the wall clock, for display, and a
// monotonic count of milliseconds since the process began, for intervals and the
// ts_monotonic_ms of events. No other code calls time.Now.
package clock

import (
	"math"
	"time"
)

// Clock is a source of time. It is immutable and safe for concurrent use.
type Clock struct {
	now    func() time.Time
	start  time.Time
	base   int64
	timers func(d time.Duration, do func()) Timer // nil for those of Go
}

// Timer is a call that is scheduled on a clock.
type Timer interface {
	// Stop cancels the call. It returns false if the call has started, or was canceled, before.
	Stop() bool
}

// WithTimers returns the clock with another source of timers, for tests in which a day passes
// at once.
func (c *Clock) WithTimers(timers func(d time.Duration, do func()) Timer) *Clock {
	made := *c
	made.timers = timers
	return &made
}

// AfterFunc calls do in another goroutine once d has passed on the clock.
func (c *Clock) AfterFunc(d time.Duration, do func()) Timer {
	if c.timers != nil {
		return c.timers(d, do)
	}
	return time.AfterFunc(d, do)
}

// New returns a clock over now whose monotonic count begins at base milliseconds. A supervisor
// passes the count of the process that launched it, and continues that count.
func New(now func() time.Time, base int64) *Clock {
	return &Clock{now: now, start: now(), base: base}
}

// System returns the clock of this machine, counting from zero.
func System() *Clock { return New(time.Now, 0) }

// Stopped returns a clock stopped at the present time of c, for documents in which all times
// are equal.
func (c *Clock) Stopped() *Clock {
	now := c.now()
	return New(func() time.Time { return now }, c.MonotonicMS())
}

// From returns a clock over the same source whose monotonic count begins at base milliseconds
// now.
func (c *Clock) From(base int64) *Clock { return New(c.now, base).WithTimers(c.timers) }

// Now returns the wall-clock time.
func (c *Clock) Now() time.Time { return c.now() }

// MonotonicMS returns the whole milliseconds since the process began. The count never
// decreases, whatever happens to the wall clock.
func (c *Clock) MonotonicMS() int64 {
	return c.base + max(0, c.now().Sub(c.start).Milliseconds())
}

// Since returns the time since t, by the monotonic reading of t.
func (c *Clock) Since(t time.Time) time.Duration { return c.now().Sub(t) }

// Layout is the format in which ac writes timestamps: UTC, milliseconds, Z.
const Layout = "2006-01-02T15:04:05.000Z"

// Stamp formats a timestamp: 2026-11-20T14:58:45.475Z.
func Stamp(t time.Time) string { return t.UTC().Format(Layout) }

// parseStamp is a fast path for timestamps in the format of Stamp, which nearly all have.
func parseStamp(s string) (time.Time, bool) {
	if len(s) != len("2006-01-02T15:04:05.000Z") {
		return time.Time{}, false
	}
	const pattern = "0000-00-00T00:00:00.000Z"
	var n [7]int // year, month, day, hour, minute, second, milliseconds
	part := 0
	for i := range len(s) {
		switch {
		case pattern[i] != '0':
			if s[i] != pattern[i] {
				return time.Time{}, false
			}
			part++
		case s[i] < '0' || s[i] > '9':
			return time.Time{}, false
		default:
			n[part] = n[part]*10 + int(s[i]-'0')
		}
	}
	if n[3] > 23 || n[4] > 59 || n[5] > 59 {
		return time.Time{}, false
	}
	at := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*int(time.Millisecond), time.UTC)
	return at, at.Month() == time.Month(n[1]) && at.Day() == n[2] // a date that does not exist rolls over into the next month
}

// Parse parses a timestamp in the syntax that the formats of ac allow: a real calendar date, an
// upper-case T, HH:MM with optional seconds and fraction, and Z, an offset written +HH:MM, or
// nothing, which means UTC.
func Parse(s string) (time.Time, bool) {
	if at, ok := parseStamp(s); ok {
		return at, true
	}
	return parse(s)
}

func parse(s string) (time.Time, bool) {
	// time.Parse accepts an hour of one digit.
	if len(s) < len("2006-01-02T15:04") || s[10] != 'T' || s[13] != ':' {
		return time.Time{}, false
	}
	body, zone := s, ""
	switch {
	case s[len(s)-1] == 'Z':
		body, zone = s[:len(s)-1], "Z"
	case len(s) > 6 && (s[len(s)-6] == '+' || s[len(s)-6] == '-') && s[len(s)-3] == ':':
		body, zone = s[:len(s)-6], s[len(s)-6:]
	}
	layout := "2006-01-02T15:04:05"
	if len(body) == len("2006-01-02T15:04") {
		layout = "2006-01-02T15:04"
	}
	for i, r := range body {
		if r == ',' || (r == '.' && (i != 19 || i == len(body)-1)) {
			return time.Time{}, false
		}
	}
	switch zone {
	case "":
		t, err := time.Parse(layout, body)
		return t, err == nil
	case "Z":
		t, err := time.Parse(layout+"Z", body+"Z")
		return t, err == nil
	default:
		if zone[1:3] > "23" || zone[4:6] > "59" { // time.Parse accepts 24:00 and :60
			return time.Time{}, false
		}
		t, err := time.Parse(layout+"-07:00", body+zone)
		return t, err == nil
	}
}

// Nanos returns a time in Unix nanoseconds, for comparing times. Years outside 1678 to 2261
// saturate.
func Nanos(t time.Time) int64 {
	switch year := t.UTC().Year(); {
	case year < 1678:
		return math.MinInt64 + 1
	case year > 2261:
		return math.MaxInt64
	}
	return t.UnixNano()
}

// ParseDate parses a timestamp, or a date, which means midnight UTC.
func ParseDate(s string) (time.Time, bool) {
	if len(s) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, s)
		return t, err == nil
	}
	return Parse(s)
}
