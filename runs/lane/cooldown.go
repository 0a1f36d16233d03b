package lane

// Cooldowns: backoff for providers under pressure.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"time"

	"ac/internal/durable"
	"ac/internal/lazyregexp"
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
	maxCooldown = 1_800_000 // milliseconds, before jitter
	minCooldown = 1_000
	maxLevel    = 6
	// longest is the longest possible cooldown. A cooldown that ends later must have been
	// written before the clock was set back.
	longest = maxCooldown * 11 / 10
)

// base returns a class's first cooldown, in milliseconds, and its highest level.
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

// cooldown is the backoff of one provider for one class.
type cooldown struct {
	Provider string `json:"provider"`
	Class    Class  `json:"class"`
	Level    int    `json:"level"`
	UntilMS  int64  `json:"until_ms"`
}

func (c cooldown) active(nowMS int64) bool { return c.UntilMS > nowMS && c.UntilMS-nowMS <= longest }

// backOff returns the cooldowns after one more report of pressure. random is in [0, 1). It drops
// expired cooldowns and never shortens one.
func backOff(cooldowns []cooldown, provider string, class Class, nowMS int64, random float64) []cooldown {
	next, others := following(cooldowns, provider, class, nowMS)
	ms, levels := class.base()
	next.Level = min(next.Level, levels)
	ms = min(ms<<(next.Level-1), maxCooldown)
	ms = max(int64(float64(ms)*(0.9+0.2*random)), minCooldown)
	next.UntilMS = max(next.UntilMS, nowMS+ms)
	return append(others, next)
}

// coolUntil is under for a provider that named the end of its cooldown.
func coolUntil(cooldowns []cooldown, provider string, class Class, nowMS, untilMS int64) []cooldown {
	next, others := following(cooldowns, provider, class, nowMS)
	next.Level, next.UntilMS = max(next.Level-1, 1), max(next.UntilMS, untilMS)
	return append(others, next)
}

// following returns the next cooldown of a provider, and all others that have
// not expired.
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

// maxCooldowns is the size limit of the cooldowns file, in bytes.
const maxCooldowns = 1 << 20

// tailBytes is the length of the output's tail that Classify searches.
const tailBytes = 4 << 10

// signatures lists the patterns of each class, in the order of matching.
var signatures = []struct {
	class Class
	words func() *regexp.Regexp
}{
	{RateLimit, words(`rate limit|too many requests|429|quota exceeded|backoff`)},
	{Auth, words(`not logged in|authentication|unauthorized|forbidden`)},
	{Interactive, words(`waiting for approval|permission prompt|interactive`)},
	{Transient, words(`econnreset|etimedout|network|socket hang up`)},
}

// words returns a pattern that matches whole words, ignoring case. It is compiled at first use,
// because few processes classify a failure.
func words(alternatives string) func() *regexp.Regexp {
	return lazyregexp.New(`(?i)(?:^|[^\pL\pN_])(?:` + alternatives + `)(?:$|[^\pL\pN_])`)
}

// Classify searches the error text of a failure and the tail of its output for signs of
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

// Report handles the failure of a worker's attempt. If the failure shows pressure, the provider
// cools down. A login failure affects only one account and starts no cooldown. Report returns
// the class that started a cooldown, or "".
func (l *Lane) Report(ctx context.Context, provider, text, output string) (Class, error) {
	class, ok := Classify(text, output)
	if !ok || class == Auth {
		return "", nil
	}
	return class, l.Cool(ctx, provider, class)
}

// CoolFor delays the launches of a provider for as long as the provider asked, up to
// maxCooldown. The cooldown is durable on return and applies to all processes.
func (l *Lane) CoolFor(ctx context.Context, provider string, class Class, wait time.Duration) error {
	return l.change(ctx, provider, func(cooldowns []cooldown, now int64) []cooldown {
		return coolUntil(cooldowns, provider, class, now, now+min(max(wait.Milliseconds(), minCooldown), maxCooldown))
	})
}

// Cool delays the launches of a provider, with exponential backoff if it is already cooling
// down. The cooldown is durable on return and applies to all processes.
func (l *Lane) Cool(ctx context.Context, provider string, class Class) error {
	return l.change(ctx, provider, func(cooldowns []cooldown, now int64) []cooldown {
		return backOff(cooldowns, provider, class, now, l.random())
	})
}

// change updates the cooldowns file under the lane's lock.
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

// Cooldown returns the time until which a provider's launches are delayed. ok is false if they
// are not delayed.
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

// OnWorker returns the key of a provider's cooldowns on another machine, which may use another
// account.
func OnWorker(provider, workerID string) string { return provider + "@" + workerID }

// Elsewhere returns the provider key for launches that other machines execute. It never cools
// down on this machine.
func Elsewhere(provider string) string { return OnWorker(provider, "") }

// Cooling returns a function that reports whether a provider is delayed now. Unreadable
// cooldowns delay none.
func (l *Lane) Cooling() func(provider string) bool {
	cooldowns, _ := l.readCooldowns()
	now := l.w.Env.Clock.Now().UnixMilli()
	return func(provider string) bool {
		return slices.ContainsFunc(cooldowns, func(c cooldown) bool { return c.Provider == key(provider) && c.active(now) })
	}
}

// readCooldowns reads the cooldowns file. An invalid file counts as empty, and the next report
// replaces it.
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
