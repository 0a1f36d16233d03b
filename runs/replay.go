package runs

// Replay: reading the log of a run, and reporting its faults.

import (
	"io"
	"slices"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Modes of a replay.
const (
	ModeRaw           = "raw"
	ModeVerified      = "verified"
	ModeDeterministic = "deterministic"
	ModeLive          = "live"
)

type fileReader interface {
	io.ReadCloser
}

// ReadLog replays a run's log. A positive tail limits the result to the last tail events.
func ReadLog(w *workspace.Workspace, project, run, mode string, tail int) (events.Replay, error) {
	log, err := openLog(w, project, run)
	if err != nil {
		return events.Replay{}, err
	}
	defer log.Close()
	opts := events.ReplayOptions{Verify: mode != ModeRaw, Tail: tail}
	if opts.Verify {
		if record, err := Load(w, project, run); err == nil {
			opts.Checkpoint, opts.Closed = record.Log, doc.Terminal(record.Status)
		}
	}
	replay, err := events.ReadBack(log, opts)
	if err != nil {
		return replay, fault.New(fault.IO, "%s cannot be read: %w", workspace.LogFile(project, run), err)
	}
	if opts.Verify && contradicted(replay.VerificationIssues) {
		// A run that ended between the two reads does not contradict its log. Verify it again.
		if report, err := VerifyLog(w, project, run); err == nil && len(report.RecordIssues) == 0 {
			replay.VerificationIssues = slices.DeleteFunc(replay.VerificationIssues, isRecordIssue)
		}
	}
	return replay, nil
}

func contradicted(issues []events.VerifyIssue) bool {
	return slices.ContainsFunc(issues, isRecordIssue)
}

// isRecordIssue reports whether an issue is a contradiction with the run's record instead of a
// fault of the log itself.
func isRecordIssue(issue events.VerifyIssue) bool {
	return slices.Contains([]string{events.ShorterThanRecord, events.DiffersFromRecord}, issue.Code)
}
