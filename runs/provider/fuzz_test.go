package provider

import (
	"strings"
	"testing"
)

// FuzzAnswer reads any output as that of each CLI: there is a text or an error,
// and never a text that the output does not hold in some spelling.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}` + "\n" + `{"type":"result","result":"done"}`,
		`{"type":"stream_event","delta":{"text":"x"}}` + "\n" + `{"type":"stream_event","delta":{"text":"y"}}`,
		`{"type":"item.completed","item":{"type":"agent_message","text":"all {"}}`,
		"{\n  \"response\": \"r\",\n  \"stats\": {}\n}\n", strings.Repeat(`[{"text":`, 40),
	} {
		f.Add(seed, "last")
		f.Add(seed, " \n")
	}
	f.Fuzz(func(t *testing.T, output, last string) {
		for _, cli := range []interface {
			Answer(output, last string) (string, error)
		}{claudeCLI{}, codexCLI{}, geminiCLI{}} {
			text, err := cli.Answer(output, last)
			if err == nil && strings.TrimSpace(text) == "" {
				t.Fatalf("%T: an empty answer without an error", cli)
			}
		}
		// Escapes are longer than what they stand for; invalid bytes become three.
		if longest := LongestText(output); len(longest) > 3*len(output) {
			t.Fatalf("%d bytes out of %d", len(longest), len(output))
		}
	})
}
