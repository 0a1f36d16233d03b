package redact

import (
	"strings"
	"testing"

	"ac/internal/fault"
)

// TestFind checks the kinds that secrets are counted as. Numbers and redaction marks do not
// count.
func TestFind(t *testing.T) {
	t.Parallel()
	key := "sk-" + strings.Repeat("a1", 12)
	for text, want := range map[string]Matches{
		"nothing, max token: 512":                     {},
		key + " and " + key:                           {KindOpenAI: 2},
		"ghp_" + strings.Repeat("a", 36):              {KindGitHub: 1},
		"github_pat_" + strings.Repeat("a", 30):       {KindGitHub: 1},
		"xapp-" + strings.Repeat("a", 20):             {KindSlack: 1},
		"xoxb-" + strings.Repeat("1", 20):             {KindSlack: 1},
		"Bearer abcdefghijklmnop":                     {KindBearer: 1},
		"password = hunter2hunter2":                   {KindCredential: 1},
		"AKIA" + strings.Repeat("A", 16):              {KindCredential: 1},
		"https://user:hunter2hunter2@example.com/":    {KindCredential: 1},
		"password: [REDACTED], [REDACTED_API_KEY] ok": {},
	} {
		got := Find(text)
		if len(got) != 5 {
			t.Errorf("%q: not all kinds: %v", text, got)
		}
		for kind, n := range got {
			if n != want[kind] {
				t.Errorf("%q: %s: %d instead of %d", text, kind, n, want[kind])
			}
		}
		err := CheckNoSecret("note", text)
		if (err == nil) != (want.Total() == 0) {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && (!fault.Is(err, fault.SecretDetected) || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "note")) {
			t.Errorf("%q: the refusal is %v", text, err)
		}
	}
}
