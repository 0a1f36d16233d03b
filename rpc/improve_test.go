package rpc

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestLongEvaluationHoldsUpNobody checks that a long evaluation doesn't block the
// workspace: the server answers later writes and reads before the cycle ends.
func TestLongEvaluationHoldsUpNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	begun, release := filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	t.Cleanup(func() { _ = os.WriteFile(release, nil, 0o600) }) // whatever happens, the evaluation ends
	cycle := b.valid["agent.self_improve_cycle"]
	cycle["mistake_key"] = "slow"
	cycle["evaluation_argv"] = []any{"sh", "-c", `: > "$0"; while [ ! -e "$1" ]; do sleep 0.05; done`, begun, release}
	record := b.valid["agent.record_mistake"]
	record["mistake_key"], record["promote_threshold"] = "slow", 100
	b.peer.send(requestLine("cycle", "agent.self_improve_cycle", cycle) + "\n" + requestLine("record", "agent.record_mistake", record) + "\n" +
		requestLine("validate", "workspace.validate", object{"workspace_dir": b.dir}) + "\n")
	for range 2 {
		answer := b.peer.read(b.peer.next())
		if id := string(answer.ID); answer.Error != nil || (id != `"record"` && id != `"validate"`) {
			t.Fatalf("%s: %+v", answer.ID, answer.Error)
		}
		if string(answer.ID) != `"record"` {
			continue
		}
		var recorded struct{ Count int }
		if err := json.Unmarshal(answer.Result, &recorded); err != nil || recorded.Count != 2 {
			t.Errorf("the mistake was recorded %d times (%v)", recorded.Count, err)
		}
	}
	awaitFile(t, begun)
	b.peer.send(requestLine("again", "agent.record_mistake", record) + "\n")
	if answer := b.peer.read(b.peer.next()); string(answer.ID) != `"again"` || answer.Error != nil {
		t.Fatalf("%s: %+v", answer.ID, answer.Error)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	answer := b.peer.read(b.peer.next())
	var improved struct {
		Status string
		Count  int `json:"mistake_count"`
	}
	if err := json.Unmarshal(answer.Result, &improved); err != nil || string(answer.ID) != `"cycle"` || improved.Status != "proposal_created" || improved.Count != 1 {
		t.Errorf("%s: %s %+v (%v)", answer.ID, answer.Result, answer.Error, err)
	}
}

// TestEndDuringEvaluation checks that a shutdown does not wait for an evaluation,
// and that the evaluation's run continues.
func TestEndDuringEvaluation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	dir := t.TempDir()
	begun, release := filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	t.Cleanup(func() { _ = os.WriteFile(release, nil, 0o600) })
	cycle := b.valid["agent.self_improve_cycle"]
	cycle["evaluation_argv"] = []any{"sh", "-c", `: > "$0"; while [ ! -e "$1" ]; do sleep 0.05; done`, begun, release}
	b.peer.send(requestLine(1, "agent.self_improve_cycle", cycle) + "\n")
	awaitFile(t, begun)
	rest := b.peer.finish()
	if len(rest) != 1 {
		t.Fatalf("%q", rest)
	}
	if answer := b.peer.read(rest[0]); answer.Error == nil || answer.Error.Code != CodeApplication {
		t.Errorf("%s", rest[0])
	}
	next := newPeer(t)
	var rows []struct {
		Status string
		RunID  string `json:"run_id"`
		Ref    string `json:"session_ref"`
	}
	next.call("session.list", object{"workspace_dir": b.dir}, &rows)
	if len(rows) != 1 || rows[0].Status != "running" {
		t.Fatalf("the next server sees %+v", rows)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var end struct{ Status string }
	next.call("session.collect", object{"workspace_dir": b.dir, "session_ref": rows[0].Ref}, &end)
	if end.Status != "ended" {
		t.Errorf("the evaluation is %s", end.Status)
	}
}

// awaitFile waits until a file exists.
func awaitFile(t *testing.T, name string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(patience); ; {
		if _, err := os.Stat(name); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s did not appear", name)
		}
	}
}
