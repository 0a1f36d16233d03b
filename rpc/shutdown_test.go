package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"ac/workspace"
)

// TestWaitsEndBeforeTheServer ends a server by a signal while a waiting request needs a
// moment to record its state. The shutdown must wait for that before it cancels the
// server's work, and still end within the grace period.
func TestWaitsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(Options{In: bytes.NewReader(nil), Out: &bytes.Buffer{}, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv()})
		s.wg.Add(1)
		noted := false
		go func() {
			defer s.wg.Done()
			<-s.waits.Done()
			time.Sleep(waitsEnd / 2)
			noted = s.work.Err() == nil
		}()
		signal, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		s.shutdown(signal)
		if took := time.Since(began); !noted || took > grace {
			t.Errorf("noted: %t, after %s", noted, took)
		}
		s.cancelWork(nil)
	})
}
