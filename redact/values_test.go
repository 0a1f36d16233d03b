package redact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestStreamModel compares masking piece by piece with masking at once.
func TestStreamModel(t *testing.T) {
	t.Parallel()
	alphabet := rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\\")), 4, 8, -1)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(alphabet, 1, 3).Draw(t, "secrets")
		environ := []string{"HOME=/root", "PATH=abab"}
		for _, s := range secrets {
			environ = append(environ, "MY_API_KEY="+s)
		}
		v := FromEnviron(environ)
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abc\"\\")), 0, 60, -1).Draw(t, "text")
		whole := v.String(text)
		for _, s := range secrets {
			if strings.Contains(whole, s) {
				t.Fatalf("%q is still in %q", s, whole)
			}
		}
		stream := v.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.Write(stream.Next([]byte(rest[:n])))
			rest = rest[n:]
		}
		got.Write(stream.Rest())
		if got.String() != whole {
			t.Fatalf("in pieces %q, at once %q", got.String(), whole)
		}
	})
}

func TestFromEnviron(t *testing.T) {
	t.Parallel()
	v := FromEnviron([]string{"OPENAI_API_KEY=sk-123456", "TOKEN=x", "NAME=public", "AUTH_HEADER=a\"b\nc"})
	got := v.String(`sk-123456 x public {"h":"a\"b\nc"} a"b` + "\nc")
	if want := `[REDACTED] x public {"h":"[REDACTED]"} [REDACTED]`; got != want {
		t.Errorf("%q", got)
	}
}
