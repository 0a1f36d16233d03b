package orchestration

// Actions on live sessions: run.steer, run.interrupt, run.compact and interaction.respond.

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"ac/company"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/heartbeat/workflow"
	"ac/internal/canonjson"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace/doc"
)

// actParams are the params of every action on a run.
type actParams struct {
	company.Dir
	ProjectID   string `json:"project_id" is:"id"`
	RunID       string `json:"run_id" is:"id"`
	ActorID     string `json:"actor_id" is:"default=human"`
	ActorRole   string `json:"actor_role" is:"default=human,role"`
	ActorTeamID string `json:"actor_team_id" is:"optional"`
}

// Act sets the run and the actor.
func (p *actParams) Act(dir, project, run, actor, role, team string) {
	p.WorkspaceDir, p.ProjectID, p.RunID = dir, project, run
	p.ActorID, p.ActorRole, p.ActorTeamID = actor, role, team
}

func (p actParams) act() runs.Act {
	return runs.Act{ProjectID: p.ProjectID, RunID: p.RunID, Actor: policy.Actor{
		ID: cmp.Or(strings.TrimSpace(p.ActorID), "human"), Role: p.ActorRole, Team: p.ActorTeamID,
	}}
}

// Limits of texts, in bytes.
const (
	maxSteer   = 64 << 10
	maxPrompt  = 1 << 20
	maxDisplay = 64 << 10
	maxMeta    = 16 << 10
)

// tooLarge returns the issue for a text above its limit.
func tooLarge(limit int, path ...any) fault.Issue {
	most := float64(limit)
	return fault.Issue{Path: path, Code: "text_too_large", Message: "is too long", Maximum: &most}
}

// displayParams are the text that people see instead of the one sent, and data that a client
// stores with it.
type displayParams struct {
	DisplayText string                `json:"display_text" is:"optional"`
	DisplayMeta map[string]doc.Opaque `json:"display_meta" is:"optional,empty"`
	// Meta replaces DisplayMeta for code of this binary. It must be a JSON object.
	Meta json.RawMessage `json:"-"`
}

// meta returns the client's data as JSON, nil for none.
func (p displayParams) meta() json.RawMessage {
	if p.DisplayMeta == nil {
		return p.Meta
	}
	text, err := canonjson.Marshal(p.DisplayMeta)
	if err != nil {
		return nil // cannot happen: decoded values can be encoded
	}
	return text
}

func (p displayParams) check() (issues []fault.Issue) {
	if len(p.DisplayText) > maxDisplay {
		issues = append(issues, tooLarge(maxDisplay, "display_text"))
	}
	if len(p.meta()) > maxMeta {
		issues = append(issues, tooLarge(maxMeta, "display_meta"))
	}
	return issues
}

// liveParams are the options of a live agent in a launch or continuation.
type liveParams struct {
	Driver        string            `json:"driver" is:"optional,enum=command|codex|claude|acp"`
	Interactive   *bool             `json:"interactive" is:"optional"`
	Mode          doc.Mode          `json:"mode" is:"optional,enum=default|accept_edits|plan|full_auto"`
	Level         doc.Level         `json:"permission_level" is:"optional,enum=read-only|patch|run-commands|full"`
	Rules         *[]doc.PolicyRule `json:"rules" is:"optional"`
	KeepOpen      *bool             `json:"keep_open" is:"optional"`
	IdleMS        int64             `json:"idle_timeout_ms" is:"optional,min=1000"`
	PermissionMS  int64             `json:"permission_timeout_ms" is:"optional,min=1000"`
	QuestionMS    int64             `json:"question_timeout_ms" is:"optional,min=1000"`
	MCP           *bool             `json:"mcp" is:"optional"`
	MCPLaunchJobs *bool             `json:"mcp_launch_jobs" is:"optional"`
}

// maxTimeout bounds a timeout, in milliseconds.
const maxTimeout = 86_400_000

func (p liveParams) check() (issues []fault.Issue) {
	for name, ms := range map[string]int64{"idle_timeout_ms": p.IdleMS, "permission_timeout_ms": p.PermissionMS, "question_timeout_ms": p.QuestionMS} {
		if most := float64(maxTimeout); ms > maxTimeout {
			issues = append(issues, fault.Issue{Path: []any{name}, Code: "too_big", Message: "must be at most 86400000", Maximum: &most})
		}
	}
	return issues
}

// Change sets the options of a live agent that a command received. An empty argument leaves its
// option unset.
func (p *liveParams) Change(driver string, mode doc.Mode, level doc.Level, keepOpen bool, idleMS int64) {
	p.Driver, p.Mode, p.Level, p.IdleMS = driver, mode, level, idleMS
	if keepOpen {
		p.KeepOpen = &keepOpen
	}
}

// Tools offers ac's own tools to the agent. A false argument leaves its option unset.
func (p *liveParams) Tools(mcp, launchJobs bool) {
	if mcp {
		p.MCP = &mcp
	}
	if launchJobs {
		p.MCPLaunchJobs = &launchJobs
	}
}

// Ask sets whether requests of the agent wait for a person.
func (p *liveParams) Ask(interactive bool) { p.Interactive = &interactive }

func (p liveParams) spec(shown displayParams) runs.LiveSpec {
	return runs.LiveSpec{
		Driver: p.Driver, Interactive: p.Interactive, Mode: p.Mode, Level: p.Level, Rules: p.Rules, KeepOpen: p.KeepOpen, IdleMS: p.IdleMS,
		PermissionMS: p.PermissionMS, QuestionMS: p.QuestionMS, MCP: p.MCP, LaunchJobs: p.MCPLaunchJobs,
		DisplayText: shown.DisplayText, DisplayMeta: shown.meta(),
	}
}

// SteerParams are the params of run.steer.
type SteerParams struct {
	actParams
	displayParams
	Text            string `json:"text"`
	Mode            string `json:"mode" is:"default=next_turn,enum=next_turn|interrupt|after_turn"`
	ExpectedTurn    int    `json:"expected_turn" is:"optional,gt=0"`
	ClientMessageID string `json:"client_message_id" is:"optional,maxbytes=200"`
	// Start describes the session to start if the run has no live one.
	Start *StartParams `json:"start" is:"optional"`
}

// CheckFields bounds the texts and validates Start.
func (p *SteerParams) CheckFields() []fault.Issue {
	issues := p.check()
	limit := maxSteer
	if p.Mode == session.ModeAfterTurn {
		limit = maxPrompt
	}
	switch {
	case len(p.Text) > limit:
		issues = append(issues, tooLarge(limit, "text"))
	case strings.TrimSpace(p.Text) == "":
		issues = append(issues, fault.Issue{Path: []any{"text"}, Code: "custom", Message: "must not be blank"})
	}
	if p.Start != nil && p.Mode != session.ModeAfterTurn {
		issues = append(issues, fault.Issue{Path: []any{"start"}, Code: "custom", Message: "needs mode after_turn"})
	}
	return append(issues, p.Start.check()...)
}

// Steer sends a text to the agent of a run.
func (c Operations) Steer(ctx context.Context, p SteerParams) (session.SteerResult, error) {
	inflight.Leave(ctx)
	said := session.SteerRequest{Text: p.Text, Mode: p.Mode, ExpectedTurn: p.ExpectedTurn, ClientMessageID: p.ClientMessageID}
	said.DisplayText, said.DisplayMeta = p.DisplayText, p.meta()
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		return c.Flows().Steer(ctx, p.act(), said)
	}
	if p.Start == nil {
		return runs.Steer(ctx, c.Workspace(), p.act(), said, false)
	}
	if err := job.CheckContinuable(c.Workspace(), p.ProjectID, p.RunID); err != nil {
		return session.SteerResult{}, err
	}
	result, err := runs.Steer(ctx, c.Workspace(), p.act(), said, true)
	if err == nil && result.Delivery == session.DeliveryNextLaunch {
		err = c.start(p)
	}
	return result, err
}

// InterruptParams are the params of run.interrupt.
type InterruptParams struct {
	actParams
	ExpectedTurn int `json:"expected_turn" is:"optional,gt=0"`
}

// Interrupt stops the current turn of a run.
func (c Operations) Interrupt(ctx context.Context, p InterruptParams) (session.InterruptResult, error) {
	inflight.Leave(ctx)
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		return c.Flows().Interrupt(ctx, p.act(), p.ExpectedTurn)
	}
	return runs.Interrupt(ctx, c.Workspace(), p.act(), p.ExpectedTurn)
}

// CompactParams are the params of run.compact.
type CompactParams struct{ actParams }

// Compact compacts the conversation of a run.
func (c Operations) Compact(ctx context.Context, p CompactParams) (session.CompactResult, error) {
	inflight.Leave(ctx)
	return runs.Compact(ctx, c.Workspace(), p.act())
}

// RespondParams are the params of interaction.respond.
type RespondParams struct {
	actParams
	InteractionID string              `json:"interaction_id" is:"id"`
	OptionID      string              `json:"option_id" is:"optional"`
	Decision      string              `json:"decision" is:"optional,enum=allow|deny"`
	Scope         string              `json:"scope" is:"optional,enum=once|session"`
	Text          *string             `json:"text" is:"optional,empty"`
	Answers       map[string][]string `json:"answers" is:"optional"`
	Note          string              `json:"note" is:"optional"`
	// Cancel closes a question without an answer. Only dialects whose clients may do so set it.
	Cancel bool `json:"-"`
}

// CheckFields requires exactly one answer, unless Cancel is set.
func (p *RespondParams) CheckFields() []fault.Issue {
	ways := 0
	for _, given := range []bool{p.OptionID != "", p.Decision != "", len(p.Answers) > 0} {
		if given {
			ways++
		}
	}
	if ways == 0 && p.Text != nil {
		ways = 1
	}
	if ways == 1 || p.Cancel {
		return nil
	}
	return []fault.Issue{{Path: []any{"decision"}, Code: "custom", Message: "exactly one of option_id, decision, text and answers must be given"}}
}

// Respond answers a request of a run's agent.
func (c Operations) Respond(ctx context.Context, p RespondParams) (session.AnswerResult, error) {
	inflight.Leave(ctx)
	if workflow.IsWorkflowRun(c.Workspace(), p.ProjectID, p.RunID) {
		return c.answerWorkflow(ctx, p)
	}
	launched, err := c.LaunchedBy(p.ProjectID, p.RunID)
	if err != nil {
		return session.AnswerResult{}, err
	}
	act := p.act()
	act.Launched = launched
	done, err := runs.Respond(ctx, c.Workspace(), act, session.AnswerRequest{
		InteractionID: p.InteractionID, OptionID: p.OptionID, Decision: p.Decision, Scope: p.Scope, Text: p.Text, Answers: p.Answers, Note: p.Note,
		Cancel: p.Cancel,
	})
	if err == nil && done.Scope == interaction.Session {
		err = c.keepForWorkflow(ctx, p)
	}
	return done, err
}
