package redact

// Looking for secrets without taking them out, for what is refused as a whole.

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
	KindCredential = "GENERIC_CREDENTIAL_ASSIGNMENT" // and everything that is of no other kind
)

// Matches counts secrets by kind. All kinds are in it, most of them with 0.
type Matches map[string]int

// NoMatches is the count of a text without secrets.
func NoMatches() Matches {
	return Matches{KindOpenAI: 0, KindGitHub: 0, KindSlack: 0, KindBearer: 0, KindCredential: 0}
}

// Total is how many secrets there are.
func (m Matches) Total() (n int) {
	for _, count := range m {
		n += count
	}
	return n
}

// Add counts those of another text too.
func (m Matches) Add(other Matches) {
	for kind, n := range other {
		m[kind] += n
	}
}

// Find counts the secrets in a text.
func Find(text string) Matches {
	_, found := TakeOut(text)
	return found
}

// TakeOut redacts a text and counts what it took out. Unlike Text of a Redactor
// it leaves short numbers, whatever their name is.
func TakeOut(text string) (string, Matches) {
	found := NoMatches()
	take := func(kind string, replace func(string) string) {
		after := replace(text)
		switch n := marks(after) - marks(text); {
		case n > 0:
			found[kind] += n
		case after != text && !sameWords(after, text): // a secret went together with a mark
			found[kind]++
		}
		text = after
	}
	for i := range kinds {
		take(kinds[i].kind(), kinds[i].redact)
	}
	take(KindBearer, bearers)
	take(KindCredential, privateKeys)
	take(KindCredential, webTokens)
	take(KindBearer, basics)
	for _, replace := range []func(string) string{addresses, surroundings, countless} {
		take(KindCredential, replace)
	}
	return text, found
}

// marks counts the marks of redaction in a text.
func marks(text string) int { return strings.Count(text, "[REDACTED") }

// countless redacts as assignments does, but leaves numbers that may be counts.
func countless(text string) string { return assigned(text, plainOrCount) }

// sameWords reports whether two texts are the same but for marks and punctuation.
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

// kind is the kind as which a token is counted.
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

// Refuse is the error for a text with a secret, nil without one. It names the
// label and the count, never the text.
func Refuse(label, text string) error {
	found := Find(text)
	n := found.Total()
	if n == 0 {
		return nil
	}
	err := fault.New(fault.SecretDetected, "%s holds what looks like a secret (%d found); remove it and try again", label, n)
	err.Data = &fault.SecretReport{ReasonCode: "SECRET_DETECTED", ContextLabel: label, TotalMatches: n, MatchesByKind: found}
	return err
}
