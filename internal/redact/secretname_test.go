package redact

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// TestSecretName compares SecretName with the regular expression that defines it.
func TestSecretName(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`(?i)(key|token|secret|passw|passphrase|credential|auth)|.+_(pwd|pat|creds|dsn|cookie)$`)
	same := func(name string) bool { return SecretName(name) == pattern.MatchString(name) }
	for _, name := range []string{
		"API_KEY", "my\u212aey", "\u017fecret", "pa\u017f\u017fw", "DB_PWD", "_pwd", "\n_pwd", "a\n_pwd", "x_pat", "x_pat\n", "X_COOKIE2", "cookie",
		"PATH", "HOME", "x__dsn", "a_CREDS", "", "K\u0130Y", "AUTHOR",
	} {
		if !same(name) {
			t.Errorf("%q: %t", name, SecretName(name))
		}
	}
	part := rapid.SampledFrom([]string{"_", "pwd", "PAT", "creds", "dsn", "cookie", "ke", "y", "Tok", "en", "\u212a", "\u017f", "ecret", "\n", "x", "\xff", "auth"})
	rapid.Check(t, func(t *rapid.T) {
		name := ""
		for _, p := range rapid.SliceOfN(part, 0, 6).Draw(t, "parts") {
			name += p
		}
		if !same(name) {
			t.Fatalf("%q: %t", name, SecretName(name))
		}
	})
}
