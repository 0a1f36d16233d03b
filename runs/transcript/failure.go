package transcript

// Why an agent failed, in its own words, and of which kind that is.

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"ac/internal/lazyregexp"
)

// Kinds of failures.
const (
	kindRefused = "refused"

	FailedAuth       = "auth"
	FailedQuota      = "quota"
	FailedRateLimit  = "rate_limit"
	FailedOverloaded = "overloaded"
	FailedContext    = "context"
	FailedTrust      = "trust"
	FailedRefused    = kindRefused
	FailedNetwork    = "network"
	FailedCrash      = "crash"
	FailedUnknown    = "unknown"
)

// maxWords bounds what is kept of an agent's words, in bytes.
const maxWords = 2 << 10

// Failure is why an agent failed.
type Failure struct {
	Text string // in the agent's words, at most 2 KiB
	Kind string
	// RetryAfter is how long the provider asked to be left alone, 0 for no time.
	RetryAfter time.Duration
}

// failing gathers what an agent says of a failure while it goes on.
type failing struct {
	text   string
	status int
	code   string
	done   bool // the agent gave up
	retry  time.Duration
	last   string // what it was retrying
}

// report takes an error that the agent may still get over.
func (f *failing) report(text string, status int, code string) {
	if f.done {
		return
	}
	if strings.TrimSpace(text) != "" {
		f.text = text
	}
	f.status, f.code = or(status, f.status), firstOf(code, f.code)
}

// final takes the error that ended the work of the agent. Where it has
// no status or kind, those of an earlier error stay.
func (f *failing) final(text string, status int, code string) {
	f.done = false
	f.report(text, status, code)
	f.done = true
}

// retrying takes an error that the agent gets over by itself.
func (f *failing) retrying(code string, status int) {
	f.status, f.code, f.last = or(status, f.status), firstOf(code, f.code), code
}

// recovered says that the agent went on.
func (f *failing) recovered() {
	if !f.done {
		*f = failing{}
	}
}

// after keeps the time that a provider named in a header.
func (f *failing) after(text string) {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && seconds > 0 && seconds < 1e6 {
		f.retry = time.Duration(seconds * float64(time.Second))
	}
}

func or(a, b int) int {
	if a != 0 {
		return a
	}
	return b
}

// found is the failure, with stderr for an agent that told none; nil where
// nothing says that anything failed.
func (f *failing) found(stderr string) *Failure {
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
	if len(text) > maxWords {
		text, _ = head(text, maxWords)
	}
	found := &Failure{Text: text, Kind: kindOf(words, f.status, f.code), RetryAfter: f.retry}
	if found.RetryAfter == 0 {
		found.RetryAfter = retryAfter(words)
	}
	return found
}

// lastWords is the end of stderr that is no log and no stack.
func lastWords(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		line = plain(line)
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
		return FailedAuth
	case status == 402:
		return FailedQuota
	case status == 413:
		return FailedContext
	case status == 429:
		return FailedRateLimit
	case status >= 500 && status < 600:
		return FailedOverloaded
	}
	for _, c := range likely {
		if c.words().MatchString(words) {
			return c.kind
		}
	}
	return FailedUnknown
}

// codes are errors that have a word of their own.
func codes() map[string]string {
	return map[string]string{
		kindRefused: FailedRefused,
		// claude
		"authentication_failed": FailedAuth, "oauth_org_not_allowed": FailedAuth, "billing_error": FailedQuota,
		"rate_limit": FailedRateLimit, "overloaded": FailedOverloaded, "server_error": FailedOverloaded, "max_output_tokens": FailedContext,
		// codex
		"unauthorized": FailedAuth, "usageLimitExceeded": FailedQuota, "contextWindowExceeded": FailedContext,
		"serverOverloaded": FailedOverloaded, "internalServerError": FailedOverloaded, "cyberPolicy": FailedRefused,
		// gemini
		"FatalAuthenticationError": FailedAuth, "FatalUntrustedWorkspaceError": FailedTrust,
		// opencode
		"ProviderAuthError": FailedAuth, "ContextOverflowError": FailedContext, "ContentFilterError": FailedRefused,
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
	{FailedTrust, lazyregexp.New(`not (running in |inside )?(a )?trusted (directory|folder)|untrusted (folder|workspace|directory)|folder is not trusted|do you trust`)},
	{FailedContext, lazyregexp.New(`context (window|length)|maximum context|prompt is too long|input is too long|too many (input )?tokens|exceeds the maximum number of tokens`)},
	{FailedQuota, lazyregexp.New(`insufficient_quota|exceeded your current quota|quota exceeded|usage limit|credit balance|billing|out of credits|daily limit`)},
	{FailedRefused, lazyregexp.New(`content[_ -]filter|(usage|content) polic(y|ies)|flagged (for|as) (possible|potential)|blocked due to safety`)},
	{FailedAuth, lazyregexp.New(`not logged in|please (run )?/login|api key not valid|invalid (api key|x-api-key|auth method|bearer token)|incorrect api key|no auth(entication)? (credentials|method)|please set an auth method|token (has )?expired|token could not be refreshed|sign in again|authentication_error|unauthorized`)},
}

// likely are words that tell the kind where no status does.
var likely = []signature{
	{FailedRateLimit, lazyregexp.New(`\b429\b|rate[ _-]?limit|too many requests|resource_exhausted|throttl|suggested retry after|please wait and try again`)},
	{FailedOverloaded, lazyregexp.New(`\b(500|502|503|504|529)\b|overloaded|high demand|service unavailable|internal server error|bad gateway|temporarily unavailable`)},
	{FailedAuth, lazyregexp.New(`\b(401|403)\b|authenticat|forbidden|permission denied|credential|log ?in`)},
	{FailedNetwork, lazyregexp.New(`econnre(fused|set)|etimedout|enotfound|eai_again|connection (refused|reset|error|closed)|network|socket hang up|fetch failed|error sending request|stream disconnected|timed? ?out|unable to connect|dns`)},
	{FailedRefused, lazyregexp.New(`\brefus(al|ed to (answer|respond))|safety`)},
	{FailedCrash, lazyregexp.New(`panic|segmentation fault|out of memory|unhandled|uncaught|fatal error`)},
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
