package provider

import (
	"strings"
	"testing"
)

// FuzzAnswer parses arbitrary output as that of each CLI. An answer is never empty without an
// error, and LongestText is at most three times as long as the output.
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
		// Unescaping shortens text, but an invalid byte becomes three bytes.
		if longest := LongestText(output); len(longest) > 3*len(output) {
			t.Fatalf("%d bytes out of %d", len(longest), len(output))
		}
	})
}
