// Package failure knows why an agent failed, in its own words, and of which kind that is.
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

// Kinds of failures, as records and payloads name them.
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

// MaxWords bounds what is kept of an agent's words, in bytes.
const MaxWords = 2 << 10

// Failure is why an agent failed.
type Failure struct {
	Text string // in the agent's words, at most 2 KiB
	Kind string
	// RetryAfter is how long the provider asked to be left alone, 0 for no time.
	RetryAfter time.Duration
}

// Collector collects what an agent says of a failure while it goes on. Its zero value is ready
// for use. It is for one goroutine at a time.
type Collector struct {
	text   string
	status int
	code   string
	done   bool // the agent gave up
	retry  time.Duration
	last   string // what it was retrying
}

// Report takes an error that the agent may still get over.
func (f *Collector) Report(text string, status int, code string) {
	if f.done {
		return
	}
	if strings.TrimSpace(text) != "" {
		f.text = text
	}
	f.status, f.code = cmp.Or(status, f.status), cmp.Or(code, f.code)
}

// Final takes the error that ended the work of the agent. Where it has
// no status or kind, those of an earlier error stay.
func (f *Collector) Final(text string, status int, code string) {
	f.done = false
	f.Report(text, status, code)
	f.done = true
}

// Retrying takes an error that the agent gets over by itself.
func (f *Collector) Retrying(code string, status int) {
	f.status, f.code, f.last = cmp.Or(status, f.status), cmp.Or(code, f.code), code
}

// Recovered says that the agent went on.
func (f *Collector) Recovered() {
	if !f.done {
		*f = Collector{}
	}
}

// After keeps the time that a provider named in a header.
func (f *Collector) After(text string) {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && seconds > 0 && seconds < 1e6 {
		f.retry = time.Duration(seconds * float64(time.Second))
	}
}

// Found is the failure, with stderr for an agent that told none; nil where
// nothing says that anything failed.
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

// lastWords is the end of stderr that is no log and no stack.
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

// Classify is the kind of a failure that is known by its words alone.
func Classify(words string) string { return kindOf(words, 0, "") }

// kindOf judges by the error's own word, then by what the words name for sure,
// then by the HTTP status, then by the words.
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

// codes are errors that have a word of their own.
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

// signature is the words of a kind, in lower case. They are compiled at their first
// use: few processes ever judge a failure.
type signature struct {
	kind  string
	words func() *regexp.Regexp
}

// certain are words that say more than a status.
var certain = []signature{
	{Trust, lazyregexp.New(`not (running in |inside )?(a )?trusted (directory|folder)|untrusted (folder|workspace|directory)|folder is not trusted|do you trust`)},
	{Context, lazyregexp.New(`context (window|length)|maximum context|prompt is too long|input is too long|too many (input )?tokens|exceeds the maximum number of tokens`)},
	{Quota, lazyregexp.New(`insufficient_quota|exceeded your current quota|quota exceeded|usage limit|credit balance|billing|out of credits|daily limit`)},
	{Refused, lazyregexp.New(`content[_ -]filter|(usage|content) polic(y|ies)|flagged (for|as) (possible|potential)|blocked due to safety`)},
	{Auth, lazyregexp.New(`not logged in|please (run )?/login|api key not valid|invalid (api key|x-api-key|auth method|bearer token)|incorrect api key|no auth(entication)? (credentials|method)|please set an auth method|token (has )?expired|token could not be refreshed|sign in again|authentication_error|unauthorized`)},
}

// likely are words that tell the kind where no status does.
var likely = []signature{
	{RateLimit, lazyregexp.New(`\b429\b|rate[ _-]?limit|too many requests|resource_exhausted|throttl|suggested retry after|please wait and try again`)},
	{Overloaded, lazyregexp.New(`\b(500|502|503|504|529)\b|overloaded|high demand|service unavailable|internal server error|bad gateway|temporarily unavailable`)},
	{Auth, lazyregexp.New(`\b(401|403)\b|authenticat|forbidden|permission denied|credential|log ?in`)},
	{Network, lazyregexp.New(`econnre(fused|set)|etimedout|enotfound|eai_again|connection (refused|reset|error|closed)|network|socket hang up|fetch failed|error sending request|stream disconnected|timed? ?out|unable to connect|dns`)},
	{Refused, lazyregexp.New(`\brefus(al|ed to (answer|respond))|safety`)},
	{Crash, lazyregexp.New(`panic|segmentation fault|out of memory|unhandled|uncaught|fatal error`)},
}

var retryWords = lazyregexp.New(`(?i)(?:retry|try again|retrydelay"?:?)[^0-9]{0,24}(\d+(?:\.\d+)?) ?(ms|milliseconds?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?|h(?:ours?)?)\b`)

// retryAfter is the time that an agent's words name.
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
