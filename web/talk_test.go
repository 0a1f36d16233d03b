package web

// The frames that notify a client of new messages.

import (
	"strings"
	"testing"
	"time"

	"ac/workspace"
)

// TestTalk checks that a stream with talk=1 notifies of messages, in existing and new
// conversations, and that this leaves the client's cursor unchanged. Other streams get no such
// frame.
func TestTalk(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 1)
	if got := f.get("/api/stream?runs=1&talk=1"); got.status != 400 || !strings.Contains(got.body, "project_id") {
		t.Errorf("without a project: %+v", got)
	}
	r := f.open("/api/stream?runs=1&talk=1&project_id=" + project)
	silent := f.open("/api/stream?runs=1&project_id=" + project)
	if one := r.next(); eventOf(t, one).Run != "run_1" || one.id == "" {
		t.Errorf("%+v", one)
	}
	for _, room := range []string{workspace.HomeDir, workspace.ConversationsDir + "/conv_1", workspace.ProjectConversationDir(project, "conv_2")} {
		for _, text := range []string{"hello\n", "hello\nhello again\n"} {
			r.quiet()
			write(t, f.dir, room+"/messages.jsonl", text)
			if one := r.next(); one.name != "talk" || one.data != "{}" || one.id != "" {
				t.Fatalf("%s: %+v", room, one)
			}
		}
	}
	f.log("run_1", 2, 2)
	r.until(func(one sse) bool { return one.name == "run" && eventOf(t, one).Seq == 2 })
	silent.until(func(one sse) bool { return eventOf(t, one).Seq == 2 }) // each frame is a run event
}

// quiet discards frames of an earlier change until 50 ms pass without one.
func (r *reader) quiet() {
	for {
		select {
		case <-r.frames:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}
