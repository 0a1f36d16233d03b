package runs

// The parameters of a launch for a live agent, validated against the agent's provider, its
// permission level and the caller's rights.

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/interaction"
	runpolicy "ac/runs/policy"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// LiveSpec is a request for a live session. Unset fields get their defaults.
type LiveSpec struct {
	Driver       string
	Interactive  *bool
	Mode         doc.Mode
	Level        doc.Level
	Rules        *[]doc.PolicyRule
	First        []doc.PolicyRule // rules of the workflow, which precede all others
	Workflow     *interaction.Workflow
	KeepOpen     *bool
	IdleMS       int64
	PermissionMS int64
	QuestionMS   int64
	MCP          *bool // give the agent ac's own tools
	LaunchJobs   *bool // let those tools launch jobs
	DisplayText  string
	DisplayMeta  json.RawMessage
}

// Defaults of a live session, in milliseconds.
const (
	idleMS   = 600_000
	answerMS = 300_000
)

// MaxPrompt is the size limit of a prompt, in bytes.
const MaxPrompt = 1 << 20

// liveOnlyNames returns the names of the set parameters that only live sessions accept.
func (l LiveSpec) liveOnlyNames() (names []string) {
	for name, set := range map[string]bool{
		"interactive": l.Interactive != nil, "mode": l.Mode != "", "rules": l.Rules != nil, "permission_level": l.Level != "",
		"keep_open": l.KeepOpen != nil, "idle_timeout_ms": l.IdleMS > 0, "permission_timeout_ms": l.PermissionMS > 0, "question_timeout_ms": l.QuestionMS > 0,
		"mcp": l.MCP != nil, "mcp_launch_jobs": l.LaunchJobs != nil,
	} {
		if set {
			names = append(names, name)
		}
	}
	return names
}

func isTrue(b *bool) bool { return b != nil && *b }

// driver returns the driver for a provider's agent. session.DriverCommand stands for an agent
// that does not support a live session.
func (s LaunchSpec) driver(name string) (string, error) {
	known := doc.ProviderNamed(name)
	switch {
	case s.Live.Driver == "" && (known.AlwaysLive || known.Live != "" && (isTrue(s.Live.Interactive) || isTrue(s.Live.KeepOpen))):
		return known.Live, nil
	case s.Live.Driver == "" || s.Live.Driver == session.DriverCommand:
		return session.DriverCommand, nil
	case s.Live.Driver != session.DriverACP && known.Live != s.Live.Driver:
		return "", fault.InvalidField("driver", "does not fit provider %s", name)
	}
	return s.Live.Driver, nil
}

// live validates the launch and returns the order for a live agent. It returns nil for a launch
// that executes a plain command.
func (s LaunchSpec) live(w *workspace.Workspace, run doc.Run) (*session.LiveOrder, error) {
	driver, err := s.driver(run.Provider)
	if err != nil {
		return nil, err
	}
	if driver == session.DriverCommand {
		if len(s.Argv) > 0 || s.Prompt == nil && !s.Waits {
			return nil, s.command(run.Provider)
		}
		return s.commandAgent(w, run)
	}
	var issues []fault.Issue
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: message})
	}
	prompt := s.Prompt
	if prompt == nil {
		prompt = s.Stdin
	}
	if prompt == nil {
		prompt = new("")
	}
	keep := isTrue(s.Live.KeepOpen)
	switch {
	case strings.TrimSpace(*prompt) == "" && !keep && !s.Waits:
		refuse("must not be blank for provider "+run.Provider, "prompt_text")
	case len(*prompt) > MaxPrompt && !s.LongPrompt:
		most := float64(MaxPrompt)
		issues = append(issues, fault.Issue{Path: []any{"prompt_text"}, Code: "text_too_large", Message: "is too long", Maximum: &most})
	}
	if len(s.Argv) > 0 && driver != session.DriverACP {
		refuse("the driver makes the words of this provider", "argv")
	}
	if s.Live.IdleMS > 0 && !keep {
		refuse("needs keep_open", "idle_timeout_ms")
	}
	if isTrue(s.Live.LaunchJobs) && !isTrue(s.Live.MCP) {
		refuse("needs mcp", "mcp_launch_jobs")
	}
	if len(issues) > 0 {
		return nil, fault.Invalid(issues...)
	}
	if err := s.hasWords(w, run, driver); err != nil {
		return nil, err
	}
	rules, err := s.policy(w, run)
	if err != nil {
		return nil, err
	}
	live := &session.LiveOrder{
		Driver: driver, Prompt: *prompt, Model: s.Model, Files: s.Files, Version: s.Version, ActorID: s.Actor.ID, Cause: session.CauseLaunch, Policy: rules,
		Interactive: isTrue(s.Live.Interactive), KeepOpen: keep, PermissionMS: cmp.Or(s.Live.PermissionMS, answerMS), QuestionMS: cmp.Or(s.Live.QuestionMS, answerMS),
		HasWaitingTexts: s.Waits,
		MCP:             isTrue(s.Live.MCP), LaunchJobs: isTrue(s.Live.LaunchJobs),
	}
	if keep {
		live.IdleMS = cmp.Or(s.Live.IdleMS, idleMS)
	}
	live.Workflow = s.Live.Workflow
	live.DisplayText, live.DisplayMeta = s.Live.DisplayText, s.Live.DisplayMeta
	return live, nil
}

// hasWords refuses an agent without a known command line. The other machine checks this for its
// own agents.
func (s LaunchSpec) hasWords(w *workspace.Workspace, run doc.Run, driver string) error {
	if driver != session.DriverACP || len(s.Argv) > 0 || !s.Placement.Local() {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	_, err = provider.LiveCall{Provider: run.Provider, Driver: driver, Model: s.Model}.Words(machine)
	return err
}

// keptWords returns the recorded arguments of an ACP agent's newest session, for use if no
// others are known. It returns nil if one of them is masked. It also returns nil if the caller
// names a model, because the arguments may contain the previous model.
func (s LaunchSpec) keptWords(w *workspace.Workspace, run doc.Run, driver string) []string {
	if s.Model != "" || run.Live == nil || run.Live.Driver != driver || run.Spec == nil || slices.ContainsFunc(run.Spec.Argv, redact.Masked) {
		return nil
	}
	if !fault.Is(s.hasWords(w, run, driver), fault.NoAgentCommand) {
		return nil
	}
	return run.Spec.Argv
}

// CommandTemplate returns the command line in the document of a run's agent, nil if there is
// none.
func CommandTemplate(w *workspace.Workspace, run doc.Run) ([]string, error) {
	if !workspace.SafeID(run.AgentID) {
		return nil, nil
	}
	agent, err := w.Agent(run.AgentID)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return agent.LauncherTexts("command_argv_template"), err
}

// commandAgent is live for a command agent: one whose document defines its command line.
func (s LaunchSpec) commandAgent(w *workspace.Workspace, run doc.Run) (*session.LiveOrder, error) {
	words, err := s.Template, error(nil)
	if words == nil {
		words, err = CommandTemplate(w, run)
	}
	if err != nil {
		return nil, err
	}
	if issues := s.liveOnly(); len(words) == 0 || len(issues) > 0 {
		return nil, s.command(run.Provider)
	}
	prompt := ""
	if s.Prompt != nil {
		prompt = *s.Prompt
	}
	most := float64(MaxPrompt)
	switch {
	case s.Stdin != nil:
		return nil, fault.InvalidField("stdin_text", "does not go with prompt_text")
	case strings.TrimSpace(prompt) == "" && !s.Waits:
		return nil, fault.InvalidField("prompt_text", "must not be blank")
	case len(prompt) > MaxPrompt && !s.LongPrompt:
		return nil, fault.Invalid(fault.Issue{Path: []any{"prompt_text"}, Code: "text_too_large", Message: "is too long", Maximum: &most})
	}
	level := cmp.Or(doc.Level(s.Level), doc.LevelRunCommands) // ac asks nothing and enforces nothing for a command
	if _, err := provider.CommandCall(provider.Work{Model: s.Model, Prompt: prompt, Level: string(level), Template: words}); err != nil {
		return nil, fault.New(fault.Unsupported, "agent %s: %w", run.AgentID, err)
	}
	live := &session.LiveOrder{
		Driver: session.DriverCommand, Template: words, Prompt: prompt, Model: s.Model, Version: s.Version, ActorID: s.Actor.ID,
		Cause: session.CauseLaunch, HasWaitingTexts: s.Waits, Workflow: s.Live.Workflow,
		Policy: doc.RunPolicy{PermissionLevel: level, Mode: runpolicy.MostMode(level, false), Rules: []doc.PolicyRule{}},
	}
	live.DisplayText, live.DisplayMeta = s.Live.DisplayText, s.Live.DisplayMeta
	return live, nil
}

// command refuses parameters that ac cannot enforce for a command, and a missing command line.
func (s LaunchSpec) command(name string) error {
	if issues := s.liveOnly(); len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	if len(s.Argv) == 0 {
		return fault.InvalidField("argv", "must have at least one item for provider %s", name)
	}
	return nil
}

// liveOnly returns the issues for parameters that a command does not accept.
func (s LaunchSpec) liveOnly() []fault.Issue {
	given := s.Live.liveOnlyNames()
	issues := make([]fault.Issue, len(given))
	for i, field := range given {
		issues[i] = fault.Issue{Path: []any{field}, Code: "custom", Message: "is for agents that are spoken with"}
	}
	return issues
}

// policy returns the policy of the session: the caller's values, else those set for the run,
// else the defaults.
func (s LaunchSpec) policy(w *workspace.Workspace, run doc.Run) (p doc.RunPolicy, err error) {
	interactive := isTrue(s.Live.Interactive)
	p = doc.RunPolicy{PermissionLevel: doc.LevelRunCommands, Rules: []doc.PolicyRule{}}
	if run.Live != nil {
		p = runpolicy.WithoutSession(run.Live.Policy)
	}
	if level := cmp.Or(s.Live.Level, doc.Level(s.Level)); level != "" {
		p.PermissionLevel = level
	}
	switch {
	case s.Live.Mode != "":
		p.Mode = s.Live.Mode
	case run.Live == nil || !runpolicy.Permits(p.PermissionLevel, p.Mode):
		p.Mode = runpolicy.MostMode(p.PermissionLevel, interactive)
	}
	if !runpolicy.Permits(p.PermissionLevel, p.Mode) {
		return p, fault.InvalidField("mode", "is above what permission level %s bears", p.PermissionLevel)
	}
	if s.Live.Rules != nil {
		if p.Rules, err = runpolicy.NumberRules(p.Rules, *s.Live.Rules); err != nil {
			return p, err
		}
	}
	if p.Rules, err = runpolicy.PrependRules(s.Live.First, p.Rules); err != nil {
		return p, err
	}
	if p.PermissionLevel == doc.LevelFull && s.Live.Level != "" {
		actor, err := policy.Effective(w, s.Actor)
		if err != nil {
			return p, err
		}
		if !MayRaise(actor.Role) {
			return p, fault.New(fault.ExceedsPermissionLevel, "permission level full needs a person or a manager").With(levelData{doc.LevelRunCommands})
		}
	}
	return p, nil
}

// levelData is the error data of exceeds_permission_level.
type levelData struct {
	Level doc.Level `json:"level"`
}
