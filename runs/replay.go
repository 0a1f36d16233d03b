package runs

// Replay: the log of a run as it stands, and what is wrong with it.

import (
	"io"

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

// ReadLog replays a run's log; tail, when positive, keeps the last events only.
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
	return replay, nil
}

// VerifyLog checks a run's whole log against itself and against what the run
// recorded of it. A log that is missing and a record that cannot be read are
// findings, not errors.
func VerifyLog(w *workspace.Workspace, project, run string) (*events.Report, error) {
	log, err := openLog(w, project, run)
	if fault.Is(err, fault.NotFound) {
		return found("log_missing", err), nil
	}
	if err != nil {
		return nil, err
	}
	defer log.Close()
	record, err := Load(w, project, run)
	report, verifyErr := events.Verify(log, record.Log, err == nil && doc.Terminal(record.Status), nil)
	if err != nil && verifyErr == nil {
		report.RecordIssues = append(report.RecordIssues, found("record_unreadable", err).RecordIssues...)
	}
	return report, verifyErr
}

func found(code string, err error) *events.Report {
	return &events.Report{FirstFault: -1, RecordIssues: []events.VerifyIssue{{Code: code, Message: err.Error()}}}
}
