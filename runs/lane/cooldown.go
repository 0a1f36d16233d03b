package lane

// Cooldowns: providers that are under pressure are left alone for a while.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"ac/internal/durable"
)

// Class is a kind of pressure.
type Class string

// The classes of pressure.
const (
	RateLimit   Class = "rate_limit"
	Auth        Class = "auth"
	Interactive Class = "interactive"
	Transient   Class = "transient"
)

const (
	maxCooldown = 1_800_000 // milliseconds, before the random factor
	minCooldown = 1_000
	maxLevel    = 6
	// longest is the longest cooldown that can be: an end further away was
	// written before the clock was set back.
	longest = maxCooldown * 11 / 10
)

// base is the first cooldown of a class in milliseconds, and its highest level.
func (c Class) base() (ms int64, levels int) {
	switch c {
	case Auth:
		return 1_800_000, 1
	case Interactive:
		return 120_000, maxLevel
	case Transient:
		return 60_000, maxLevel
	default: // RateLimit
		return 300_000, maxLevel
	}
}

// cooldown is how long the launches of a provider wait, for one class.
type cooldown struct {
	Provider string `json:"provider"`
	Class    Class  `json:"class"`
	Level    int    `json:"level"`
	UntilMS  int64  `json:"until_ms"`
}

func (c cooldown) active(nowMS int64) bool { return c.UntilMS > nowMS && c.UntilMS-nowMS <= longest }

// under gives the cooldowns after one more report of pressure; random is from 0
// up to 1. Those that are over are left out, and none becomes shorter.
func under(cooldowns []cooldown, provider string, class Class, nowMS int64, random float64) []cooldown {
	next, others := following(cooldowns, provider, class, nowMS)
	ms, levels := class.base()
	next.Level = min(next.Level, levels)
	ms = min(ms<<(next.Level-1), maxCooldown)
	ms = max(int64(float64(ms)*(0.9+0.2*random)), minCooldown)
	next.UntilMS = max(next.UntilMS, nowMS+ms)
	return append(others, next)
}

// until is under for a provider that named the time itself.
func until(cooldowns []cooldown, provider string, class Class, nowMS, untilMS int64) []cooldown {
	next, others := following(cooldowns, provider, class, nowMS)
	next.Level, next.UntilMS = max(next.Level-1, 1), max(next.UntilMS, untilMS)
	return append(others, next)
}

// following is the next cooldown of a provider, and those of all others that are
// not over.
func following(cooldowns []cooldown, provider string, class Class, nowMS int64) (next cooldown, others []cooldown) {
	next = cooldown{Provider: key(provider), Class: class, Level: 1}
	for _, c := range cooldowns {
		switch {
		case !c.active(nowMS):
		case c.Provider == next.Provider && c.Class == class:
			next.Level, next.UntilMS = c.Level+1, c.UntilMS
		default:
			others = append(others, c)
		}
	}
	return next, others
}

// maxCooldowns bounds the file of the cooldowns.
const maxCooldowns = 1 << 20

// tailBytes is how much of the end of an output is searched for signatures.
const tailBytes = 4 << 10

// signatures are the words of each class, in the order in which they are tried.
var signatures = []struct {
	class Class
	words func() *regexp.Regexp
}{
	{RateLimit, words(`rate limit|too many requests|429|quota exceeded|backoff`)},
	{Auth, words(`not logged in|authentication|unauthorized|forbidden`)},
	{Interactive, words(`waiting for approval|permission prompt|interactive`)},
	{Transient, words(`econnreset|etimedout|network|socket hang up`)},
}

// words matches alternatives that stand as whole words, in any case. It is made
// at its first use: few processes ever classify a failure.
func words(alternatives string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])(?:` + alternatives + `)(?:$|[^\pL\pN_])`)
	})
}

// Classify reads a failure's error text and the end of its output for signs of
// pressure.
func Classify(text, output string) (class Class, ok bool) {
	tail := output[max(0, len(output)-tailBytes):]
	for _, s := range signatures {
		if s.words().MatchString(text) || s.words().MatchString(tail) {
			return s.class, true
		}
	}
	return "", false
}

// Report takes the failure of a worker's attempt: when it shows pressure, the
// provider cools down. Failures to log in concern one account alone and are not
// counted. The class is "" when there was nothing to count.
func (l *Lane) Report(ctx context.Context, provider, text, output string) (Class, error) {
	class, ok := Classify(text, output)
	if !ok || class == Auth {
		return "", nil
	}
	return class, l.Cool(ctx, provider, class)
}

// CoolFor lets the launches of a provider wait for as long as it asked for, at
// most for the longest cooldown that there is. It is durable and holds in all
// processes.
func (l *Lane) CoolFor(ctx context.Context, provider string, class Class, wait time.Duration) error {
	return l.change(ctx, provider, func(cooldowns []cooldown, now int64) []cooldown {
		return until(cooldowns, provider, class, now, now+min(max(wait.Milliseconds(), minCooldown), maxCooldown))
	})
}

// Cool lets the launches of a provider wait, longer each time while it still
// cools down. It is durable and holds in all processes.
func (l *Lane) Cool(ctx context.Context, provider string, class Class) error {
	return l.change(ctx, provider, func(cooldowns []cooldown, now int64) []cooldown {
		return under(cooldowns, provider, class, now, l.random())
	})
}

// change rewrites the cooldowns.
func (l *Lane) change(ctx context.Context, provider string, next func(cooldowns []cooldown, nowMS int64) []cooldown) (err error) {
	if err := durable.MkdirAll(l.w.FS, dir, 0o755); err != nil {
		return fmt.Errorf("cool down %s: %w", provider, err)
	}
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return fmt.Errorf("cool down %s: %w", provider, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	cooldowns, err := l.readCooldowns()
	if err != nil {
		return err
	}
	text, err := json.Marshal(next(cooldowns, l.w.Env.Clock.Now().UnixMilli()))
	if err != nil {
		return err
	}
	return l.w.Replace(cooldownsFile, append(text, '\n'), 0o644)
}

// Cooldown is until when the launches of a provider wait; ok is false when they
// don't.
func (l *Lane) Cooldown(provider string) (until time.Time, ok bool, err error) {
	cooldowns, err := l.readCooldowns()
	if err != nil {
		return until, false, err
	}
	now, last := l.w.Env.Clock.Now().UnixMilli(), int64(0)
	for _, c := range cooldowns {
		if c.Provider == key(provider) && c.active(now) {
			last = max(last, c.UntilMS)
		}
	}
	return time.UnixMilli(last), last > 0, nil
}

// readCooldowns reads what was kept. A file that is none of ours tells nothing,
// and is replaced by the next report.
func (l *Lane) readCooldowns() ([]cooldown, error) {
	text, err := durable.ReadFile(l.w.FS, cooldownsFile, maxCooldowns)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the cooldowns of the launch lane: %w", err)
	}
	var cooldowns []cooldown
	if json.Unmarshal(text, &cooldowns) != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return slices.DeleteFunc(cooldowns, func(c cooldown) bool { return c.Level < 1 }), nil
}
