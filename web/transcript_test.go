package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ac/feed"
	"ac/runs/transcript"
	"ac/workspace"
)

// print appends output of a run's agent to its log, one line per event.
func (f *fixture) print(run string, from int, lines ...string) {
	f.t.Helper()
	for n, line := range lines {
		chunk, err := json.Marshal(line + "\n")
		if err != nil {
			f.t.Fatal(err)
		}
		f.append(run, from+n, "provider.raw", `{"stream":"stdout","chunk":`+string(chunk)+`}`)
	}
}

// append appends an event to the log of a run.
func (f *fixture) append(run string, n int, kind, payload string) {
	f.t.Helper()
	name := filepath.Join(f.dir, filepath.FromSlash(workspace.LogFile(project, run)))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = fmt.Fprintf(file, `{"schema_version":1,"event_id":"evt_%s_%d","run_id":%q,"session_ref":"local_%s","type":%q,"ts_wallclock":%q,"actor":"a","visibility":"org","payload":%s}`+"\n",
		run, n, run, run, kind, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), payload)
	if err := errors.Join(err, file.Close()); err != nil {
		f.t.Fatal(err)
	}
}

func words(n int) string {
	return fmt.Sprintf(`{"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":"words %d"}}`, n, n)
}

// transcriptNews returns the next notification of a transcript stream.
func transcriptNews(t *testing.T, r *reader) feed.TranscriptNotification {
	t.Helper()
	one := r.next()
	var n feed.TranscriptNotification
	mustJSON(t, one.data, &n)
	if one.name != "transcript" || one.id != fmt.Sprint(n.Seq) || n.SubscriptionID != "" || n.RunID != "run_1" || n.ProjectID != project {
		t.Fatalf("%+v", one)
	}
	return n
}

// TestTranscript checks the stream of a transcript: its state, the existing items, then new ones. A
// client that reconnects gets only new items and the last one, which it may have in part.
func TestTranscript(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	write(t, f.dir, "work/projects/proj_a/runs/run_1/run.yaml", "schema_version: 1\ntype: run\nid: run_1\nproject_id: proj_a\nagent_id: a\nprovider: codex\ncreated_at: 2026-01-02T00:00:00.000Z\nstatus: running\ncontext_pack_id: ctx_1\nevents_relpath: runs/run_1/events.jsonl\n")
	f.print("run_1", 1, words(1), words(2), words(3))
	const path = "/api/stream?run_id=run_1&view=transcript"
	for _, c := range []struct {
		path, last string
		since      int64
		texts      []string
	}{
		{path, "", 0, []string{"words 1", "words 2", "words 3"}},
		{path + "&project_id=proj_a", "", 0, []string{"words 1", "words 2", "words 3"}},
		{path + "&tail=2", "", 0, []string{"words 2", "words 3"}},
		{path + "&since_seq=2", "", 2, []string{"words 2", "words 3"}}, // item 2 may have arrived in part
		{path + "&tail=1", "Last-Event-ID: 2", 2, []string{"words 2", "words 3"}},
		{path + "&since_seq=99", "", 0, []string{"words 1", "words 2", "words 3"}},
	} {
		r := f.open(c.path, orX(c.last))
		if n := transcriptNews(t, r); n.Op != transcript.Status || n.Seq != c.since {
			t.Errorf("%s begins with %+v", c.path, n)
		}
		var texts []string
		for range c.texts {
			n := transcriptNews(t, r)
			if n.Op != transcript.Close || !n.Replayed {
				t.Errorf("%s: %+v", c.path, n)
			}
			texts = append(texts, n.Item.Text)
		}
		if !slices.Equal(texts, c.texts) {
			t.Errorf("%s: %q", c.path, texts)
		}
		r.cancel()
	}
	r := f.open(path + "&since_seq=3")
	if n := transcriptNews(t, r); n.Op != transcript.Status {
		t.Errorf("%+v", n)
	}
	f.print("run_1", 4, words(4))
	for {
		n := transcriptNews(t, r)
		if n.Seq == 4 && n.Op == transcript.Close && n.Item.Text == "words 4" && !n.Replayed {
			break
		}
	}
	f.append("run_1", 5, "run.ended", `{"exit_code":0}`)
	for {
		if n := transcriptNews(t, r); n.Op == transcript.Status {
			if n.Seq != 5 || n.State.Status != "ended" {
				t.Errorf("ends with %+v, %+v", n, n.State)
			}
			break
		}
	}
	again := f.open(path, "Last-Event-ID: 5")
	if n := transcriptNews(t, again); n.Op != transcript.Status || n.State.Status != "ended" {
		t.Errorf("a run that is over begins with %+v", n)
	}
}

// TestTranscriptFaults checks which requests for a transcript stream are refused.
func TestTranscriptFaults(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 1)
	for path, want := range map[string]int{
		"?view=transcript":                            400,
		"?view=song&run_id=run_1":                     400,
		"?view=transcript&run_id=../x":                400,
		"?view=transcript&run_id=run_1&since_seq=-1":  400,
		"?view=transcript&run_id=run_1&tail=0":        400,
		"?view=transcript&run_id=run_1&tail=many":     400,
		"?view=transcript&run_id=run_none":            404,
		"?view=transcript&run_id=run_1&project_id=p/": 400,
	} {
		if got := f.get("/api/stream" + path); got.status != want {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}
