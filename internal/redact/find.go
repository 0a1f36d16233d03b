package redact

// Finding secrets without removing them, for texts that are rejected as a whole.

import (
	"strings"
	"unicode"

	"ac/internal/fault"
)

// Kinds of secrets, as they are counted.
const (
	KindOpenAI     = "OPENAI_API_KEY"
	KindGitHub     = "GITHUB_TOKEN"
	KindSlack      = "SLACK_TOKEN"
	KindBearer     = "BEARER_TOKEN"
	KindCredential = "GENERIC_CREDENTIAL_ASSIGNMENT" // and everything that has no other kind
)

// Matches counts secrets by kind. It has all kinds, most of them with 0.
type Matches map[string]int

// NoMatches returns the counts of a text without secrets.
func NoMatches() Matches {
	return Matches{KindOpenAI: 0, KindGitHub: 0, KindSlack: 0, KindBearer: 0, KindCredential: 0}
}

// Total returns the number of secrets.
func (m Matches) Total() (n int) {
	for _, count := range m {
		n += count
	}
	return n
}

// Add adds the counts of another text.
func (m Matches) Add(other Matches) {
	for kind, n := range other {
		m[kind] += n
	}
}

// Find counts the secrets in a text.
func Find(text string) Matches {
	_, found := WithMatches(text)
	return found
}

// WithMatches redacts a text and counts the secrets in it. Unlike Redactor.Text it keeps short
// numbers, whatever their name.
func WithMatches(text string) (string, Matches) {
	found := NoMatches()
	take := func(kind string, replace func(string) string) {
		after := replace(text)
		switch n := marks(after) - marks(text); {
		case n > 0:
			found[kind] += n
		case after != text && !sameWords(after, text): // a secret was redacted together with a mark
			found[kind]++
		}
		text = after
	}
	for i := range kinds {
		take(kinds[i].kind(), kinds[i].redact)
	}
	take(KindBearer, redactBearers)
	take(KindCredential, redactPrivateKeys)
	take(KindCredential, redactWebTokens)
	take(KindBearer, redactBasics)
	for _, replace := range []func(string) string{redactURLPasswords, redactSurrounded, redactKeepingCounts} {
		take(KindCredential, replace)
	}
	return text, found
}

// marks counts the marks of redaction in a text.
func marks(text string) int { return strings.Count(text, "[REDACTED") }

// redactKeepingCounts is assignments, but keeps numbers that may be counts.
func redactKeepingCounts(text string) string { return redactAssigned(text, isHarmlessOrCount) }

// sameWords reports whether two texts are equal except for marks and punctuation.
func sameWords(a, b string) bool {
	words := func(text string) string {
		for _, mark := range []string{Mask, markAPIKey, markGitHub, markSlack, markBearer, markSecret} {
			text = strings.ReplaceAll(text, mark, "")
		}
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return r
			}
			return -1
		}, text)
	}
	return words(a) == words(b)
}

// kind returns the kind that a token counts as.
func (k *token) kind() string {
	switch {
	case k.mark == markAPIKey:
		return KindOpenAI
	case k.mark == markGitHub, k.prefix == "github_pat_":
		return KindGitHub
	case strings.HasPrefix(k.prefix, "xox"), k.prefix == "xapp-":
		return KindSlack
	}
	return KindCredential
}

// CheckNoSecret returns the error for a text with a secret, nil if it has none. The error has the
// label and the count, never the text.
func CheckNoSecret(label, text string) error {
	found := Find(text)
	n := found.Total()
	if n == 0 {
		return nil
	}
	err := fault.New(fault.SecretDetected, "%s holds what looks like a secret (%d found); remove it and try again", label, n)
	err.Data = &fault.SecretReport{ReasonCode: "SECRET_DETECTED", ContextLabel: label, TotalMatches: n, MatchesByKind: found}
	return err
}
