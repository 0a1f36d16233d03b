package events

// Replay: reading a log back for people, including its faults.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Replay is a log read back. Events are the raw lines.
type Replay struct {
	Events             []json.RawMessage
	ParseIssues        []ParseIssue
	VerificationIssues []VerifyIssue
	DeterministicOK    bool
}

// ReplayOptions select what ReadBack reads and checks.
type ReplayOptions struct {
	// Verify also checks the hash chain. Without it DeterministicOK is never set.
	Verify bool
	// Tail, if positive, keeps only the last events and their issues.
	Tail int
	// Checkpoint is the run's record of its log, nil for none. Closed means that the run is over.
	Checkpoint *Checkpoint
	Closed     bool
	// LeftOut are the events that a copy of a log omits. ReadBack reports them as one issue.
	LeftOut []Gap
}

// ReadBack replays a log.
func ReadBack(r io.Reader, opts ReplayOptions) (Replay, error) {
	replay := Replay{Events: []json.RawMessage{}, ParseIssues: []ParseIssue{}, VerificationIssues: []VerifyIssue{}}
	tail := opts.Tail
	keep := func(line Line) {
		replay.Events = append(replay.Events, bytes.Clone(bytes.TrimSpace(line.Raw)))
		if tail > 0 && len(replay.Events) >= 2*tail {
			replay.Events = append(replay.Events[:0:0], replay.Events[len(replay.Events)-tail:]...)
		}
	}
	report, err := verifyWith(r, Verifier{LeftOut: opts.LeftOut}, opts.Checkpoint, opts.Closed, keep)
	if err != nil {
		return replay, err
	}
	if tail > 0 && len(replay.Events) > tail {
		replay.Events = replay.Events[len(replay.Events)-tail:]
	}
	if report.ParseIssues != nil {
		replay.ParseIssues = report.ParseIssues
	}
	if !opts.Verify {
		return replay, nil
	}
	first := report.Events - int64(len(replay.Events))
	for _, issue := range report.VerificationIssues {
		if issue.Seq > first {
			replay.VerificationIssues = append(replay.VerificationIssues, issue)
		}
	}
	replay.VerificationIssues = append(replay.VerificationIssues, report.RecordIssues...)
	if missing := leftOut(opts.LeftOut); missing != nil {
		replay.VerificationIssues = append(replay.VerificationIssues, *missing)
	}
	replay.DeterministicOK = len(replay.ParseIssues)+len(replay.VerificationIssues) == 0
	return replay, nil
}

// leftOut returns the issue that reports omitted events, nil if there are none.
func leftOut(gaps []Gap) *VerifyIssue {
	count := 0
	for _, g := range gaps {
		count += len(g.EventHashes)
	}
	switch count {
	case 0:
		return nil
	case 1:
		return &VerifyIssue{Seq: gaps[0].After + 1, Code: EventsLeftOut, Message: "1 event is not in this pack"}
	}
	return &VerifyIssue{Seq: gaps[0].After + 1, Code: EventsLeftOut, Message: fmt.Sprintf("%d events are not in this pack", count)}
}
