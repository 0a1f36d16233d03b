package heartbeat

// The state: what the heartbeat remembers, of its actions above all. It is read
// and written within a unit.

import (
	"fmt"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// State reads the state as the unit will leave it; a workspace without one has
// an empty one. One that does not fit is moved aside by the unit, under a name
// that tells when: what ran before is not known then.
func State(u *workspace.Unit) (doc.HeartbeatState, error) {
	text, err := u.Read(StateFile())
	if fault.Is(err, fault.NotFound) {
		return doc.EmptyHeartbeatState(), nil
	}
	if err != nil {
		return doc.HeartbeatState{}, err
	}
	state, err := doc.HeartbeatStateCodec.Decode(text)
	if err == nil {
		return state, nil
	}
	aside := fmt.Sprintf("%s.broken-%d", StateFile(), u.Workspace().Env.Clock.Now().UnixMilli())
	return doc.EmptyHeartbeatState(), u.Write(aside, text, 0o644)
}

// PutState asks for the state to be written.
func PutState(u *workspace.Unit, state doc.HeartbeatState) error {
	text, err := doc.HeartbeatStateCodec.Encode(state)
	if err != nil {
		return err
	}
	return u.Write(StateFile(), text, 0o644)
}

// Forget drops the keys that have expired.
func Forget(state *doc.HeartbeatState, now time.Time) {
	for key, entry := range state.Idempotency {
		if expires, ok := clock.Parse(entry.ExpiresAt); ok && !expires.After(now) {
			delete(state.Idempotency, key)
		}
	}
}

// Executed reports whether the action with a key is known to have run. One that
// was only queued has not.
func Executed(state doc.HeartbeatState, key string) bool {
	return state.Idempotency[key].Status == doc.IdempotencyExecuted
}

// Remember notes that an action ran now, for as many days as the config says,
// and counts it.
func Remember(state *doc.HeartbeatState, action doc.ActionBody, now time.Time, days int) {
	entry, known := state.Idempotency[action.IdempotencyKey]
	if !known {
		entry.FirstSeenAt = clock.Stamp(now)
	}
	entry.IdempotencyKey, entry.ActionKind, entry.Status = action.IdempotencyKey, action.Kind, doc.IdempotencyExecuted
	entry.LastSeenAt, entry.ExpiresAt = clock.Stamp(now), clock.Stamp(now.AddDate(0, 0, days))
	entry.ExecutionCount++
	state.Idempotency[action.IdempotencyKey] = entry
	state.HourlyActionCounters[now.UTC().Format("2006-01-02-15")]++
}
