//go:build browser

package browser

// Transcripts of the fake server: the fold of the program, over the logs that stand here.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"ac/runs/transcript"
)

// overRun is a run that can continue.
const overRun = "run_01M7WQSZBK0002"

// fold is the transcript of a run so far. The caller holds f.mu.
func (f *fake) fold(run string) *transcript.Fold {
	if f.folds[run] == nil {
		f.folds[run] = transcript.NewFold("proj_atlas")
		for i, event := range f.logs[run] {
			f.folds[run].Advance(int64(i+1), []byte(f.told(event)))
		}
	}
	return f.folds[run]
}

// transcribed is the result of run.transcript. The caller holds f.mu.
func (f *fake) transcribed(run string, tail int) object {
	fold := f.fold(run)
	state := fold.State()
	result := object{"run_id": run, "project_id": "proj_atlas", "status": state.Status, "activity": state.Activity, "turn": state.Turn,
		"continuable": object{"ok": false, "reason": "run_not_resumable", "resume": "digest"}}
	if run == overRun {
		result["continuable"] = object{"ok": true, "resume": "provider"}
	}
	page, err := json.Marshal(fold.Page(transcript.Query{Tail: tail}))
	if err != nil {
		panic(err)
	}
	_ = json.Unmarshal(page, &result)
	return result
}

// frameOf is a frame of the stream of a transcript.
func (f *fake) frameOf(run string, seq int64, c transcript.Change) string {
	n := object{"run_id": run, "project_id": "proj_atlas", "seq": seq, "op": c.Op}
	switch c.Op {
	case transcript.Status:
		n["state"] = c.State
	case transcript.Append:
		n["item_id"], n["field"], n["text"] = c.Item.ID, c.Field, c.Text
	default:
		n["item"] = c.Item
	}
	return fmt.Sprintf("event: transcript\nid: %d\ndata: %s\n\n", seq, f.told(n))
}

// transcribe feeds the event of a run to the readers of its transcript, and returns the last
// line that it added. The caller holds f.mu.
func (f *fake) transcribe(run string, seq int, event object) (line string) {
	fold := f.folds[run]
	if fold == nil {
		f.fold(run) // the event is in the log already
		return ""
	}
	for _, c := range fold.Line(int64(seq), []byte(f.told(event))) {
		if c.Item != nil {
			line = transcript.LastLine(c.Item)
		}
		frame := f.frameOf(run, int64(seq), c)
		for reader, of := range f.readers {
			if of == run {
				reader <- frame
			}
		}
	}
	return line
}

func (f *fake) followTranscript(w http.ResponseWriter, r *http.Request) {
	run := r.URL.Query().Get("run_id")
	frames := make(chan string, 200000)
	f.mu.Lock()
	fold := f.fold(run)
	state := fold.State()
	var first strings.Builder
	first.WriteString(f.frameOf(run, 0, transcript.Change{Op: transcript.Status, State: &state}))
	for _, item := range fold.Items() {
		first.WriteString(f.frameOf(run, fold.Seq(), transcript.Change{Op: transcript.Update, Item: item}))
	}
	f.readers[frames] = run
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.readers, frames)
		f.mu.Unlock()
	}()
	send(w, r, first.String(), frames)
}
