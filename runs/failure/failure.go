// Package failure extracts why an agent failed from its output, and classifies the failure.
package failure

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ac/internal/clip"
	"ac/internal/lazyregexp"
	"ac/internal/terminal"
)

// Kinds of failures, as in records and payloads.
const (
	Auth       = "auth"
	Quota      = "quota"
	RateLimit  = "rate_limit"
	Overloaded = "overloaded"
	Context    = "context"
	Trust      = "trust"
	Refused    = "refused"
	Network    = "network"
	Crash      = "crash"
	Unknown    = "unknown"
)

// MaxWords bounds Failure.Text, in bytes.
const MaxWords = 2 << 10

// Failure describes why an agent failed.
type Failure struct {
	Text string // the agent's message, at most MaxWords bytes
	Kind string
	// RetryAfter is the delay that the provider asked for, 0 if it named none.
	RetryAfter time.Duration
}

// Collector collects the errors that an agent reports while it runs. The zero value is ready for
// use. It is not safe for concurrent use.
type Collector struct {
	text   string
	status int
	code   string
	done   bool // the agent gave up
	retry  time.Duration
	last   string // the error code of the last retry
}

// Report records an error that the agent may still recover from.
func (f *Collector) Report(text string, status int, code string) {
	if f.done {
		return
	}
	if strings.TrimSpace(text) != "" {
		f.text = text
	}
	f.status, f.code = cmp.Or(status, f.status), cmp.Or(code, f.code)
}

// Final records the error that ended the agent's work. Missing fields keep the values of earlier
// errors.
func (f *Collector) Final(text string, status int, code string) {
	f.done = false
	f.Report(text, status, code)
	f.done = true
}

// Retrying records an error after which the agent retries by itself.
func (f *Collector) Retrying(code string, status int) {
	f.status, f.code, f.last = cmp.Or(status, f.status), cmp.Or(code, f.code), code
}

// Recovered reports that the agent continued. It discards all errors except a final one.
func (f *Collector) Recovered() {
	if !f.done {
		*f = Collector{}
	}
}

// After parses the seconds in a provider's Retry-After header.
func (f *Collector) After(text string) {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && seconds > 0 && seconds < 1e6 {
		f.retry = time.Duration(seconds * float64(time.Second))
	}
}

// Found returns the failure, nil if there is none. If the agent reported no error, Found uses
// stderr.
func (f *Collector) Found(stderr string) *Failure {
	text := strings.TrimSpace(f.text)
	if text == "" && f.last != "" {
		text = f.last
		if f.status != 0 {
			text += " (HTTP status " + strconv.Itoa(f.status) + ")"
		}
	}
	words := text
	if text == "" {
		text = lastWords(stderr)
		words = text
	}
	if text == "" {
		return nil
	}
	found := &Failure{Text: clip.Head(text, MaxWords), Kind: kindOf(words, f.status, f.code), RetryAfter: f.retry}
	if found.RetryAfter == 0 {
		found.RetryAfter = retryAfter(words)
	}
	return found
}

// lastWords returns stderr without blank lines, JSON log lines and stack frames.
func lastWords(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		line = terminal.Plain(line)
		if line == "" || line[0] == '{' || strings.HasPrefix(line, "at ") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// Classify returns the kind of a failure, judged by its message alone.
func Classify(words string) string { return kindOf(words, 0, "") }

// kindOf classifies a failure by its error code, else by unambiguous words in the message, else
// by the HTTP status, else by likely words.
func kindOf(words string, status int, code string) string {
	if kind, ok := codes()[code]; ok {
		return kind
	}
	words = strings.ToLower(words)
	for _, c := range certain {
		if c.words().MatchString(words) {
			return c.kind
		}
	}
	switch {
	case status == 401 || status == 403:
		return Auth
	case status == 402:
		return Quota
	case status == 413:
		return Context
	case status == 429:
		return RateLimit
	case status >= 500 && status < 600:
		return Overloaded
	}
	for _, c := range likely {
		if c.words().MatchString(words) {
			return c.kind
		}
	}
	return Unknown
}

// codes maps the error codes of agents to kinds.
func codes() map[string]string {
	return map[string]string{
		Refused: Refused,
		// claude
		"authentication_failed": Auth, "oauth_org_not_allowed": Auth, "billing_error": Quota,
		"rate_limit": RateLimit, "overloaded": Overloaded, "server_error": Overloaded, "max_output_tokens": Context,
		// codex
		"unauthorized": Auth, "usageLimitExceeded": Quota, "contextWindowExceeded": Context,
		"serverOverloaded": Overloaded, "internalServerError": Overloaded, "cyberPolicy": Refused,
		// gemini
		"FatalAuthenticationError": Auth, "FatalUntrustedWorkspaceError": Trust,
		// opencode
		"ProviderAuthError": Auth, "ContextOverflowError": Context, "ContentFilterError": Refused,
	}
}

// signature matches the words of one kind in a lowercase message. Patterns are compiled at first
// use, because few processes classify a failure.
type signature struct {
	kind  string
	words func() *regexp.Regexp
}

// certain holds words that take precedence over an HTTP status.
var certain = []signature{
	{Trust, lazyregexp.New(`not (running in |inside )?(a )?trusted (directory|folder)|untrusted (folder|workspace|directory)|folder is not trusted|do you trust`)},
	{Context, lazyregexp.New(`context (window|length)|maximum context|prompt is too long|input is too long|too many (input )?tokens|exceeds the maximum number of tokens`)},
	{Quota, lazyregexp.New(`insufficient_quota|exceeded your current quota|quota exceeded|usage limit|credit balance|billing|out of credits|daily limit`)},
	{Refused, lazyregexp.New(`content[_ -]filter|(usage|content) polic(y|ies)|flagged (for|as) (possible|potential)|blocked due to safety`)},
	{Auth, lazyregexp.New(`not logged in|please (run )?/login|api key not valid|invalid (api key|x-api-key|auth method|bearer token)|incorrect api key|no auth(entication)? (credentials|method)|please set an auth method|token (has )?expired|token could not be refreshed|sign in again|authentication_error|unauthorized`)},
}

// likely holds words that classify a failure without a known HTTP status.
var likely = []signature{
	{RateLimit, lazyregexp.New(`\b429\b|rate[ _-]?limit|too many requests|resource_exhausted|throttl|suggested retry after|please wait and try again`)},
	{Overloaded, lazyregexp.New(`\b(500|502|503|504|529)\b|overloaded|high demand|service unavailable|internal server error|bad gateway|temporarily unavailable`)},
	{Auth, lazyregexp.New(`\b(401|403)\b|authenticat|forbidden|permission denied|credential|log ?in`)},
	{Network, lazyregexp.New(`econnre(fused|set)|etimedout|enotfound|eai_again|connection (refused|reset|error|closed)|network|socket hang up|fetch failed|error sending request|stream disconnected|timed? ?out|unable to connect|dns`)},
	{Refused, lazyregexp.New(`\brefus(al|ed to (answer|respond))|safety`)},
	{Crash, lazyregexp.New(`panic|segmentation fault|out of memory|unhandled|uncaught|fatal error`)},
}

var retryWords = lazyregexp.New(`(?i)(?:retry|try again|retrydelay"?:?)[^0-9]{0,24}(\d+(?:\.\d+)?) ?(ms|milliseconds?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?|h(?:ours?)?)\b`)

// retryAfter returns the delay named in an agent's message, 0 if there is none.
func retryAfter(words string) time.Duration {
	m := retryWords().FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n > 1e6 {
		return 0
	}
	unit := time.Second
	switch {
	case strings.HasPrefix(strings.ToLower(m[2]), "ms"), strings.HasPrefix(strings.ToLower(m[2]), "mil"):
		unit = time.Millisecond
	case strings.HasPrefix(strings.ToLower(m[2]), "m"):
		unit = time.Minute
	case strings.HasPrefix(strings.ToLower(m[2]), "h"):
		unit = time.Hour
	}
	return time.Duration(n * float64(unit))
}
