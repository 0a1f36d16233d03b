package runs

// Verifying the log of a run, by itself and against its record.

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
	// verifyPatience bounds the time between writing a run's record and writing its closing
	// event. verifyPause is the interval between two checks.
	verifyPatience = 2 * time.Second
	verifyPause    = 20 * time.Millisecond
)

// VerifyLog checks a run's whole log, by itself and against the run's record. A log that is
// missing or not a file, and an unreadable record, are findings, not errors. Record and log are
// not written atomically, and a reader may see a torn last line. A contradiction or an
// unreadable last line therefore counts only once both files are stable and no process executes
// the run, or after verifyPatience.
func VerifyLog(w *workspace.Workspace, project, run string) (*events.Report, error) {
	began := w.Env.Clock.Now()
	before := ""
	for {
		report, err := verifyOnce(w, project, run)
		if err != nil || len(report.RecordIssues) == 0 && !endsUnread(report) {
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

// endsUnread reports whether the last line of a log could not be parsed.
func endsUnread(r *events.Report) bool {
	n := len(r.ParseIssues)
	return n > 0 && r.ParseIssues[n-1].Seq == r.Lines
}

// state returns a fingerprint that changes whenever log or record changes.
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
		return issueReport("log_missing", err), nil
	case err != nil:
		return issueReport("log_unreadable", err), nil
	}
	defer log.Close()
	record, err := Load(w, project, run)
	report, verifyErr := events.Verify(log, record.Log, err == nil && doc.Terminal(record.Status), nil)
	if verifyErr != nil {
		return issueReport("log_unreadable", verifyErr), nil
	}
	if err != nil {
		report.RecordIssues = append(report.RecordIssues, issueReport("record_unreadable", err).RecordIssues...)
	}
	if i := record.LogIntegrity; i != nil && !report.Tampered {
		report.RecordIssues = append(report.RecordIssues, events.VerifyIssue{Code: events.LogTampered, Message: i.String()})
	}
	return report, nil
}

func issueReport(code string, err error) *events.Report {
	return &events.Report{FirstFault: -1, RecordIssues: []events.VerifyIssue{{Code: code, Message: err.Error()}}}
}
