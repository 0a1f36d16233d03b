package rpc

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"ac/workspace"
)

// roomFrame is a decoded room.notification.
type roomFrame struct {
	Method string
	Params struct {
		ID   string `json:"subscription_id"`
		Rev  int64
		Full bool
		Set  []json.RawMessage
	}
}

// frame returns the next notification of the room. It skips answers.
func (p *peer) frame() roomFrame {
	p.t.Helper()
	for {
		var f roomFrame
		line := p.next()
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			p.t.Fatalf("%s: %v", line, err)
		}
		if f.Method == "room.notification" {
			return f
		}
	}
}

// TestRoomResumesOverTheWire resubscribes with the revision that the client has. The client gets
// only what changed since then, if anything. With a revision of another process it gets everything.
func TestRoomResumesOverTheWire(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	p := newPeer(t)
	var at struct {
		ID    string `json:"subscription_id"`
		Epoch string
		Rev   int64
	}
	in := func(more object) object {
		more["workspace_dir"], more["tables"] = dir, []string{"people"}
		return more
	}
	p.call("room.subscribe", in(object{"subscription_id": "a"}), &at)
	first := p.frame()
	if !first.Params.Full || len(first.Params.Set) != 0 || first.Params.ID != "a" {
		t.Errorf("the first frame: %+v", first)
	}
	p.call("room.unsubscribe", object{"subscription_id": "a"}, nil)
	writeAgent(t, dir)
	since := fmt.Sprintf("%s.%d", at.Epoch, first.Params.Rev)
	p.post("room.subscribe", in(object{"subscription_id": "b", "since": since}))
	news := p.frame()
	if news.Params.ID != "b" || news.Params.Full || len(news.Params.Set) != 1 || news.Params.Rev <= first.Params.Rev {
		t.Errorf("resumed with %+v", news)
	}
	p.call("room.subscribe", in(object{"subscription_id": "c", "since": fmt.Sprintf("%s.%d", at.Epoch, news.Params.Rev)}), nil)
	p.post("room.subscribe", in(object{"subscription_id": "d", "since": fmt.Sprintf("00000000.%d", news.Params.Rev)}))
	if all := p.frame(); all.Params.ID != "d" || !all.Params.Full || len(all.Params.Set) != 1 {
		t.Errorf("with the revision of another room: %+v", all)
	}
}

// writeAgent creates an agent as another program would.
func writeAgent(t *testing.T, dir string) {
	t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Ann", Role: "worker", Provider: "cmd"}); err != nil {
		t.Fatal(err)
	}
}
