package mcp

// Tools for asking people and for launching jobs.

import (
	"context"
	"strings"
	"time"

	"ac/company/decisions"
	"ac/internal/fault"
	"ac/rpc"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

type askArguments struct {
	_             struct{} `is:"strict"`
	Question      string   `json:"question" is:"optional,maxbytes=16384"`
	Options       []string `json:"options" is:"optional"`
	MultiSelect   bool     `json:"multi_select" is:"default=false"`
	Context       string   `json:"context" is:"optional,maxbytes=16384"`
	WaitMS        int64    `json:"wait_ms" is:"default=45000,min=0,max=600000"`
	ExpiresMS     int64    `json:"expires_ms" is:"optional,min=1000,max=86400000"`
	InteractionID string   `json:"interaction_id" is:"optional,id"`
}

// CheckFields checks that the arguments are either a question or the id of one.
func (a *askArguments) CheckFields() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	switch asks := a.Options != nil || a.MultiSelect || a.Context != "" || a.ExpiresMS != 0; {
	case a.InteractionID != "" && (a.Question != "" || asks):
		refuse("interaction_id", "stands alone, or with wait_ms")
	case a.InteractionID == "" && strings.TrimSpace(a.Question) == "":
		refuse("question", "must not be blank")
	}
	if n := len(a.Options); a.Options != nil && (n < grant.MinOptions || n > grant.MaxOptions) {
		refuse("options", "must have 2 to 8 items")
	}
	for _, label := range a.Options {
		if strings.TrimSpace(label) == "" || len(label) > grant.MaxText {
			refuse("options", "must not be blank, and at most 16384 bytes long")
		}
	}
	if a.MultiSelect && a.Options == nil {
		refuse("multi_select", "is for questions with options")
	}
	return issues
}

// answer is the result of ask_human.
type answer struct {
	InteractionID string   `json:"interaction_id"`
	State         string   `json:"state"`
	Answer        string   `json:"answer,omitempty"`
	Answers       []string `json:"answers,omitempty"`
	By            string   `json:"by,omitempty"`
}

// progressEvery is how often a waiting call reports progress.
const progressEvery = 10 * time.Second

func (s *Server) askHuman(ctx context.Context, a askArguments) (answer, error) {
	record, err := s.Client.Ask(ctx, grant.Ask{InteractionID: a.InteractionID, Question: grant.Question{
		Text: a.Question, Options: a.Options, MultiSelect: a.MultiSelect, Context: a.Context, ExpiresMS: a.ExpiresMS,
	}})
	if err != nil {
		return answer{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, time.Duration(a.WaitMS)*time.Millisecond)
	defer cancel()
	for record.State == interaction.Open && waiting.Err() == nil {
		step, done := context.WithTimeout(waiting, progressEvery)
		record, err = s.Client.Await(step, record.InteractionID)
		done()
		if err != nil {
			return answer{}, err
		}
		if record.State == interaction.Open && waiting.Err() == nil {
			select {
			case <-s.Client.Gone():
				return answer{}, fault.New(fault.Denied, "the session is over")
			default:
				rpc.Progress(ctx, "waiting for an answer")
			}
		}
	}
	return answerOf(record), nil
}

// answerOf converts an interaction to the result for the agent.
func answerOf(r interaction.Record) answer {
	a := answer{InteractionID: r.InteractionID, State: r.State, By: r.By}
	switch {
	case r.State != interaction.Answered:
	case len(r.Answers[grant.AnswerID]) > 0:
		a.Answers = r.Answers[grant.AnswerID]
		a.Answer = strings.Join(a.Answers, ", ")
	case r.Text != nil:
		a.Answer = *r.Text
	}
	return a
}

type launchArguments struct {
	_               struct{}  `is:"strict"`
	Goal            string    `json:"goal" is:"maxbytes=65536"`
	WorkerAgentID   string    `json:"worker_agent_id" is:"optional,id"`
	Deliverables    []string  `json:"deliverables" is:"optional"`
	Constraints     []string  `json:"constraints" is:"optional"`
	PermissionLevel doc.Level `json:"permission_level" is:"default=read-only,enum=read-only|patch|run-commands"`
}

type launched struct {
	JobID  string `json:"job_id"`
	Status string `json:"status"`
}

func (s *Server) launchJob(ctx context.Context, a launchArguments) (launched, error) {
	id := callerOf(ctx)
	if !id.LaunchJobs {
		return launched{}, fault.New(fault.Denied, "launch.session: this session was not launched with mcp_launch_jobs")
	}
	job, err := do(ctx, s, decisions.Operations.AgentLaunch, decisions.AgentLaunchParams{
		AsAgent: agentOf(id), Goal: a.Goal, WorkerAgentID: a.WorkerAgentID, Deliverables: a.Deliverables, Constraints: a.Constraints,
		PermissionLevel: a.PermissionLevel, Level: doc.Level(id.PermissionLevel),
	})
	if err != nil {
		return launched{}, err
	}
	// The job is recorded. If its runner does not start now, the next reader of the job starts one.
	if err := s.Client.StartJob(ctx, job); err != nil {
		return launched{}, fault.New(fault.ReasonOf(err), "job %s is queued, and its runner was not started: %w", job, err)
	}
	return launched{job, doc.JobQueued}, nil
}
