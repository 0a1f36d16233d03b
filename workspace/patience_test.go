package workspace

import (
	"context"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/internal/inflight"
)

// TestPatience checks when the wait for the lock starts to count. Earlier work of a request does
// not count. A request that was queued while another one gave up fails soon.
func TestPatience(t *testing.T) {
	t.Parallel()
	const patience = 2 * time.Second // much longer than the ten milliseconds of work
	env := SystemEnv()
	env.LockPatience = patience
	w := newWorkspaceDir(t, env)
	arrived := func(at time.Time) context.Context {
		return inflight.With(context.Background(), &inflight.Hooks{ArrivedAt: at})
	}
	early := arrived(env.Clock.Now().Add(-time.Hour))
	write(t, w, writeLockFile, `{"pid":1,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n")
	for _, c := range []struct {
		name string
		ctx  context.Context //nolint:containedctx // of the one call that the case is
		full bool
	}{
		{"after long work", early, true}, {"queued behind it", early, false}, {"arrived later", arrived(env.Clock.Now().Add(time.Hour)), true}, {"no request", context.Background(), true},
	} {
		began := env.Clock.Now()
		err := w.Recover(c.ctx)
		if took := env.Clock.Since(began); !fault.Is(err, fault.Locked) || c.full != (took >= patience) {
			t.Errorf("%s: %v after %v", c.name, err, took)
		}
	}
	if err := w.FS.Remove(writeLockFile); err != nil {
		t.Fatal(err)
	}
	w.Env.LockPatience = time.Minute // the machine may be slow
	if err := w.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.Env.LockPatience = patience
	write(t, w, writeLockFile, `{"pid":1,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n")
	began := env.Clock.Now()
	if err := w.Recover(early); !fault.Is(err, fault.Locked) || env.Clock.Since(began) < patience {
		t.Errorf("once the lock was had: %v after %v", err, env.Clock.Since(began))
	}
}
