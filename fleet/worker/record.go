package worker

// What a worker remembers of an attempt.

import (
	"encoding/json"
	"path"
	"strings"

	"ac/fleet"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// States of an attempt, in their order.
const (
	stateTaken    = "taken"    // an order came; the hub may not have granted it
	stateClaimed  = "claimed"  // granted, nothing was started
	stateStarting = "starting" // the supervisor may have been started
	stateStarted  = "started"  // there is a session
	stateOver     = "over"     // the session has ended
	stateSettled  = "settled"  // the hub has recorded the end
)

// record is attempts/<attempt>.json.
type record struct {
	Attempt string      `json:"attempt"`
	State   string      `json:"state"`
	Order   fleet.Order `json:"order"`
	// Base are the bytes of the run's log before this session, Taken is when the order was
	// taken, by the clock of the worker, in Unix milliseconds.
	Base  int64 `json:"base"`
	Taken int64 `json:"taken_at_ms"`
	// Sent and Sealed are numbers of drafts, Generation counts what was sent again.
	Sent       int64 `json:"sent"`
	Sealed     int64 `json:"sealed"`
	Generation int64 `json:"generation"`
	// LeaseS is the lease, HeardAt the time since the machine was started at which the
	// last beat was sent that the hub answered.
	LeaseS   int64  `json:"lease_s"`
	OnCutOff string `json:"on_cut_off"`
	HeardAt  int64  `json:"heard_at_ms"`
	// Reason is why the worker itself ended the session, Fenced that nothing of it counts.
	Reason string `json:"reason,omitempty"`
	Fenced bool   `json:"fenced,omitempty"`
	// Results are packed once; SettledAt is in Unix milliseconds, SettledUp the time since the
	// machine was started.
	Results   *fleet.Results `json:"results,omitempty"`
	Packed    bool           `json:"packed,omitempty"`
	Delivered bool           `json:"delivered,omitempty"` // the hub has the objects
	SettledAt int64          `json:"settled_at_ms,omitempty"`
	SettledUp int64          `json:"settled_up_ms,omitempty"`
}

// reasons of ends that the worker causes.
const reasonLease = "lease_over"

// maxRecord bounds the file of an attempt: it holds its order.
const maxRecord = 2 << 20

func recordFile(attempt string) string { return path.Join(attemptsDir, attempt+".json") }

// attempts reads the records of the folder. One that cannot be read is an error: what it
// tells of could be lost, or started twice.
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

// keep writes the record of an attempt. A hint is not synced.
func (f *Folder) keep(r record, hint bool) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if hint {
		return f.hint(recordFile(r.Attempt), text)
	}
	return f.write(recordFile(r.Attempt), text)
}

// drop removes the record of an attempt; it is durable when drop returns.
func (f *Folder) drop(attempt string) error {
	if err := f.fs.Remove(recordFile(attempt)); err != nil && !durable.Absent(err) {
		return err
	}
	return f.fs.SyncDir(attemptsDir)
}
