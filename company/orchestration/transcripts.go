package orchestration

// run.transcript and events.replay: the history of a run, as items and as events.

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"ac/company"
	"ac/feed"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/transcript"
	"ac/workspace"
	"ac/workspace/doc"
)

// TranscriptParams are the params of run.transcript.
type TranscriptParams struct {
	company.Dir
	ProjectID string   `json:"project_id" is:"id"`
	RunID     string   `json:"run_id" is:"id"`
	SinceSeq  int64    `json:"since_seq" is:"optional,min=0"`
	UntilSeq  *int64   `json:"until_seq" is:"optional,min=0"`
	Tail      int      `json:"tail" is:"optional,min=1,cut=5000"`
	Limit     int      `json:"limit" is:"optional,min=1,cut=5000"`
	Kinds     []string `json:"kinds" is:"optional"`
}

// CheckFields rejects unknown kinds.
func (p *TranscriptParams) CheckFields() (issues []fault.Issue) {
	for i, kind := range p.Kinds {
		if known := transcript.Kinds(); !slices.Contains(known, kind) {
			issues = append(issues, fault.Issue{Path: []any{"kinds", i}, Code: "invalid_value", Message: "is no kind of items", Values: known})
		}
	}
	return issues
}

// TranscriptResult is the result of run.transcript.
type TranscriptResult struct {
	RunID      string `json:"run_id"`
	ProjectID  string `json:"project_id"`
	Status     string `json:"status"`
	Activity   string `json:"activity,omitempty"`
	SessionRef string `json:"session_ref,omitempty"`
	Turn       int    `json:"turn"`
	transcript.Page
	Continuable Continuable `json:"continuable"`
}

// Continuable reports whether a finished or idle run can continue now, and from which context:
// its agent's own, or a digest.
type Continuable struct {
	OK     bool         `json:"ok"`
	Reason fault.Reason `json:"reason,omitempty"`
	Resume string       `json:"resume"`
}

// Transcript returns the transcript of a run, up to the end of its log or up to UntilSeq.
func (c Operations) Transcript(ctx context.Context, p TranscriptParams) (result TranscriptResult, err error) {
	result = TranscriptResult{RunID: p.RunID, ProjectID: p.ProjectID}
	var state transcript.State
	var forgets bool
	err = c.Host().Logs().Transcript(ctx, c.Workspace(), p.ProjectID, p.RunID, p.UntilSeq, func(f *transcript.Fold) {
		state, forgets = f.State(), f.CannotResume()
		result.Page = f.Page(transcript.Query{Since: p.SinceSeq, Tail: p.Tail, Limit: p.Limit, Kinds: p.Kinds})
	})
	if err != nil {
		return result, err
	}
	run, err := runs.Load(c.Workspace(), p.ProjectID, p.RunID)
	if err != nil {
		return result, err
	}
	if p.UntilSeq == nil && doc.Terminal(run.Status) {
		state.Status, state.Activity = run.Status, "" // the log may lack the end
	}
	result.Status, result.Activity, result.SessionRef, result.Turn = state.Status, state.Activity, state.SessionRef, state.Turn
	result.Continuable = c.continuable(run, state, forgets)
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		err = c.asWorkflow(ctx, &result, p.UntilSeq == nil)
	}
	return result, err
}

// Ways to resume a conversation.
const (
	resumeProvider = "provider"
	resumeDigest   = "digest"
)

// continuable reports how a run could be continued now. forgets means that its agent cannot
// resume a conversation.
func (c Operations) continuable(run doc.Run, state transcript.State, forgets bool) Continuable {
	known := Continuable{Resume: resumeDigest}
	driver := doc.ProviderNamed(run.Provider).Driver
	live := ""
	if run.Live != nil {
		live = run.Live.Driver
	}
	words, _ := runs.CommandTemplate(c.Workspace(), run) // empty if the agent's document is unreadable
	asBefore := live != "" && live != session.DriverCommand || driver == doc.Codex || driver == doc.Claude
	if run.ProviderSessionID != "" && asBefore && !forgets {
		known.Resume = resumeProvider
	}
	// The supervisor of a finished run is about to exit and does not count as alive.
	switch alive := !doc.Terminal(run.Status) && session.RunAlive(c.Workspace(), run.ProjectID, run.ID); {
	case alive && state.Activity != transcript.ActivityIdle:
		known.Reason = fault.RunBusy
	case alive:
		known.OK, known.Resume = true, resumeProvider
	case run.Spec == nil && !doc.Terminal(run.Status) || driver == "" && live == "" && len(words) == 0:
		known.Reason = fault.RunNotResumable
	case run.Spec != nil && run.Spec.WorktreeRel != "" && !c.Workspace().Exists(run.Spec.WorktreeRel):
		known.Reason = fault.WorktreeGone
	case job.OpenJobOf(c.Workspace(), run.ProjectID, state.SessionRef, run.ID) != "":
		known.Reason = fault.RunOwnedByJob
	default:
		known.OK = true
	}
	return known
}

// ReplayEventsParams are the params of events.replay.
type ReplayEventsParams struct {
	company.Dir
	ProjectID  string   `json:"project_id" is:"id"`
	RunID      string   `json:"run_id" is:"id"`
	SinceSeq   int64    `json:"since_seq" is:"optional,min=0"`
	UntilSeq   *int64   `json:"until_seq" is:"optional,min=0"`
	Limit      int      `json:"limit" is:"default=200,min=1,cut=1000"`
	EventTypes []string `json:"event_types" is:"optional"`
}

// ReplayEventsResult is the result of events.replay.
type ReplayEventsResult struct {
	RunID     string           `json:"run_id"`
	ProjectID string           `json:"project_id"`
	Events    []feed.PageEvent `json:"events"`
	NextSeq   int64            `json:"next_seq"`
	HeadSeq   int64            `json:"head_seq"`
	More      bool             `json:"more"`
}

// ReplayEvents returns the events of a run after a seq, page by page.
func (c Operations) ReplayEvents(ctx context.Context, p ReplayEventsParams) (ReplayEventsResult, error) {
	page, err := c.Host().Logs().Replay(ctx, c.Workspace(), feed.PageSpec{
		Project: p.ProjectID, Run: p.RunID, Since: p.SinceSeq, Until: p.UntilSeq, Limit: p.Limit, Types: p.EventTypes,
	})
	return ReplayEventsResult{p.RunID, p.ProjectID, page.Events, page.Next, page.Head, page.More}, err
}

// LastMessage returns the agent's last message in a run, "" if there is none yet.
func (c Operations) LastMessage(ctx context.Context, p NamedRunParams) (string, error) {
	run, err := c.FindRun(ctx, p)
	if err != nil {
		return "", err
	}
	text, err := durable.ReadFile(c.Workspace().FS, path.Join(workspace.RunDir(run.ProjectID, run.RunID), "outputs", "last_message.md"), 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
