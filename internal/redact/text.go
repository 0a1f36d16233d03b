package redact

// Redaction by pattern: it removes what looks like a secret, whatever its value.

import "strings"

// The marks that replace what a pattern found. Mask replaces the values of secret names.
const (
	markAPIKey = "[REDACTED_API_KEY]"
	markGitHub = "[REDACTED_GITHUB_TOKEN]"
	markSlack  = "[REDACTED_SLACK_TOKEN]"
	markBearer = "[REDACTED_BEARER]"
	markSecret = "[REDACTED_SECRET]"
)

// Redactor removes secrets from texts and from JSON: the values that it knows, and everything
// that has the shape of a secret. It is immutable and safe for concurrent use. Its run time is
// linear in the length of the text.
type Redactor struct{ known *Values }

// NewRedactor returns a redactor that also masks known values; nil means none.
func NewRedactor(known *Values) *Redactor {
	if known == nil {
		known = &Values{}
	}
	return &Redactor{known: known}
}

// Text redacts a text. It masks known values first, so that no pattern removes a part of one
// and leaves the rest. Then it applies the patterns, the most specific ones first.
func (r *Redactor) Text(text string) string {
	text = r.known.String(text)
	for _, replace := range []func(string) string{redactTokens, redactBearers, redactPrivateKeys, redactWebTokens, redactBasics, redactURLPasswords, redactSurrounded, redactAssignments} {
		text = replace(text)
	}
	return text
}

// rewrite copies a text and replaces spans of it, in ascending order.
type rewrite struct {
	text   string
	out    strings.Builder
	copied int // the text up to here is in out
}

func (w *rewrite) replace(start, end int, with string) {
	w.out.WriteString(w.text[w.copied:start])
	w.out.WriteString(with)
	w.copied = end
}

func (w *rewrite) result() string {
	if w.copied == 0 {
		return w.text
	}
	w.out.WriteString(w.text[w.copied:])
	return w.out.String()
}

// class is a set of bytes.
type class [256]bool

func classOf(ranges string) *class {
	c := &class{}
	for i := 0; i+1 < len(ranges); i += 2 {
		for b := int(ranges[i]); b <= int(ranges[i+1]); b++ {
			c[b] = true
		}
	}
	return c
}

// The sets that patterns consist of, as ranges.
var (
	alphanumeric = classOf("09AZaz")
	upper        = classOf("09AZ")
	word         = classOf("09AZaz__")
	wordDash     = classOf("09AZaz__--")
	dashed       = classOf("09AZaz--")
	bearerSet    = classOf("09AZaz__--..")
	base64Set    = classOf("09AZaz__--++//")
	looseBearer  = classOf("09AZaz__--..~~++//==")
	hexDigits    = classOf("09AFaf")
	dotted       = classOf("09AZaz__--..")
	blank        = classOf("\t\r  ") // \s, and VT
)

// run returns the end of the run of bytes of a class that begins at an offset.
func (c *class) run(text string, at int) int {
	for at < len(text) && c[text[at]] {
		at++
	}
	return at
}

// startsWord reports whether a word can begin at an offset: at the beginning, after a byte that
// is not part of a word, or after an escape that ends in a letter or digit
// (\n, \u001b, %3D, and terminal colors).
func startsWord(text string, at int) bool {
	return at == 0 || !word[text[at-1]] || endsEscape(text, at)
}

func endsEscape(text string, at int) bool {
	last := text[at-1]
	if at >= 2 && text[at-2] == '\\' && strings.IndexByte("nrtbfv", last) >= 0 {
		return true
	}
	if at >= 3 && text[at-3] == '%' && hexadecimal(text[at-2:at]) {
		return true
	}
	if at >= 4 && text[at-4:at-2] == `\x` && hexadecimal(text[at-2:at]) {
		return true
	}
	if at >= 6 && text[at-6:at-4] == `\u` && hexadecimal(text[at-4:at]) {
		return true
	}
	if last != 'm' {
		return false
	}
	from := at - 1
	for from > 0 && at-from < 20 && (text[from-1] == ';' || text[from-1] >= '0' && text[from-1] <= '9') {
		from--
	}
	return from > 0 && text[from-1] == '['
}

func hexadecimal(text string) bool { return hexDigits.run(text, 0) == len(text) }

// foldIndex returns the index of a word at or after an offset, in any case, or -1. The word must
// have only lower-case letters.
func foldIndex(text, lower string, at int) int {
	first := lower[:1] + strings.ToUpper(lower[:1])
	for {
		i := strings.IndexAny(text[at:], first)
		if i < 0 || at+i+len(lower) > len(text) {
			return -1
		}
		if at += i; strings.EqualFold(text[at:at+len(lower)], lower) {
			return at
		}
		at++
	}
}
