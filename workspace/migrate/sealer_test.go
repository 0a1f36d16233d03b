package migrate

import (
	"bytes"
	"strings"
	"testing"

	"ac/events"
)

// TestSealPlaces checks that the seal matches what verification computes, whatever the order of
// the members.
func TestSealPlaces(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{}`, `{"event_hash":null}`, `{"event_hash":"","type":"a"}`, `{"2":1,"type":"a","1":2}`, `{"a":1,"a":2,"event_hash":null,"prev_event_hash":5}`,
		`{"type":"\ud800","payload":{"b":1.50,"10":1,"9":2}}`,
	} {
		var out bytes.Buffer
		s := &sealer{run: "r"}
		if err := s.read(strings.NewReader(line), &out); err != nil || s.rewritten != 1 {
			t.Fatalf("%s: %+v (%v)", line, s, err)
		}
		report, err := events.Verify(bytes.NewReader(out.Bytes()), nil, false, nil)
		if err != nil || len(report.ParseIssues) > 0 {
			t.Fatalf("%s: %+v (%v)", line, report, err)
		}
		for _, issue := range report.VerificationIssues {
			if issue.Code != "missing_key" {
				t.Errorf("%s: %+v in %s", line, issue, &out)
			}
		}
		again := &sealer{run: "r"}
		if err := again.read(bytes.NewReader(out.Bytes()), nil); err != nil || again.rewritten != 0 || again.refused {
			t.Errorf("%s: sealed twice: %+v (%v)", line, again, err)
		}
	}
}

func BenchmarkSeal(b *testing.B) {
	line := `{"type":"note","ts_wallclock":"2026-02-01T00:00:00.000Z","actor":"a","visibility":"org","payload":"` + strings.Repeat("x", 200) + `"}` + "\n"
	text := []byte(strings.Repeat(line, 10_000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s := &sealer{run: "r"}
		if err := s.read(bytes.NewReader(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}
