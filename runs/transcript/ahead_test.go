package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAdvanceAll checks that reading a log ahead makes the same transcript as reading it line
// by line. This includes long lines, lines that are no events, and text that is not UTF-8.
func TestAdvanceAll(t *testing.T) {
	t.Parallel()
	for _, log := range append(logs(t), []Event{
		executing("command"), chunk("stdout", strings.Repeat("x", 3*aheadBytes)+"\n"), chunk("stderr", strings.Repeat("y", aheadBytes-10)),
		chunk("stdout", strings.Repeat("z", 100)+"\n"), chunk("stderr", "\n"), {ID: "evt_end", Type: "run.ended", Payload: json.RawMessage(`{}`)},
	}) {
		var lines [][]byte
		for i, e := range log {
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			if lines = append(lines, line); i%3 == 0 {
				lines = append(lines, []byte("no event"), []byte(`{"type":"provider.raw","payload":{"stream":"stdout","chunk":"\ud800 lone\n"}}`), []byte(`{"type":"provider.raw"}`))
			}
		}
		one := NewFold("p")
		for i, line := range lines {
			one.Advance(int64(i+1), line)
		}
		all := NewFold("p")
		err := all.AdvanceAll(func(visit func(seq int64, line []byte)) error {
			for i := range lines {
				text := bytes.Clone(lines[i])
				visit(int64(i+1), text)
				clear(text) // a line is valid only during the visit
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(allOf(t, one), allOf(t, all)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// TestAdvanceAllFails checks that the fold keeps what was read before a failure.
func TestAdvanceAllFails(t *testing.T) {
	t.Parallel()
	f := NewFold("p")
	err := f.AdvanceAll(func(visit func(seq int64, line []byte)) error {
		visit(1, []byte(`{"type":"run.executing","session_ref":"local_run_1","payload":{"driver":"command"}}`))
		return io.ErrUnexpectedEOF
	})
	if !errors.Is(err, io.ErrUnexpectedEOF) || f.State().SessionRef != "local_run_1" {
		t.Errorf("%v, %+v", err, f.State())
	}
}

// allOf returns all that a fold reports.
func allOf(t *testing.T, f *Fold) string {
	t.Helper()
	text, err := json.MarshalIndent(struct {
		Items []*Item
		State State
		Page  Page
	}{f.Items(), f.State(), f.Page(Query{Limit: 1000})}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
