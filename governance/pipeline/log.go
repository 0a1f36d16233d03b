package pipeline

// The logs of pipelines: one line of JSON per action.

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"

	"ac/internal/clock"
	"ac/workspace"
)

// fillLine is a line of the log of a client intake.
type fillLine struct {
	TS            string `json:"ts"`
	Event         string `json:"event"`
	Reason        string `json:"reason,omitempty"`
	Kind          string `json:"artifact_kind,omitempty"`
	Department    string `json:"department_key,omitempty"`
	ArtifactID    string `json:"artifact_id,omitempty"`
	AgentID       string `json:"agent_id,omitempty"`
	Error         string `json:"error,omitempty"`
	RunID         string `json:"run_id,omitempty"`
	ContextPackID string `json:"context_pack_id,omitempty"`
	FailureID     string `json:"failure_artifact_id,omitempty"`
}

func (l fillLine) at(ts string) any {
	l.TS = cmp.Or(l.TS, ts)
	return l
}

// assignmentLine is a line of the log of an assignment.
type assignmentLine struct {
	TS             string `json:"ts"`
	Event          string `json:"event"`
	Reason         string `json:"reason,omitempty"`
	DirectorID     string `json:"director_agent_id"`
	WorkerID       string `json:"worker_agent_id"`
	TeamID         string `json:"team_id,omitempty"`
	ExpectedTeamID string `json:"expected_team_id,omitempty"`
	ActualTeamID   string `json:"actual_team_id,omitempty"`
	TaskID         string `json:"task_id,omitempty"`
	MilestoneID    string `json:"milestone_id,omitempty"`
}

func (l assignmentLine) at(ts string) any {
	l.TS = ts
	return l
}

// logText encodes lines. Lines without a time get the current time.
func logText[L interface{ at(ts string) any }](w *workspace.Workspace, lines []L) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	ts := clock.Stamp(w.Env.Clock.Now())
	for _, line := range lines {
		if err := enc.Encode(line.at(ts)); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// freeLog returns the name of a new log of a project. It contains the first millisecond from now
// for which no log exists.
func freeLog(w *workspace.Workspace, project, kind string) string {
	for at := w.Env.Clock.Now().UnixMilli(); ; at++ {
		name := path.Join(workspace.ProjectDir(project), "logs", fmt.Sprintf("%s_%d.jsonl", kind, at))
		if !w.Exists(name) {
			return name
		}
	}
}
