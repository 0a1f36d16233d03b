package orchestration

// run.start and run.retry: creating and launching a run in one step.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ac/company"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs"
	"ac/workspace/doc"
)

// maxTitle bounds the title of a run, in bytes.
const maxTitle = 500

// StartRunParams are the params of run.start.
type StartRunParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	AgentID   string `json:"agent_id" is:"id"`
	Provider  string `json:"-"` // provider of the agent
	BaseRunID string `json:"base_run_id" is:"optional,id"`
	Title     string `json:"title" is:"optional"`
	TimeoutMS int64  `json:"timeout_ms" is:"optional,gt=0"`
	workParams
	startControls
	From string `json:"-"` // origin of the run, "" for the host's
}

// startControls control how a start is carried out.
type startControls struct {
	DryRun          bool   `json:"dry_run" is:"optional"`
	ExpectPlan      string `json:"expect_plan" is:"optional,maxbytes=200"`
	ClientMessageID string `json:"client_message_id" is:"optional,maxbytes=200"`
}

// CheckFields rejects what cannot be started.
func (p *StartRunParams) CheckFields() []fault.Issue {
	issues := p.check()
	refuse := func(field, message string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: message})
	}
	if p.PromptText != nil && len(*p.PromptText) > maxPrompt {
		issues = append(issues, tooLarge(maxPrompt, "prompt_text"))
	}
	if p.BaseRunID != "" && p.Isolation == runs.IsolationNone {
		refuse("base_run_id", "needs a worktree")
	}
	if len(p.Title) > maxTitle {
		issues = append(issues, tooLarge(maxTitle, "title"))
	}
	if strings.ContainsFunc(p.Title, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
		refuse("title", "must be one line of text")
	}
	return issues
}

// LaunchOf returns the params to launch an existing run with the same work.
func (p *StartRunParams) LaunchOf(run string) LaunchParams {
	return LaunchParams{Dir: p.Dir, ProjectID: p.ProjectID, RunID: run, workParams: p.workParams}
}

// StartRunResult is the result of run.start: the run or, with dry_run, the plan.
type StartRunResult struct {
	RunID      string     `json:"run_id,omitempty"`
	SessionRef string     `json:"session_ref,omitempty"`
	Plan       *runs.Plan `json:"plan,omitempty"`
	PlanHash   string     `json:"plan_hash,omitempty"`
}

// StartRun creates and launches a run, or does neither.
func (c Operations) StartRun(ctx context.Context, p StartRunParams) (StartRunResult, error) {
	content, err := contentOf(p)
	if err != nil {
		return StartRunResult{}, err
	}
	return c.startRun(ctx, runs.StartSpec{
		LaunchSpec: p.spec(c.Company, p.ProjectID, "", ""), AgentID: p.AgentID, Provider: p.Provider, Isolation: p.Isolation, BaseRunID: p.BaseRunID,
		Title: p.Title, LimitMS: p.TimeoutMS, From: p.From, Content: content,
	}, p.startControls)
}

// contentOf returns a digest of the requested work. It ignores the controls and the spelling of
// the workspace path.
func contentOf(p StartRunParams) (string, error) {
	p.startControls, p.Dir = startControls{}, company.Dir{}
	return digestOf(p)
}

func digestOf(p any) (string, error) {
	text, err := json.Marshal(p)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

func (c Operations) startRun(ctx context.Context, spec runs.StartSpec, how startControls) (StartRunResult, error) {
	inflight.Leave(ctx)
	spec.From = cmp.Or(spec.From, c.Host().StartedFrom())
	spec.DryRun, spec.ExpectPlan, spec.Key, spec.Environ = how.DryRun, how.ExpectPlan, how.ClientMessageID, c.Host().Launcher().Environ
	starter, err := c.starterFor(&spec.LaunchSpec, spec.AgentID)
	if err != nil {
		return StartRunResult{}, err
	}
	made, err := runs.Start(ctx, c.Workspace(), c.Admission(), starter, spec)
	if err != nil {
		return StartRunResult{}, err
	}
	if made.RunID != "" {
		c.RememberSession(made.SessionRef)
	} else if err := c.addUsual(ctx, spec.ProjectID, made.Plan); err != nil {
		return StartRunResult{}, err
	}
	return StartRunResult{made.RunID, made.SessionRef, made.Plan, made.PlanHash}, nil
}

// RetryRunParams are the params of run.retry.
type RetryRunParams struct {
	actParams
	PromptText *string     `json:"prompt_text" is:"optional,empty"`
	Model      string      `json:"model" is:"optional"`
	Budget     *doc.Budget `json:"budget" is:"optional"`
	startControls
	// Change lets commands set more of the start than the params offer.
	Change func(*runs.StartSpec) `json:"-"`
}

// CheckFields checks the prompt.
func (p *RetryRunParams) CheckFields() []fault.Issue {
	return checkPrompt(p.PromptText)
}

// RetryRun starts a new run with the work of a finished one.
func (c Operations) RetryRun(ctx context.Context, p RetryRunParams) (StartRunResult, error) {
	content, err := digestOf([]any{p.ProjectID, p.RunID, p.PromptText, p.Model, p.Budget, p.ActorID, p.ActorRole, p.ActorTeamID})
	if err != nil {
		return StartRunResult{}, err
	}
	spec, err := runs.RetrySpec(ctx, c.Workspace(), p.ProjectID, p.RunID, p.PromptText)
	if err != nil {
		return StartRunResult{}, err
	}
	spec.Actor, spec.Version, spec.Priority, spec.Content = p.act().Actor, c.Host().Version(), "normal", content
	if p.Model != "" {
		spec.Model = p.Model
	}
	if p.Budget != nil {
		spec.Budget = p.Budget
	}
	if p.Change != nil {
		p.Change(&spec)
	}
	return c.startRun(ctx, spec, p.startControls)
}

// usualRuns bounds how many runs of an agent count for its usual figures.
const usualRuns = 20

// addUsual adds the median figures of the agent's newest runs to a plan, and warnings about live
// runs, the program version and a cooldown.
func (c Operations) addUsual(ctx context.Context, project string, plan *runs.Plan) error {
	list, err := c.RunRows(ctx, company.RunRowsParams{ProjectID: project, AgentID: plan.Agent.ID, Newest: true, Most: usualRuns})
	if err != nil {
		return err
	}
	var took, tokens, costs []float64
	live := 0
	for i := range list.Rows {
		row := &list.Rows[i]
		if row.Live() {
			live++
		}
		if row.Status != doc.StatusEnded || row.TookS == nil {
			continue
		}
		took = append(took, *row.TookS*1000)
		if row.Tokens != nil {
			tokens = append(tokens, float64(*row.Tokens))
		}
		if row.CostUSD != nil {
			costs = append(costs, *row.CostUSD)
		}
	}
	plan.Warnings = append(plan.Warnings, c.programWarnings(project, plan, list.Rows)...)
	if live > 0 {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s has %d live runs", plan.Agent.Name, live))
	}
	if len(took) == 0 {
		return nil
	}
	plan.Usual = &runs.Usual{Runs: len(took), MedianMS: int64(*median(took))}
	if of := median(tokens); of != nil {
		plan.Usual.MedianTokens = new(int64(*of))
	}
	plan.Usual.MedianCost = median(costs)
	return nil
}

// programWarnings returns warnings if the program's version differs from that of the last run, or
// if its provider is in cooldown.
func (c Operations) programWarnings(project string, plan *runs.Plan, rows []company.RunRow) (warnings []string) {
	last := slices.IndexFunc(rows, func(r company.RunRow) bool { return r.Provider == plan.Provider })
	if last >= 0 && plan.Version != "" {
		run, err := runs.Load(c.Workspace(), project, rows[last].RunID)
		if err == nil && run.ProgramVersion != "" && run.ProgramVersion != plan.Version {
			warnings = append(warnings, fmt.Sprintf("%s is version %s; the last run had %s", filepath.Base(plan.Program), plan.Version, run.ProgramVersion))
		}
	}
	if until, ok, err := c.Admission().Lane.Cooldown(plan.Provider); err == nil && ok {
		left := until.Sub(c.Workspace().Env.Clock.Now()).Round(time.Second)
		warnings = append(warnings, fmt.Sprintf("%s is in cooldown for %s more", plan.Provider, max(left, time.Second)))
	}
	return warnings
}

// median returns the median of numbers, nil for none. It sorts them in place.
func median(of []float64) *float64 {
	if len(of) == 0 {
		return nil
	}
	slices.Sort(of)
	return &of[len(of)/2]
}
