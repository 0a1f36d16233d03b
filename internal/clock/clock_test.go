package clock

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-11-20T14:58:45.475Z":            "2026-11-20T14:58:45.475Z",
		"2026-11-20T14:58":                    "2026-11-20T14:58:00.000Z",
		"2026-11-20T14:58Z":                   "2026-11-20T14:58:00.000Z",
		"2026-11-20T14:58+02:00":              "2026-11-20T12:58:00.000Z",
		"2026-11-20T14:58:45":                 "2026-11-20T14:58:45.000Z",
		"2026-11-20T14:58:45.5-01:30":         "2026-11-20T16:28:45.500Z",
		"2026-11-20T14:58:45.123456789Z":      "2026-11-20T14:58:45.123Z",
		"2024-02-29T23:59:59.999Z":            "2024-02-29T23:59:59.999Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000Z",
		"2026-11-20T00:30:00.123456789+14:00": "2026-11-19T10:30:00.123Z",
	} {
		if at, ok := Parse(in); !ok || Stamp(at) != want {
			t.Errorf("%s: %s, %v", in, Stamp(at), ok)
		}
	}
	for _, in := range []string{
		"", "2026-11-20", "2026-11-20 14:58:45Z", "2026-11-20t14:58:45Z", "2026-11-20T14:58:45z", "2026-11-20T24:00:00Z",
		"2026-11-20T14:58:45+0200", "2026-11-20T14:58:45+02", "2026-02-30T00:00:00Z", "2025-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
		"2026-11-20T14:60:00Z", "2026-11-20T14:58:60Z", "2026-11-20T14:58:45.Z", "2026-11-20T14:58:45,5Z", "2026-11-20T14:58.5Z",
		"2026-11-20T14Z", "2026-11-20T14:58:45+24:00", "2026-11-20T14:58:45+05:60", "2026-11-20T4:58:45Z", "26-11-20T14:58:45Z", "2026-11-20T14:58:45ZZ", "2026-11-20T14:58:45Z ", " 2026-11-20T14:58:45Z",
		"2026-11-20T14:58:45+02:00Z", "2026-11-20T14:58:4", "2026-11-20T14:58:45.1.2Z", "2026-11-20T14:58:45+25:00", "２０２６-11-20T14:58:45Z",
	} {
		if at, ok := Parse(in); ok {
			t.Errorf("%q was read as %s", in, Stamp(at))
		}
	}
}

func TestStampsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 253402300799999).Draw(t, "ms"))
		offset := rapid.IntRange(-14*60, 14*60).Draw(t, "offset")
		if got, ok := Parse(Stamp(at)); !ok || !got.Equal(at) {
			t.Fatalf("%s: %v, %v", Stamp(at), got, ok)
		}
		local := at.In(time.FixedZone("", offset*60))
		text := local.Format("2006-01-02T15:04:05.000-07:00")
		if got, ok := Parse(text); ok != (len(text) == len("2006-01-02T15:04:05.000-07:00")) || (ok && !got.Equal(at)) {
			t.Fatalf("%s: %v, %v", text, got, ok)
		}
	})
}

// TestStampsAreReadAlike compares the fast parser with the general one, on texts that are almost
// timestamps.
func TestStampsAreReadAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := func(width, most int) string {
			return fmt.Sprintf("%0*d", width, rapid.IntRange(0, most).Draw(t, "n"))
		}
		text := []byte(number(4, 9999) + "-" + number(2, 14) + "-" + number(2, 33) + "T" + number(2, 25) + ":" + number(2, 61) + ":" + number(2, 61) + "." + number(3, 999) + "Z")
		if rapid.Bool().Draw(t, "odd") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte("0123459 -+:.,TZtz")).Draw(t, "byte")
		}
		quick, ok := parseStamp(string(text))
		want, legal := parse(string(text))
		if ok && (!legal || quick != want) {
			t.Fatalf("%s: %v instead of %v, %v", text, quick, want, legal)
		}
		if read, readOK := Parse(string(text)); readOK != legal || read != want {
			t.Fatalf("%s: %v, %v instead of %v, %v", text, read, readOK, want, legal)
		}
	})
}

func TestMonotonicNeverGoesBack(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	c := New(func() time.Time { return now }, 1000)
	for _, step := range []struct {
		to   time.Duration
		want int64
	}{{0, 1000}, {1500 * time.Microsecond, 1001}, {-time.Hour, 1000}, {time.Minute, 61000}} {
		now = c.start.Add(step.to)
		if got := c.MonotonicMS(); got != step.want {
			t.Errorf("%s", fmt.Sprintf("at %v: %d, want %d", step.to, got, step.want))
		}
	}
}

// TestTimers checks that a clock with its own timers uses them, as does a clock derived from it.
func TestTimers(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	c := System().WithTimers(func(d time.Duration, do func()) Timer {
		waits = append(waits, d)
		do()
		return time.NewTimer(0)
	})
	rang := 0
	for _, of := range []*Clock{c, c.From(7)} {
		of.AfterFunc(time.Hour, func() { rang++ })
	}
	if rang != 2 || len(waits) != 2 || waits[1] != time.Hour {
		t.Errorf("%d, %v", rang, waits)
	}
	done := make(chan struct{})
	System().AfterFunc(0, func() { close(done) })
	<-done
}
