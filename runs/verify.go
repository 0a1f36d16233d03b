package runs

// Verifying the log of a run against itself and against its record.

import (
	"fmt"
	"strings"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// verifyPatience bounds how long a run may take between the writing of its
	// record and that of its closing event, verifyPause the time between two looks.
	verifyPatience = 2 * time.Second
	verifyPause    = 20 * time.Millisecond
)

// VerifyLog checks a run's whole log against itself and against what the run
// recorded of it. A log that is missing or is no file, and a record that cannot be
// read, are findings, not errors. Record and log are not written at one moment: what
// one says against the other is a finding once both stay as they are and nobody
// executes the run.
func VerifyLog(w *workspace.Workspace, project, run string) (*events.Report, error) {
	began := w.Env.Clock.Now()
	before := ""
	for {
		report, err := verifyOnce(w, project, run)
		if err != nil || len(report.RecordIssues) == 0 {
			return report, err
		}
		now := state(w, project, run)
		if (now == before && !session.RunAlive(w, project, run)) || w.Env.Clock.Since(began) > verifyPatience {
			return report, nil
		}
		before = now
		time.Sleep(verifyPause)
	}
}

// state tells whether log or record were changed.
func state(w *workspace.Workspace, project, run string) string {
	var text strings.Builder
	for _, name := range []string{workspace.RunFile(project, run), workspace.LogFile(project, run)} {
		if st, err := w.FS.Lstat(name); err == nil {
			_, _ = fmt.Fprintln(&text, st.Size(), st.ModTime().UnixNano()) // into memory
		}
	}
	return text.String()
}

func verifyOnce(w *workspace.Workspace, project, run string) (*events.Report, error) {
	log, err := openLog(w, project, run)
	switch {
	case fault.Is(err, fault.NotFound):
		return found("log_missing", err), nil
	case err != nil:
		return found("log_unreadable", err), nil
	}
	defer log.Close()
	record, err := Load(w, project, run)
	report, verifyErr := events.Verify(log, record.Log, err == nil && doc.Terminal(record.Status), nil)
	if verifyErr != nil {
		return found("log_unreadable", verifyErr), nil
	}
	if err != nil {
		report.RecordIssues = append(report.RecordIssues, found("record_unreadable", err).RecordIssues...)
	}
	if i := record.LogIntegrity; i != nil && !report.Tampered {
		report.RecordIssues = append(report.RecordIssues, events.VerifyIssue{Code: events.LogTampered, Message: i.String()})
	}
	return report, nil
}

func found(code string, err error) *events.Report {
	return &events.Report{FirstFault: -1, RecordIssues: []events.VerifyIssue{{Code: code, Message: err.Error()}}}
}
