package supervisor_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWorkspaceRemovedMeanwhile removes a workspace during a run. The supervisor ends, and
// leaves no reason beside its socket, since nobody would read it.
func TestWorkspaceRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.litter = true // there are no records to check
	order := s.run("sleep")
	s.launch(order)
	s.until("the provider is known", func() bool { return s.record(order).PID != nil })
	record := s.record(order)
	s.until("the workspace is gone", func() bool { return os.RemoveAll(s.w.Dir()) == nil }) // retried, since the session still writes to it
	s.kill(*record.PID)
	socket := filepath.Join(record.SocketDir, record.Socket)
	s.until("the supervisor is gone", func() bool {
		_, err := os.Lstat(socket + ".sock")
		return os.IsNotExist(err)
	})
	if _, err := os.Lstat(socket + ".why"); !os.IsNotExist(err) {
		t.Errorf("a reason was left (%v)", err)
	}
}
