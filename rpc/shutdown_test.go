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

// TestWaitsSettleBeforeTheEnd ends a server by a signal while a request waits that
// takes a moment to write down how it leaves what it began: that is done, and
// answered, before the workspaces are closed.
func TestWaitsSettleBeforeTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(Options{In: bytes.NewReader(nil), Out: &bytes.Buffer{}, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv()})
		s.wg.Add(1)
		settled := false
		go func() {
			defer s.wg.Done()
			<-s.waits.Done()
			time.Sleep(settle / 2)
			settled = s.work.Err() == nil
		}()
		signal, cancel := context.WithCancel(context.Background())
		cancel()
		began := time.Now()
		s.shutdown(signal)
		if took := time.Since(began); !settled || took > grace {
			t.Errorf("settled: %t, after %s", settled, took)
		}
		s.cancelWork(nil)
	})
}
