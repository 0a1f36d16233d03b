package hub_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"ac/fleet"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// outputs returns an archive of one file and the object that describes it.
func outputs(t *testing.T, name, text string) ([]byte, fleet.Object) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256(b.Bytes())
	return b.Bytes(), fleet.Object{Name: fleet.ObjectName(fleet.ObjectOutputs, hex.EncodeToString(digest[:])), Size: int64(b.Len())}
}

// TestLateResultsAreUnpacked checks results that miss their deadline. They fail the results, not
// the run, and the worker is not told to forget them. When they arrive, here at the next hub, they
// are unpacked once and an event reports it.
func TestLateResultsAreUnpacked(t *testing.T) {
	t.Parallel()
	s := newStage(t, fleet.Settings{ResultsWaitS: 1})
	m := s.invite(fleet.InviteRequest{Name: "box"})
	order := s.run("true")
	o := m.started(order)
	archive, object := outputs(t, "report.txt", "late but here")
	code := 0
	m.publish(o, "end", fleet.End{
		Attempt: o.Attempt, End: true, N: 1, Status: doc.StatusEnded, ExitCode: &code, Results: &fleet.Results{Outputs: &object},
	})
	final, err := session.Collect(s.ctx, s.w, order.SessionRef)
	if err != nil || final.Status != doc.StatusEnded {
		t.Fatalf("%+v %v", final, err)
	}
	if types, _ := s.log(order); count(types, "worker.results_failed") != 1 {
		t.Error(types)
	}
	taken := func() bool {
		return ask[fleet.ObjectReply](m, fleet.AskObject, &fleet.ObjectAsk{Stamp: m.stamp(), Attempt: o.Attempt, Name: object.Name}).Taken
	}
	if taken() {
		t.Fatal("the worker was told to forget what never came")
	}
	s.stop()
	s.start()
	m.c.Close()
	m.connect()
	m.hello(fleet.HelloAttempt{Attempt: o.Attempt})
	if taken() {
		t.Fatal("the next hub told the worker to forget what never came")
	}
	if err := m.c.Put(s.ctx, object.Name, bytes.NewReader(archive)); err != nil {
		t.Fatal(err)
	}
	s.until("it is taken", taken)
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.RunDir(order.ProjectID, order.RunID), "outputs", "report.txt"))
	if err != nil || string(text) != "late but here" {
		t.Errorf("%q: %v", text, err)
	}
	before, _ := s.log(order)
	if !taken() {
		t.Error("it is not taken any more")
	}
	types, _ := s.log(order)
	if types[len(types)-1] != "worker.results" || len(types) != len(before) || count(types, "run.ended") != 1 {
		t.Error(types)
	}
	if now := s.record(order); now.Status != doc.StatusEnded {
		t.Errorf("the session became %+v", now)
	}
}
