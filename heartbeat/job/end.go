package job

// The end of a job: one unit writes result, digest, report and record.

import (
	"bytes"
	"context"
	"encoding/json"

	"ac/internal/clock"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// Codes of errors in results.
const (
	CodeWorkerUnavailable = "worker_unavailable"
	CodeUnverified        = "subscription_unverified"
	CodeAttemptFailed     = "worker_attempt_failed"
	CodeRunnerError       = "job_runner_error"
	CodeInterrupted       = "job_interrupted"
)

// jobEnd is how a job ends.
type jobEnd struct {
	result  doc.JobResult
	report  *doc.HeartbeatReport
	answer  *doc.JobAnswer
	signals Signals
	// failure marks the end after a runner failure. Its error is kept even if the job was canceled.
	failure bool
	// last is the final record of the last attempt, if it is not stored yet.
	last *doc.JobAttempt
}

// blank returns an empty result, made by ac itself.
func blank(status, summary string) doc.JobResult {
	return doc.JobResult{
		SchemaVersion: doc.Version, Type: "result", Status: status, Summary: summary,
		FilesChanged: []doc.FileChanged{}, CommandsRun: []doc.CommandRun{}, Artifacts: []doc.JobArtifact{},
		NextActions: []doc.NextAction{}, Errors: []doc.JobError{},
	}
}

func withError(r doc.JobResult, code, message, next string) doc.JobResult {
	r.Errors = []doc.JobError{{Code: code, Message: message}}
	if next != "" {
		r.NextActions = []doc.NextAction{{Action: next}}
	}
	return r
}

func runnerFailed(cause error) jobEnd {
	return jobEnd{
		result:  withError(blank(doc.ResultFailed, "The job could not be run: "+cause.Error()), CodeRunnerError, cause.Error(), ""),
		signals: Signals{UnhandledError: true}, failure: true,
	}
}

// proseFailed is the end of a job that asks for prose and whose agent's session failed.
func proseFailed(issues []doc.JobError) jobEnd {
	result := blank(doc.ResultFailed, "The worker's session failed.")
	result.Errors = issues
	if len(issues) > 0 {
		result.Summary = cut("The worker's session failed: "+issues[0].Message, digestSummary)
	}
	return jobEnd{result: result, signals: Signals{RetriesUsed: new(0), Normalization: "session_failed"}}
}

func canceledEnd() jobEnd {
	return jobEnd{
		result:  blank(doc.ResultCanceled, "The job was canceled."),
		signals: Signals{Canceled: true},
	}
}

func interruptedEnd() jobEnd {
	return jobEnd{
		result: withError(blank(doc.ResultFailed, "The job's runner died, and its last attempt left no usable output."), CodeInterrupted,
			"the runner of the job died before it ended", "Submit the job again."),
		signals: Signals{Interrupted: true},
	}
}

func unavailableEnd(why string) jobEnd {
	return jobEnd{
		result: withError(blank(doc.ResultBlocked, "No worker is available: "+why), CodeWorkerUnavailable, why,
			"Add an agent whose provider fits the job, or name another worker."),
		signals: Signals{Reason: CodeWorkerUnavailable},
	}
}

func blockedEnd(provider, message string) jobEnd {
	return jobEnd{
		result: withError(blank(doc.ResultBlocked, "The worker may not be used: "+message), CodeUnverified, message,
			"Log the worker's CLI in, or change the execution policy of this machine."),
		signals: Signals{BlockedReason: CodeUnverified, Provider: provider},
	}
}

// refusedEnd is the end of a job whose worker reported why no attempt can succeed.
func refusedEnd(provider, kind, words, mend string) jobEnd {
	result := withError(blank(doc.ResultBlocked, "The worker failed ("+kind+"): "+cut(words, digestText)), CodeAttemptFailed, words, mend)
	result.Errors[0].Details = "error_kind: " + kind
	return jobEnd{result: result, signals: Signals{BlockedReason: kind, Provider: provider}}
}

// exhaustedEnd is the end after the last attempt gave no valid answer.
func exhaustedEnd(issues []doc.JobError, attempts int) jobEnd {
	result := blank(doc.ResultNeedsInput, "No attempt gave a valid result.")
	result.Errors = issues
	result.NextActions = []doc.NextAction{{Action: "Check the output of the attempts, then submit the job again with a clearer goal."}}
	last := ""
	if len(issues) > 0 {
		last = issues[0].Code + ": " + issues[0].Message
	}
	return jobEnd{result: result, signals: Signals{RetriesUsed: new(attempts - 1), Normalization: "fallback_needs_input", LastValidationError: last}}
}

// acceptedEnd is the end with the worker's accepted answer. It completes proposed files from the job's
// repository, see propose.
func acceptedEnd(w *workspace.Workspace, job promptRequest, a acceptedAnswer, attempt int) jobEnd {
	if a.answer != nil && a.answer.Answer.Files != nil {
		a.answer = completeFiles(w, job, *a.answer)
	}
	e := jobEnd{result: a.result, report: a.report, answer: a.answer, signals: Signals{RetriesUsed: new(attempt - 1), Normalization: "schema_valid"}}
	switch {
	case a.answer != nil:
		e.signals.Normalization = "answer_valid"
	case a.report != nil:
		e.signals.Normalization, e.signals.HeartbeatStatus = "heartbeat_report_valid", a.report.Status
	}
	return e
}

// finish ends a job and writes all its files in one unit. It leaves a finished job unchanged. A job
// with a cancellation request ends as canceled.
func finish(ctx context.Context, w *workspace.Workspace, p jobRef, e jobEnd) (record doc.Job, err error) {
	ended := false
	err = w.Update(ctx, func(u *workspace.Unit) error {
		record, err = p.loadIn(u)
		if err != nil || record.Over() {
			return err
		}
		ended = true
		if e.last != nil && !record.CancellationRequested { // else it was stopped
			if a := attemptIn(&record, e.last.Attempt); a != nil && a.Status == doc.AttemptRunning {
				*a = *e.last
			}
		}
		asked := record.CancellationRequested
		switch {
		case asked && e.failure:
			e.result.Status = doc.ResultCanceled
		case asked && e.result.Status != doc.ResultCanceled:
			e = canceledEnd()
		}
		p.close(w, &record, e.result.Status)
		e.result.JobID = p.id
		if e.result.AttemptRunID == "" {
			e.result.AttemptRunID = "none"
			if last := record.Last(); last != nil {
				e.result.AttemptRunID = last.RunID
			}
		}
		return p.write(u, record, e)
	})
	if err == nil && ended {
		suggest(ctx, w, record)
	}
	return record, err
}

// close marks a record as finished, and its running attempts as failed or stopped.
func (p jobRef) close(w *workspace.Workspace, record *doc.Job, status string) {
	record.Status, record.FinalResultRelpath = doc.JobCompleted, p.resultRelpath()
	left, why := doc.AttemptFailed, "its runner died before the end was recorded"
	if status == doc.ResultCanceled {
		record.Status, left, why = doc.JobCanceled, doc.AttemptStopped, "stopped: the job was canceled"
	}
	for i := range record.Attempts {
		a := &record.Attempts[i]
		if a.Status == doc.AttemptRunning {
			a.Status, a.Error, a.EndedAt = left, why, clock.Stamp(w.Env.Clock.Now())
		}
	}
}

// write queues the files of an end and the removal of the owner file.
func (p jobRef) write(u *workspace.Unit, record doc.Job, e jobEnd) error {
	type document struct {
		name  string
		value any
	}
	documents := []document{{p.result(), e.result}, {p.digest(), digestOf(e.result, e.signals)}}
	if e.report != nil {
		documents = append(documents, document{p.report(), e.report})
	}
	if e.answer != nil {
		documents = append(documents, document{p.answer(), e.answer})
	}
	for _, d := range documents {
		text, err := indented(d.value)
		if err != nil {
			return err
		}
		if err := u.Write(d.name, text, 0o644); err != nil {
			return err
		}
	}
	if err := p.put(u, record); err != nil {
		return err
	}
	return u.Remove(p.owner())
}

// indented encodes a value as indented JSON.
func indented(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return text.Bytes(), err
}

// Digest is jobs/<job_id>/manager_digest.json: a short form of the result.
type Digest struct {
	JobID        string            `json:"job_id"`
	AttemptRunID string            `json:"attempt_run_id"`
	Status       string            `json:"status"`
	Summary      string            `json:"summary"`
	FilesChanged []doc.FileChanged `json:"files_changed"`
	CommandsRun  []doc.CommandRun  `json:"commands_run"`
	Artifacts    []doc.JobArtifact `json:"artifacts"`
	NextActions  []doc.NextAction  `json:"next_actions"`
	Errors       []doc.JobError    `json:"errors"`
	Signals      Signals           `json:"signals"`
}

// Signals describe how a job ended.
type Signals struct {
	RetriesUsed         *int   `json:"retries_used,omitempty" is:"optional"`
	Normalization       string `json:"normalization,omitempty" is:"optional"`
	HeartbeatStatus     string `json:"heartbeat_status,omitempty" is:"optional"`
	LastValidationError string `json:"last_validation_error,omitempty" is:"optional"`
	Reason              string `json:"reason,omitempty" is:"optional"`
	BlockedReason       string `json:"blocked_reason,omitempty" is:"optional"`
	Provider            string `json:"provider,omitempty" is:"optional"`
	Canceled            bool   `json:"canceled,omitempty" is:"optional"`
	UnhandledError      bool   `json:"unhandled_error,omitempty" is:"optional"`
	Interrupted         bool   `json:"interrupted,omitempty" is:"optional"`
}

var digestCodec = yamldoc.For[Digest]()

const (
	digestItems   = 20
	digestSummary = 1200
	digestText    = 220
	digestNote    = 180
)

// digestOf returns the digest of a result.
func digestOf(r doc.JobResult, signals Signals) Digest {
	d := Digest{
		JobID: r.JobID, AttemptRunID: r.AttemptRunID, Status: r.Status, Summary: cut(r.Summary, digestSummary),
		FilesChanged: []doc.FileChanged{}, CommandsRun: []doc.CommandRun{}, Artifacts: []doc.JobArtifact{},
		NextActions: []doc.NextAction{}, Errors: first(r.Errors), Signals: signals,
	}
	for _, f := range first(r.FilesChanged) {
		f.Summary = cut(f.Summary, digestNote)
		d.FilesChanged = append(d.FilesChanged, f)
	}
	for _, c := range first(r.CommandsRun) {
		c.Command, c.Summary = cut(c.Command, digestText), cut(c.Summary, digestNote)
		d.CommandsRun = append(d.CommandsRun, c)
	}
	d.Artifacts = append(d.Artifacts, r.Artifacts...)
	for _, n := range first(r.NextActions) {
		d.NextActions = append(d.NextActions, doc.NextAction{Action: cut(n.Action, digestText), Rationale: cut(n.Rationale, digestText)})
	}
	return d
}

func first[T any](list []T) []T { return append([]T{}, list[:min(len(list), digestItems)]...) }

// cut truncates a text to n characters. The last three of a truncated text are dots.
func cut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n-3]) + "..."
}
