package lane

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pressure is one failure report. The reference model of cooldowns computes levels and ends
// from all reports.
type pressure struct {
	provider string
	class    Class
	at       int64
	random   float64
}

// told returns when the cooldown of a provider and class ends, and its level.
func told(reports []pressure, provider string, class Class) (until int64, level int) {
	table := map[Class]struct {
		base   float64
		levels int
	}{RateLimit: {300_000, 6}, Transient: {60_000, 6}, Interactive: {120_000, 6}, Auth: {1_800_000, 1}}
	for _, r := range reports {
		if r.provider != provider || r.class != class {
			continue
		}
		if until > r.at {
			level++
		} else {
			level, until = 1, 0
		}
		level = min(level, table[class].levels)
		ms := table[class].base
		for range level - 1 {
			ms *= 2
		}
		ms = max(min(ms, 1_800_000)*(0.9+0.2*r.random), 1000)
		until = max(until, r.at+int64(ms))
	}
	return until, level
}

func TestCooldownModel(t *testing.T) {
	t.Parallel()
	classes := []Class{RateLimit, Auth, Interactive, Transient}
	for range 20 { // times rapid's hundred cases
		rapid.Check(t, func(t *rapid.T) {
			var cooldowns []cooldown
			var reports []pressure
			now := int64(1_800_000_000_000)
			for range rapid.IntRange(1, 15).Draw(t, "reports") {
				now += rapid.Int64Range(0, 700_000).Draw(t, "later")
				r := pressure{
					rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "provider"), rapid.SampledFrom(classes).Draw(t, "class"),
					now, rapid.Float64Range(0, 0.999).Draw(t, "random"),
				}
				reports = append(reports, r)
				cooldowns = backOff(cooldowns, r.provider, r.class, r.at, r.random)
				for _, provider := range []string{"", "a", "b"} {
					for _, class := range classes {
						until, level := told(reports, provider, class)
						var have *cooldown
						for i, c := range cooldowns {
							if c.Provider == provider && c.Class == class && c.active(now) {
								have = &cooldowns[i]
							}
						}
						switch {
						case until <= now && have != nil:
							t.Fatalf("%s/%s cools down to %d at %d, want none", provider, class, have.UntilMS, now)
						case until > now && (have == nil || have.UntilMS != until || have.Level != level):
							t.Fatalf("%s/%s: %+v at %d, want level %d until %d", provider, class, have, now, level, until)
						}
					}
				}
			}
		})
	}
}

// TestClockSetBack checks that a cooldown is ignored if its end is further away than any
// cooldown lasts.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	cooldowns := backOff(nil, "a", RateLimit, 10_000_000_000, 0.5)
	if !cooldowns[0].active(10_000_000_000) {
		t.Error("a fresh cooldown is not active")
	}
	if cooldowns[0].active(5_000_000_000) {
		t.Error("a cooldown from the future holds launches back")
	}
}

func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, output string
		want         Class
	}{
		{"Rate Limit reached", "", RateLimit},
		{"", "HTTP 429", RateLimit},
		{"", "got 1429 rows in 4290 ms", ""},
		{"429", "unauthorized", RateLimit},
		{"unauthorized after backoff", "", RateLimit},
		{"401 Unauthorized, network down", "", Auth},
		{"you are NOT LOGGED IN.", "", Auth},
		{"the authentications", "", ""},
		{"an interactive shell on the network", "", Interactive},
		{"uninteractive", "", ""},
		{"read ECONNRESET", "", Transient},
		{"networking", "", ""},
		{"network_error", "", ""},
		{"éforbidden", "", ""},
		{"", "429" + strings.Repeat(".", tailBytes), ""},
		{"", "429" + strings.Repeat(".", tailBytes-3), RateLimit},
		{"", "", ""},
	} {
		if got, ok := Classify(c.text, c.output); got != c.want || ok != (c.want != "") {
			t.Errorf("Classify(%q, %d bytes) = %q, %v, want %q", c.text, len(c.output), got, ok, c.want)
		}
	}
}
