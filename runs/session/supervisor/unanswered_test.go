package supervisor_test

import (
	"bufio"
	"net"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestUnanswered checks a supervisor that dies while it handles a request, which it may have
// recorded. The caller is asked to try again, and is not told that nothing was decided.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir, err := os.MkdirTemp("", "ac-unanswered-") //nolint:usetesting // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const name = "0123456789abcdef"
	listener, err := net.Listen("unix", filepath.Join(dir, name+".sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			_ = conn.Close() // dies before it answers
		}
	}()
	order := s.run("sleep")
	record := doc.Session{
		SchemaVersion: doc.Version, Type: "session_record", WorkspaceDir: s.w.Dir(), Ref: order.SessionRef, ProjectID: s.project, RunID: order.RunID, Mode: doc.KindCommand, Status: doc.StatusRunning,
		StartedAtMS: 1, Socket: name, SocketDir: dir, Driver: session.DriverCodex,
	}
	for _, c := range []struct {
		status string
		want   fault.Reason
	}{{doc.StatusRunning, fault.SupervisorUnreachable}, {doc.StatusFailed, fault.RunNotLive}} {
		record.Status = c.status
		text, err := doc.SessionCodec.Encode(record)
		if err == nil {
			err = s.w.Replace(workspace.SessionFile(record.Ref), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := session.Respond(s.ctx, s.w, record, session.AnswerRequest{InteractionID: "int_x", Decision: "allow"}); !fault.Is(err, c.want) {
			t.Errorf("%s: %v", c.status, err)
		}
	}
	// Without a listener, the request was not received.
	_ = listener.Close()
	record.Status = doc.StatusRunning
	if text, err := doc.SessionCodec.Encode(record); err != nil || s.w.Replace(workspace.SessionFile(record.Ref), text, 0o600) != nil {
		t.Fatal(err)
	}
	if _, err := session.Respond(s.ctx, s.w, record, session.AnswerRequest{InteractionID: "int_x", Decision: "allow"}); !fault.Is(err, fault.RunNotLive) {
		t.Error(err)
	}
}
