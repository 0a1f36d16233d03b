package worker

// The worker's durable record of an attempt.

import (
	"encoding/json"
	"path"
	"strings"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// States of an attempt, in order.
const (
	stateTaken    = "taken"    // order accepted; not known to be granted
	stateClaimed  = "claimed"  // granted; nothing started
	stateStarting = "starting" // the supervisor may have been started
	stateStarted  = "started"  // the session exists
	stateOver     = "over"     // the session has ended
	stateSettled  = "settled"  // the hub has recorded the end
)

// record is attempts/<attempt>.json.
type record struct {
	Attempt string      `json:"attempt"`
	State   string      `json:"state"`
	Order   fleet.Order `json:"order"`
	// Base is the size in bytes of the run's log before this session. Taken is when the worker
	// accepted the order, by its own clock, in Unix milliseconds.
	Base  int64 `json:"base"`
	Taken int64 `json:"taken_at_ms"`
	// Sent and Sealed are draft numbers. Generation counts resends.
	Sent       int64 `json:"sent"`
	Sealed     int64 `json:"sealed"`
	Generation int64 `json:"generation"`
	// LeaseS is the lease. HeardAt is when the worker sent the last beat that the hub answered,
	// as time since the machine started.
	LeaseS   int64  `json:"lease_s"`
	OnCutOff string `json:"on_cut_off"`
	HeardAt  int64  `json:"heard_at_ms"`
	// Reason is why the worker itself ended the session. Fenced means that the hub accepts
	// nothing more of the attempt.
	Reason string `json:"reason,omitempty"`
	Fenced bool   `json:"fenced,omitempty"`
	// Results are packed once. SettledAt is in Unix milliseconds. SettledUp is the same moment as
	// time since the machine started.
	Results   *fleet.Results `json:"results,omitempty"`
	Packed    bool           `json:"packed,omitempty"`
	Delivered bool           `json:"delivered,omitempty"` // the hub has stored the objects
	SettledAt int64          `json:"settled_at_ms,omitempty"`
	SettledUp int64          `json:"settled_up_ms,omitempty"`
}

// reasonLease is the reason of a session that the worker stopped at the end of its lease.
const reasonLease = "lease_over"

// maxRecord is the maximum size of an attempt's record in bytes. It contains the order.
const maxRecord = 2 << 20

func recordFile(attempt string) string { return path.Join(attemptsDir, attempt+".json") }

// attempts reads the records of the folder. An unreadable record is an error: ignoring it could
// lose its session or start it twice.
func (f *Folder) attempts() ([]record, error) {
	names, err := workspace.Files(f.fs, attemptsDir, ".json")
	if err != nil {
		return nil, err
	}
	var list []record
	for _, name := range names {
		attempt := strings.TrimSuffix(name, ".json")
		if !fleet.IsAttempt(attempt) {
			continue
		}
		text, err := durable.ReadFile(f.fs, recordFile(attempt), maxRecord)
		if err != nil {
			return nil, err
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil || r.Attempt != attempt {
			return nil, fault.New(fault.InvalidFile, "%s cannot be read; move it away to give the attempt up", recordFile(attempt))
		}
		list = append(list, r)
	}
	return list, nil
}

// writeRecord writes the record of an attempt. It is durable on return, unless it is a hint.
func (f *Folder) writeRecord(r record, hint bool) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if hint {
		return f.hint(recordFile(r.Attempt), text)
	}
	return f.write(recordFile(r.Attempt), text)
}

// removeRecord removes the record of an attempt. The removal is durable on return.
func (f *Folder) removeRecord(attempt string) error {
	if err := f.fs.Remove(recordFile(attempt)); err != nil && !durable.IsAbsent(err) {
		return err
	}
	return f.fs.SyncDir(attemptsDir)
}
