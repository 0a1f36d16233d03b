package sharepack

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"ac/events"
	"ac/internal/redact"
)

// FuzzLog redacts arbitrary logs as for a share pack. A planted secret never gets out, and a
// JSON line stays JSON.
func FuzzLog(f *testing.F) {
	const secret = "sk-proj-planted0abcdefghijklmnopqrst"
	f.Add([]byte(`{"visibility":"org","type":"provider.raw","session_ref":"s","payload":{"stream":"stdout","chunk":"` + secret[:9] + `"}}` + "\n" +
		`{"visibility":"org","type":"provider.raw","session_ref":"s","payload":{"stream":"stdout","chunk":"` + secret[9:] + `"}}` + "\n"))
	f.Add([]byte(`{"visibility":"private_agent","a":"` + secret + `"}` + "\n{\"a\":\"" + secret + "\\u0020\"}\nplain " + secret + "\n"))
	redactor := redact.NewRedactor(redact.FromEnviron([]string{"SERVICE_TOKEN=" + secret}))
	f.Fuzz(func(t *testing.T, log []byte) {
		s := newSeams(redactor)
		visit := func(each func(events.Line)) {
			if err := eachLine(context.Background(), bytes.NewReader(log), func(line events.Line) error {
				each(line)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		visit(s.add)
		visit(func(line events.Line) {
			text, leaves := redactLine(redactor, nil, line, s)
			if bytes.Contains(text, []byte(secret)) {
				t.Fatalf("%q leaves as %q", line.Raw, text)
			}
			if leaves && json.Valid(line.Raw) && !json.Valid(text) {
				t.Fatalf("%q is no JSON any more: %q", line.Raw, text)
			}
		})
	})
}
