package session

// Before a live session: its command line, what is written down of it, and the
// conversation's beginning.

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/events"
	"ac/runs/agent"
	"ac/runs/provider"
	"ac/runs/usage"
	"ac/workspace/doc"
)

// appServerPayload is the payload of run.executing of an app server.
type appServerPayload struct {
	Mode          string   `json:"mode"`
	ProviderBin   string   `json:"provider_bin"`
	PromptRelpath string   `json:"prompt_relpath"`
	Model         *string  `json:"model"`
	RepoID        *string  `json:"repo_id"`
	WorkdirRel    *string  `json:"workdir_rel"`
	TaskID        *string  `json:"task_id"`
	MilestoneID   *string  `json:"milestone_id"`
	Driver        string   `json:"driver"`
	AgentArgv     []string `json:"agent_argv"`
}

// liveEndedPayload closes the log of a live session.
type liveEndedPayload struct {
	endedPayload
	CompletionStatus *string `json:"completion_status"`
	CompletionError  *string `json:"completion_error"`
	Reason           string  `json:"reason,omitempty"`
}

// lastPayload closes the log.
func (o outcome) lastPayload(p endedPayload) any {
	if !o.live {
		return p
	}
	return liveEndedPayload{p, orNull(o.turn.Status), orNull(o.turn.Error), o.reason}
}

// prepareLive writes the first prompt and settles the command line.
func (s *supervisor) prepareLive(machine doc.Machine, spec *doc.Spec) error {
	live := s.order.Live
	if s.words == nil {
		s.words = append([]string{}, s.order.Argv...)
		if s.order.perTurn() {
			s.words = append([]string{}, live.Template...)
		}
		var err error
		if s.config, err = s.serverConfig(); err != nil {
			return err
		}
	}
	if err := s.w.Replace(path.Join(s.outDir, "prompt.txt"), []byte(s.secrets.String(live.Prompt)), 0o644); err != nil {
		return err
	}
	if err := s.word(machine); err != nil {
		return err
	}
	if spec.Argv = s.safeArgv(); live.Driver != DriverCodex {
		return nil
	}
	spec.Kind, spec.Model = doc.KindAppServer, live.Model
	spec.Argv, spec.Env = nil, nil
	spec.PromptRelpath = path.Join("runs", s.order.RunID, "outputs", "prompt.txt")
	return nil
}

// word settles the command line of an agent that is spoken with, as far as its working
// directory is known.
func (s *supervisor) word(machine doc.Machine) (err error) {
	live := s.order.Live
	call := provider.LiveCall{
		Provider: s.order.Provider, Driver: live.Driver, Argv: s.words, Model: live.Model, Mode: string(live.Policy.Mode), Resume: live.Thread,
		Trusted: s.trusted(), Servers: s.config,
	}
	s.order.Argv, err = call.Words(machine)
	s.order.Argv = s.withLent(s.order.Argv)
	return err
}

// trusted reports whether the working directory is one that somebody chose who may:
// the workspace, a worktree of ours in it, or a repository linked to the project.
func (s *supervisor) trusted() bool {
	if s.workdir == "" {
		return false
	}
	inside := func(dir string) bool {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false
		}
		work, err := filepath.EvalSymlinks(s.workdir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(resolved, work)
		return err == nil && filepath.IsLocal(rel)
	}
	if inside(s.w.Dir()) {
		return true
	}
	links, err := s.w.RepoLinks(s.order.ProjectID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(links, func(l doc.RepoLink) bool { return l.RepoID == s.order.RepoID })
}

// executing is the event that says what is executed.
func (s *supervisor) executing(spec *doc.Spec) (events.Draft, error) {
	live := s.order.Live
	if live != nil && live.Driver == DriverCodex {
		return s.draft(events.RunExecuting, appServerPayload{
			Mode: doc.KindAppServer, ProviderBin: s.safeArgv()[0], PromptRelpath: spec.PromptRelpath, Model: orNull(spec.Model),
			RepoID: orNull(spec.RepoID), WorkdirRel: orNull(spec.WorkdirRel), TaskID: orNull(spec.TaskID), MilestoneID: orNull(spec.MilestoneID),
			Driver: live.Driver, AgentArgv: s.safeArgv(),
		})
	}
	p := executingPayload{
		Argv: spec.Argv, RepoID: spec.RepoID, WorkdirRel: spec.WorkdirRel, TaskID: orNull(spec.TaskID),
		MilestoneID: orNull(spec.MilestoneID), WorktreeRel: orNull(spec.WorktreeRel), WorktreeBranch: orNull(spec.WorktreeBranch),
		StdinRelpath: orNull(spec.StdinRelpath),
	}
	if live != nil {
		p.Driver, p.AgentArgv = live.Driver, spec.Argv
	}
	return s.draft(events.RunExecuting, p)
}

// beginLive is what the run's record says of its newest live session.
func (s *supervisor) beginLive(run *doc.Run) {
	live := s.order.Live
	if live == nil {
		return
	}
	if run.Live == nil {
		run.Live = &doc.Live{}
	}
	l := run.Live
	l.Driver, l.Policy, l.Interactive, l.KeepOpen = live.Driver, live.Policy, live.Interactive, live.KeepOpen
	l.ThreadBaseline, l.ThreadSpent, l.IdleTimeoutMS = live.Baseline, nil, nil
	if live.KeepOpen && live.IdleMS > 0 {
		l.IdleTimeoutMS = &live.IdleMS
	}
	l.Sessions = max(l.Sessions, 1)
}

// converse makes the conversation of a live session, before anything of its output is
// read.
func (s *supervisor) converse(ctx context.Context) {
	if s.order.Live != nil {
		s.talk = newConversation(ctx, s)
	}
	close(s.spoken)
}

// driverOf makes the driver of an agent.
func (c *conversation) driverOf(name string) agent.Driver {
	switch name {
	case DriverCommand:
		return &command{c: c}
	case DriverClaude:
		return agent.Claude()
	case DriverACP:
		return agent.ACP()
	}
	return agent.Codex()
}

// start is what the conversation begins with.
func (c *conversation) start() agent.Start {
	o := c.order
	s := agent.Start{
		Version: o.Version, Dir: c.s.workdir, Model: o.Model, Named: c.named(), Sandbox: provider.Sandbox(string(c.policy.PermissionLevel)), Asked: o.asked(),
		Mode: string(c.policy.Mode), Thread: o.Thread, MustResume: o.MustResume, Baseline: baselineOf(o.Baseline),
	}
	if c.policy.Mode == doc.ModePlan {
		s.Sandbox = provider.Sandbox(provider.ReadOnly)
	}
	if o.Files != nil {
		s.Without = o.Files.Without()
	}
	s.Servers = c.s.serversOf()
	return s
}

// named reports whether the agent's command line names the model, or what its model profile
// lends it does.
func (c *conversation) named() bool {
	model := c.order.Model
	return model != "" && (slices.ContainsFunc(c.s.order.Argv, func(word string) bool { return strings.Contains(word, model) }) ||
		slices.ContainsFunc(c.s.lent.Environ, func(entry string) bool { return strings.HasSuffix(entry, "="+model) }))
}

// spentOf is what a session used by now, as its record keeps it.
func spentOf(r usage.Report) *doc.ThreadBaseline {
	b := &doc.ThreadBaseline{InputTokens: r.Input, CachedInputTokens: r.Cached, OutputTokens: r.Output, ReasoningOutputTokens: r.Reasoning, CostUSD: r.CostUSD}
	if r.Total > 0 {
		b.TotalTokens = &r.Total
	}
	return b
}

// baselineOf is what a conversation had used before, nothing where that is not known.
func baselineOf(b *doc.ThreadBaseline) (r usage.Report) {
	if b == nil {
		return r
	}
	r.Counters = usage.Counters{Input: b.InputTokens, Cached: b.CachedInputTokens, Output: b.OutputTokens, Reasoning: b.ReasoningOutputTokens}
	if b.TotalTokens != nil {
		r.Total = *b.TotalTokens
	}
	r.CostUSD = b.CostUSD
	return r
}
