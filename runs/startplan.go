package runs

// Dry run: what a start would do.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"ac/internal/redact"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

// Plan describes what a start would do. Argv is masked, and its words may still change once the
// working directory is known. For a run in a worktree, CWD, Branch and BaseCommit describe the
// repository from which the worktree is created.
type Plan struct {
	Agent           PlanAgent  `json:"agent"`
	Provider        string     `json:"provider"`
	Driver          string     `json:"driver"`
	Program         string     `json:"program"`
	Argv            []string   `json:"argv"`
	CWD             string     `json:"cwd"`
	Isolation       string     `json:"isolation"` // worktree or none
	Repo            string     `json:"repo,omitempty"`
	Branch          string     `json:"branch,omitempty"`
	BaseCommit      string     `json:"base_commit,omitempty"`
	Dirty           *bool      `json:"dirty,omitempty"`
	ChangedFiles    int        `json:"changed_files,omitempty"`
	Mode            doc.Mode   `json:"mode,omitempty"`
	PermissionLevel doc.Level  `json:"permission_level,omitempty"`
	Allows          string     `json:"allows"`
	Budget          PlanBudget `json:"budget"`
	Model           string     `json:"model,omitempty"`
	ModelProfile    string     `json:"model_profile,omitempty"`
	Usual           *Usual     `json:"usual,omitempty"`
	Warnings        []string   `json:"warnings"`
	Version         string     `json:"-"` // of the program, "" if unknown
}

// PlanAgent identifies the agent.
type PlanAgent struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// PlanBudget is the most specific budget of the run. Source is given, task, project or none.
type PlanBudget struct {
	*doc.Budget
	Source string `json:"source"`
}

// Usual holds the medians of the agent's newest runs.
type Usual struct {
	Runs         int      `json:"runs"`
	MedianMS     int64    `json:"median_ms"`
	MedianTokens *int64   `json:"median_tokens,omitempty"`
	MedianCost   *float64 `json:"median_cost,omitempty"`
}

// planData is the error data of plan_changed.
type planData struct {
	Plan *Plan  `json:"plan"`
	Hash string `json:"plan_hash"`
}

// allowed describes, in one sentence, what a permission level allows.
func allowed(level doc.Level) string {
	switch level {
	case doc.LevelReadOnly:
		return "It may read files, and change nothing."
	case doc.LevelPatch:
		return "It may read and change files; it runs no commands."
	case doc.LevelRunCommands:
		return "It may read and change files, and run commands."
	case doc.LevelFull:
		return "It may do what you may."
	}
	return "It may do what you may: ac enforces nothing of a command."
}

// plan describes the start and returns the hash of that description. It checks policy and
// budgets but records nothing.
func (s *start) plan(ctx context.Context, a *Admission) (*Plan, string, error) {
	if refusal := s.ask().Refusal(); refusal != nil {
		return nil, "", refusal
	}
	if _, err := s.afford(a); err != nil {
		return nil, "", err
	}
	spec := s.spec
	secrets := redact.FromEnviron(session.Environ(spec.Environ, spec.Env))
	p := &Plan{
		Agent: PlanAgent{spec.AgentID, cmp.Or(s.agent.Name, spec.AgentID)}, Provider: s.run.Provider, Driver: session.DriverCommand, Program: s.program,
		Argv: make([]string, len(s.argv)), CWD: s.dir, Isolation: IsolationNone, Repo: spec.RepoID, Model: spec.Model, ModelProfile: spec.ModelProfile, Warnings: []string{},
		Budget: s.budget(), Version: s.version(),
	}
	for i, word := range s.argv {
		p.Argv[i] = secrets.String(word)
	}
	if s.live != nil {
		p.Driver, p.Mode, p.PermissionLevel = s.live.Driver, s.live.Policy.Mode, s.live.Policy.PermissionLevel
	}
	p.Allows = allowed(p.PermissionLevel)
	if p.Budget.Source == "none" {
		p.Warnings = append(p.Warnings, "no budget holds for it")
	}
	if err := s.planRepo(ctx, p); err != nil {
		return nil, "", err
	}
	hash, err := hashOf(*p)
	return p, hash, err
}

// planRepo adds the state of the repository.
func (s *start) planRepo(ctx context.Context, p *Plan) error {
	if s.root == "" {
		return nil
	}
	if s.tree != nil {
		p.Isolation, p.BaseCommit = IsolationWorktree, s.tree.Base
	}
	g, err := worktree.NewTreeReader(ctx, s.spec.Environ, s.root)
	if err != nil {
		return nil //nolint:nilerr // not a git repository: nothing is to be said of it
	}
	p.Branch, _ = g.Line(ctx, "symbolic-ref", "--quiet", "--short", "HEAD") // "" if HEAD is detached
	changed, err := g.Output(ctx, 1<<20, nil, "status", "--porcelain", "-z", "--no-renames")
	if err != nil {
		return err
	}
	p.ChangedFiles = strings.Count(string(changed), "\x00")
	p.Dirty = new(p.ChangedFiles > 0)
	if *p.Dirty {
		p.Warnings = append(p.Warnings, fmt.Sprintf("the repository has %d changed files", p.ChangedFiles))
	}
	return nil
}

// budget returns the most specific budget of the run.
func (s *start) budget() PlanBudget {
	spec := s.spec
	if spec.Budget != nil {
		return PlanBudget{spec.Budget, "given"}
	}
	if spec.TaskID != "" {
		if task, err := s.w.Task(spec.ProjectID, spec.TaskID); err == nil && task.Budget != nil {
			return PlanBudget{task.Budget, "task"}
		}
	}
	if project, err := s.w.Project(spec.ProjectID); err == nil && project.Budget != nil {
		return PlanBudget{project.Budget, "project"}
	}
	return PlanBudget{Source: "none"}
}

// hashOf returns the hash of a plan, without its purely informative fields.
func hashOf(p Plan) (string, error) {
	p.Warnings, p.Usual = nil, nil
	text, err := json.Marshal(p)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
