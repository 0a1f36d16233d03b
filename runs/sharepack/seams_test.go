package sharepack

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ac/events"
	"ac/internal/redact"
)

// TestSeamsModel cuts output with a secret into random chunks. The redacted chunks, joined,
// never contain the secret, and output without a secret stays unchanged.
func TestSeamsModel(t *testing.T) {
	t.Parallel()
	redactor := redact.NewRedactor(nil)
	line := rapid.SampledFrom([]string{"ok\n", "12 of 12 tests passed\n", "日本 é\n", "{\"input_tokens\":5}\n", "  indented: yes\n", "\n", "no end "})
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[a-z][A-Za-z0-9]{40}`).Draw(t, "secret")
		planted := rapid.SampledFrom([]string{"", "sk-@", "ghp_@", "password=@", "{\"token\":\"@\"}", "Bearer @", "http://u:@@h", "-----BEGIN PRIVATE KEY-----\n@\n-----END PRIVATE KEY-----"}).Draw(t, "shape")
		before := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "before"), "")
		after := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "after"), "")
		text := before + strings.Replace(planted, "@", secret, 1) + "\n" + after
		var lines []events.Line
		for seq, rest := int64(1), []rune(text); len(rest) > 0; seq++ {
			n := rapid.IntRange(1, min(len(rest), 60)).Draw(t, "chunk")
			raw, err := json.Marshal(map[string]any{"type": events.ProviderRaw, "session_ref": "s", "payload": map[string]string{"stream": "stdout", "chunk": string(rest[:n])}})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, events.Line{Seq: seq, Raw: raw})
			rest = rest[n:]
		}
		seams := newSeams(redactor)
		for _, l := range lines {
			seams.add(l)
		}
		var got strings.Builder
		for _, l := range lines {
			out, leaves := redactLine(redactor, nil, l, seams)
			var e struct {
				Payload struct{ Chunk string }
			}
			if err := json.Unmarshal(out, &e); err != nil || !leaves {
				t.Fatalf("%s: %v", out, err)
			}
			got.WriteString(e.Payload.Chunk)
		}
		if planted == "" && got.String() != text {
			t.Fatalf("%q\nleft as %q", text, got.String())
		}
		for at := 0; at+20 <= len(secret); at++ {
			if strings.Contains(got.String(), secret[at:at+20]) {
				t.Fatalf("%q\nleft as %q", text, got.String())
			}
		}
		if whole := redactor.Text(text); strings.Count(whole, "\n") == strings.Count(text, "\n") && strings.Count(got.String(), "\n") < strings.Count(text, "\n") {
			t.Fatalf("%q\nlost lines: %q", text, got.String())
		}
	})
}
