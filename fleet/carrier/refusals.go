package carrier

// Backoff of a worker whose key is refused. The hub may accept the key later, so the worker
// retries, and logs the reason once.

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// refusals counts refusals since the last connection. It is safe for concurrent use.
type refusals struct {
	log *slog.Logger
	n   atomic.Int64
}

// failed handles an asynchronous error of the connection.
func (r *refusals) failed(_ *nats.Conn, _ *nats.Subscription, err error) {
	switch {
	case !isRefusal(err):
		r.log.Warn("the connection to the hub has an error", "error", err)
	case r.n.Add(1) == 2: // a single refusal may come from a hub that is just admitting another worker
		r.log.Error("the hub refuses this worker's key: the worker was revoked, or its user was taken out of the NATS servers. " +
			"To use this machine again, make an invitation (ac worker:invite) and join in an empty directory (ac worker:join). " +
			"Otherwise stop this worker; until then it tries again at most once a minute")
	}
}

// over resets the count once the worker is connected.
func (r *refusals) over() { r.n.Store(0) }

// delay returns the pause before the next attempt.
func (r *refusals) delay(attempts int) time.Duration {
	if n := r.n.Load(); n > 0 {
		return min(reconnectSoonest<<min(n, 10), refusedLatest)
	}
	return reconnectDelay(attempts)
}

// isRefusal reports whether a server refused this key.
func isRefusal(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthRevoked) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAccountAuthExpired)
}
