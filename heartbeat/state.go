package heartbeat

// The heartbeat's state, chiefly the idempotency keys of its actions. It is read and written within
// a unit.

import (
	"fmt"
	"path"
	"strings"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// ReadState reads the state for reports. If it is invalid, ReadState returns an empty one and the
// reason in problem; it leaves the file in place.
func ReadState(w *workspace.Workspace) (state doc.HeartbeatState, problem error) {
	state, err := workspace.Load(w, doc.HeartbeatStateCodec, workspace.HeartbeatStateFile)
	if fault.Is(err, fault.NotFound) {
		return doc.EmptyHeartbeatState(), nil
	}
	if err != nil {
		return doc.EmptyHeartbeatState(), err
	}
	return state, nil
}

// State reads the state as the unit will leave it; a missing one is empty. The unit saves an
// invalid one under a .broken name with the time. It is then unknown which actions ran.
func State(u *workspace.Unit) (doc.HeartbeatState, error) {
	state, _, err := stateIn(u)
	return state, err
}

// stateIn is State. damaged is why it quarantined the state.
func stateIn(u *workspace.Unit) (state doc.HeartbeatState, damaged, err error) {
	text, err := u.Read(workspace.HeartbeatStateFile)
	if fault.Is(err, fault.NotFound) {
		return doc.EmptyHeartbeatState(), nil, nil
	}
	if err != nil {
		return state, nil, err
	}
	if state, damaged = doc.HeartbeatStateCodec.Decode(text); damaged == nil {
		return state, nil, nil
	}
	broken := fmt.Sprintf("%s%d", workspace.HeartbeatStateFile+brokenMark, u.Workspace().Env.Clock.Now().UnixMilli())
	damaged = fault.New(fault.InvalidFile, "%s was damaged and was moved to %s; until that is removed, actions wait for approval: %w", workspace.HeartbeatStateFile, broken, damaged)
	return doc.EmptyHeartbeatState(), damaged, u.Write(broken, text, 0o644)
}

// brokenMark is part of the name of a quarantined state.
const brokenMark = ".broken-"

// HasQuarantinedState reports whether a quarantined state exists. Nobody knows then which actions ran, so a
// person decides about each new one.
func HasQuarantinedState(w *workspace.Workspace) bool {
	entries, err := w.FS.ReadDir(workspace.HeartbeatDir)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), path.Base(workspace.HeartbeatStateFile)+brokenMark) {
			return true
		}
	}
	return err != nil && w.Exists(workspace.HeartbeatDir)
}

// PutState queues writing the state in a unit.
func PutState(u *workspace.Unit, state doc.HeartbeatState) error {
	text, err := doc.HeartbeatStateCodec.Encode(state)
	if err != nil {
		return err
	}
	return u.Write(workspace.HeartbeatStateFile, text, 0o644)
}

const (
	hourLayout   = "2006-01-02-15"
	keepCounters = 48 * time.Hour
)

// hourKey is the key of an hour's counter.
func hourKey(now time.Time) string { return now.UTC().Format(hourLayout) }

// Forget drops expired keys and hourly counters older than keepCounters.
func Forget(state *doc.HeartbeatState, now time.Time) {
	for key, entry := range state.Idempotency {
		if expires, ok := clock.Parse(entry.ExpiresAt); ok && !expires.After(now) {
			delete(state.Idempotency, key)
		}
	}
	for key := range state.HourlyActionCounters {
		if hour, err := time.Parse(hourLayout, key); err == nil && now.Sub(hour) > keepCounters {
			delete(state.HourlyActionCounters, key)
		}
	}
}

// WasExecuted reports whether the action with this key is known to have run. A queued action has
// not.
func WasExecuted(state doc.HeartbeatState, key string) bool {
	return state.Idempotency[key].Status == doc.IdempotencyExecuted
}

// Remember records that an action ran now, for the given number of days, and adds it to the hour's
// counter.
func Remember(state *doc.HeartbeatState, action doc.ActionBody, now time.Time, days int) {
	note(state, action, doc.IdempotencyExecuted, now, days)
	state.HourlyActionCounters[hourKey(now)]++
}

// note records an action's status under its key, and when the key expires.
func note(state *doc.HeartbeatState, action doc.ActionBody, status string, now time.Time, days int) {
	entry, known := state.Idempotency[action.IdempotencyKey]
	if !known {
		entry.FirstSeenAt = clock.Stamp(now)
	}
	entry.IdempotencyKey, entry.ActionKind, entry.Status = action.IdempotencyKey, action.Kind, status
	entry.LastSeenAt, entry.ExpiresAt = clock.Stamp(now), clock.Stamp(now.UTC().AddDate(0, 0, days)) // in UTC a day has 24 hours
	if status == doc.IdempotencyExecuted {
		entry.ExecutionCount++
	}
	state.Idempotency[action.IdempotencyKey] = entry
}
