package redact

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestStreamModel compares masking in pieces with masking at once.
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
		got.Write(stream.Flush())
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

// TestStreamIsLinear masks one secret next to many that never occur, in a text that would take
// hours if each were searched for at every position.
func TestStreamIsLinear(t *testing.T) {
	t.Parallel()
	environ := []string{"A_TOKEN=abcd"}
	for i := range 40 {
		environ = append(environ, fmt.Sprintf("TOKEN_%d=nowhere/%d", i, i))
	}
	const repeated = 100_000
	stream := FromEnviron(environ).Stream()
	got := string(stream.Next([]byte(strings.Repeat("abcd.", repeated)))) + string(stream.Flush())
	if got != strings.Repeat(Mask+".", repeated) || !stream.Found() {
		t.Errorf("%d bytes", len(got))
	}
}

// TestFormsOfJSON checks that a value is masked as the JSON encoders of several languages write
// it.
func TestFormsOfJSON(t *testing.T) {
	t.Parallel()
	v := FromEnviron([]string{"TOKEN=k/<ä😀\"\u2028>\n"})
	for who, text := range map[string]string{
		"plain":            "k/<ä😀\"\u2028>\n",
		"JavaScript":       `k/<ä😀\"` + "\u2028" + `>\n`,
		"Go":               `k/\u003cä😀\"\u2028\u003e\n`,
		"Go in Go":         `k/\\u003cä😀\\\"\\u2028\\u003e\\n`,
		"Python":           `k/<\u00e4\ud83d\ude00\"\u2028>\n`,
		"Python in Python": `k/<\\u00e4\\ud83d\\ude00\\\"\\u2028>\\n`,
		"PHP":              `k\/<\u00e4\ud83d\ude00\"\u2028>\n`,
		"PHP in JSON":      `k\\/<\\u00e4\\ud83d\\ude00\\\"\\u2028>\\n`,
		"PHP in PHP":       `k\\\/<\\u00e4\\ud83d\\ude00\\\"\\u2028>\\n`,
	} {
		if got := v.String("<" + text + ">"); got != "<"+Mask+">" {
			t.Errorf("%s: %q gives %q", who, text, got)
		}
	}
	if plain := FromEnviron([]string{"TOKEN=plain"}); len(plain.secrets()) != 1 {
		t.Errorf("%d forms of a plain value", len(plain.secrets()))
	}
}
