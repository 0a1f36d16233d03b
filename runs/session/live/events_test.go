package live

import (
	"strings"
	"testing"

	"ac/runs/session"
)

// TestLastWords checks that an error of maximum length still ends with the agent's last words.
func TestLastWords(t *testing.T) {
	t.Parallel()
	got := withWords("it ended", strings.Repeat("é", session.MaxError)+" no space left")
	if len(got) > session.MaxError || len(got) < session.MaxError-1 || !strings.HasPrefix(got, "it ended: é") || !strings.HasSuffix(got, "é no space left") {
		t.Errorf("%d bytes: %.20q…%q", len(got), got, got[len(got)-20:])
	}
	if got := withWords("it ended", ""); got != "it ended" {
		t.Errorf("%q", got)
	}
}
