package workflow

// The events of a workflow run, in the log of the run.

import (
	"crypto/sha256"
	"encoding/hex"

	"ac/events"
	"ac/internal/lazyregexp"
	"ac/workspace/doc"
)

const (
	eventStarted     = events.WorkflowStarted
	eventStepStarted = events.WorkflowStepStarted
	eventStepEnded   = events.WorkflowStepEnded
	eventRound       = events.WorkflowRound
	eventEnded       = events.WorkflowEnded
	eventNotice      = events.WorkflowNotice
)

type startedPayload struct {
	WorkflowID *string `json:"workflow_id"`
	Name       string  `json:"name"`
	Pattern    string  `json:"pattern"`
	StepCount  int     `json:"step_count"`
}

type stepStartedPayload struct {
	Step      string  `json:"step"`
	Node      string  `json:"node"`
	Path      string  `json:"path"`
	Iteration int     `json:"iteration"`
	AgentID   *string `json:"agent_id"`
	JobID     *string `json:"job_id"`
}

func startedOf(s doc.FlowStep) stepStartedPayload {
	return stepStartedPayload{s.Step, s.Node, s.Path, s.Iteration, orNull(s.AgentID), orNull(s.JobID)}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

type stepEndedPayload struct {
	Step   string         `json:"step"`
	Status string         `json:"status"`
	Chars  int            `json:"chars"`
	Error  *doc.FlowError `json:"error"`
}

type roundPayload struct {
	Round int `json:"round"`
}

type endedPayload struct {
	Status string         `json:"status"`
	Error  *doc.FlowError `json:"error"`
}

type noticePayload struct {
	Message string `json:"message"`
}

var ulidOfRun = lazyregexp.New(`^run_([0-9A-HJKMNP-TV-Z]{26})$`)

// JobID returns the job id of a step. It is a function of run and step, so a step never gets a
// second job. If a client chose the run's id, a hash replaces it.
func JobID(run, step string) string {
	sum := sha256.Sum256([]byte(run))
	name := hex.EncodeToString(sum[:])[:26]
	if m := ulidOfRun().FindStringSubmatch(run); m != nil {
		name = m[1]
	}
	return "job_" + name + "_" + step
}
