package index

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"ac/index/source"
)

const testLog = "work/projects/p/runs/r1/events.jsonl"

// oneRun creates a workspace with a run whose log has this text, and syncs it.
func oneRun(t *testing.T, log string) (*company, *Index) {
	t.Helper()
	c, w := newCompany(t, t.TempDir()+"/ws", false)
	c.put("work/projects/p/runs/r1/run.yaml", runYAML("r1", "a1", "running"))
	c.put(testLog, log)
	ix := For(w)
	t.Cleanup(func() { must(ix.Close()); must(w.Close()) })
	if _, err := ix.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	return c, ix
}

func listedEvents(t *testing.T, ix *Index, f EventFilter) (seqs string, rows []Event) {
	t.Helper()
	if err := ix.View(context.Background(), func(v *View) (err error) {
		rows, err = v.Events(f)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		seqs += fmt.Sprint(r.Seq, " ")
	}
	return strings.TrimSpace(seqs), rows
}

// TestNeverAWrongText changes a log after it was indexed. Rows whose line is gone are left out,
// and the others have their own text.
func TestNeverAWrongText(t *testing.T) {
	t.Parallel()
	lines := []string{eventLine(1, "one"), eventLine(2, "two"), eventLine(3, "three")}
	log := strings.Join(lines, "\n") + "\n"
	for name, change := range map[string]struct {
		text string
		want string
	}{
		"as it was":    {log, "1 2 3"},
		"longer":       {log + eventLine(4, "four") + "\n", "1 2 3"},
		"a byte":       {strings.Replace(log, `"two"`, `"TWO"`, 1), "1 3"},
		"a line less":  {strings.Join(lines[:2], "\n") + "\n", "1 2"},
		"moved":        {"\n" + log, ""},
		"joined":       {strings.TrimSuffix(log, "\n") + "{}\n", "1 2"},
		"no line ends": {strings.ReplaceAll(log, "\n", " "), ""},
		"empty":        {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ix := oneRun(t, log)
			c.put(testLog, change.text)
			seqs, rows := listedEvents(t, ix, EventFilter{RunID: "r1", Ascending: true})
			if seqs != change.want {
				t.Errorf("listed %q, want %q", seqs, change.want)
			}
			for _, r := range rows {
				if r.RawJSON != lines[r.Seq-1] {
					t.Errorf("seq %d has the text %s", r.Seq, r.RawJSON)
				}
			}
		})
	}
}

// TestGoneLog checks that a log replaced by a link out of the workspace lists no events.
func TestGoneLog(t *testing.T) {
	t.Parallel()
	c, ix := oneRun(t, eventLine(1, "note")+"\n")
	outside := t.TempDir() + "/secret.jsonl"
	must(os.WriteFile(outside, []byte(eventLine(1, "note")+"\n"), 0o644))
	must(os.Remove(c.path(testLog)))
	must(os.Symlink(outside, c.path(testLog)))
	if seqs, _ := listedEvents(t, ix, EventFilter{}); seqs != "" {
		t.Errorf("listed %q through a link", seqs)
	}
}

// TestLongLines checks that a line of source.MaxLine bytes is indexed, and that a longer one is
// reported and its neighbors stay intact.
func TestLongLines(t *testing.T) {
	t.Parallel()
	long := func(n int) string {
		head, tail := `{"type":"long","payload":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	_, ix := oneRun(t, eventLine(1, "a")+"\n"+long(source.MaxLine)+"\n"+long(source.MaxLine+scanSlack)+"\n"+eventLine(4, "b")+"\n")
	seqs, rows := listedEvents(t, ix, EventFilter{RunID: "r1", Ascending: true})
	if seqs != "1 2 4" || len(rows[1].RawJSON) != source.MaxLine {
		t.Fatalf("listed %q", seqs)
	}
	if err := ix.View(context.Background(), func(v *View) error {
		list, err := v.ParseErrors(ParseErrorFilter{})
		if len(list) != 1 || list[0].Seq != 3 || !strings.HasPrefix(list[0].RawLine, `{"type":"long"`) || len(list[0].RawLine) != source.MaxRaw {
			t.Errorf("%d parse errors", len(list))
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// scanSlack is more than a scanner may read beyond its limit.
const scanSlack = 20 << 20

// TestOrders checks that events across runs are listed by time, and events of one run in the
// order of its log.
func TestOrders(t *testing.T) {
	t.Parallel()
	c, ix := oneRun(t, `{"type":"x","ts_wallclock":"2026-01-03T00:00:00Z"}`+"\n"+`{"type":"y","ts_wallclock":"2026-01-01T02:00:00+02:00"}`+"\n"+`{"type":"z"}`+"\n")
	c.put("work/projects/p/runs/r2/run.yaml", runYAML("r2", "a1", "running"))
	c.put("work/projects/p/runs/r2/events.jsonl", `{"type":"x","ts_wallclock":"2026-01-02T00:00:00Z"}`+"\n")
	if _, err := ix.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]EventFilter{
		"1 2 3":   {RunID: "r1", Ascending: true},
		"3 2 1":   {RunID: "r1"},
		"1 1 2 3": {},
		"3 2 1 1": {Ascending: true},
		"2 3":     {RunID: "r1", SinceSeq: 1, Ascending: true},
		"1":       {Limit: 1, Types: []string{"x", "y"}},
		"3":       {Types: []string{"z"}, ProjectID: "p"},
		"":        {ProjectID: "q"},
	} {
		if got, _ := listedEvents(t, ix, f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}
