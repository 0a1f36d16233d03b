package job

// Choosing the worker of a job, and its command line.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/heartbeat/answer"
	"ac/runs"
	"ac/runs/modelprofile"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// chooseWorker returns the agent for a job. If there is none, why is the reason.
func chooseWorker(w *workspace.Workspace, spec doc.JobSpec) (worker doc.Agent, why string, err error) {
	if spec.WorkerAgentID != "" {
		worker, err := w.Agent(spec.WorkerAgentID)
		if err != nil {
			return worker, "agent " + spec.WorkerAgentID + " does not exist or cannot be read", nil //nolint:nilerr // the reason for there being no worker
		}
		if doc.AnyWorkerKindOf(worker.Provider) != spec.WorkerKind {
			return worker, "agent " + worker.ID + " has provider " + worker.Provider + ", the job asks for " + spec.WorkerKind, nil
		}
		return worker, "", nil
	}
	worker, ok, err := firstOf(w, spec.WorkerKind)
	if !ok {
		why = "no worker or manager has a provider of kind " + spec.WorkerKind
	}
	return worker, why, err
}

// firstOf returns the first worker or manager, by name, whose provider is of a kind.
func firstOf(w *workspace.Workspace, kind string) (doc.Agent, bool, error) {
	agents, err := w.Agents()
	i := slices.IndexFunc(agents, func(a doc.Agent) bool {
		return (a.Role == "worker" || a.Role == "manager") && doc.AnyWorkerKindOf(a.Provider) == kind
	})
	if i < 0 || err != nil {
		return doc.Agent{}, false, err
	}
	return agents[i], true, nil
}

// reformatter returns the agent that reformats an output: a codex agent, else a claude agent, else
// the chosen one.
func reformatter(w *workspace.Workspace, chosen doc.Agent) (doc.Agent, error) {
	for _, kind := range []string{string(provider.Codex), string(provider.Claude)} {
		if agent, ok, err := firstOf(w, kind); ok || err != nil {
			return agent, err
		}
	}
	return chosen, nil
}

// allowedTools returns the tools that an agent's launcher allows.
func allowedTools(agent doc.Agent) (tools []string) {
	for _, tool := range agent.LauncherTexts("allowed_tools") {
		if tool = strings.TrimSpace(tool); tool != "" {
			tools = append(tools, tool)
		}
	}
	return tools
}

// template returns an agent's own command line, nil if its CLI supports none.
func template(agent doc.Agent) []string {
	if provider.DriverOf(agent.Provider) != provider.Gemini && doc.AnyWorkerKindOf(agent.Provider) != doc.WorkerCmd {
		return nil
	}
	return agent.LauncherTexts("command_argv_template")
}

// call is the command line of an attempt, with its input.
type call struct {
	argv   []string
	stdin  *string
	prompt *string // of a live session, instead of a command line
	// template is the command line of an agent that is a command.
	template []string
	live     runs.LiveSpec
	level    string // for an app server, whose command line carries no rights
	files    provider.CodexFiles
	bring    []string // output files of the run to copy to another machine
	model    string
	format   string
}

// files returns read-only file tools for codex, if the level allows no commands. The tools cover
// the workspace and the repositories linked to the project.
func (r *runner) files(machine doc.Machine, level string) (provider.CodexFiles, error) {
	if r.remote != nil {
		return provider.FilesFor(level, session.ProgramMark, session.WorkdirMark), nil
	}
	links, err := r.w.RepoLinks(r.project)
	if err != nil {
		return nil, err
	}
	dirs := []string{r.w.Dir()}
	for _, link := range links {
		// A repository that is not mapped on this machine is skipped.
		if root, err := worktree.Root(machine, link.RepoID); err == nil {
			dirs = append(dirs, root)
		}
	}
	return provider.FilesFor(level, r.host.Executable, dirs...), nil
}

// call returns what an attempt executes: a live session or a command.
func (r *runner) call(ctx context.Context, machine doc.Machine, agent doc.Agent, live *runs.LiveSpec, program, run, prompt string, before *previous) (call, error) {
	if live == nil {
		return r.command(ctx, machine, agent, program, run, prompt, before)
	}
	c, err := r.bare(machine, agent, before)
	c.prompt, c.live = &prompt, *live
	if live.Driver == doc.LiveCommand {
		c.template = template(agent)
	} else {
		c.argv = ownWords(machine, agent)
	}
	return c, err
}

// bare returns the part of a call that live sessions and commands share.
func (r *runner) bare(machine doc.Machine, agent doc.Agent, before *previous) (call, error) {
	level := r.level(before)
	files, err := r.files(machine, level)
	hint := agent.ModelHint
	if profile, ok := r.profile(machine); ok {
		hint = profile.Model
	}
	return call{model: provider.ModelFlag(cmp.Or(r.spec.Model, hint)), level: level, files: files}, err
}

// profile returns the model profile of the job, false if there is none. A name that does not exist
// also returns false; the launch then refuses it.
func (r *runner) profile(machine doc.Machine) (doc.ModelProfile, bool) {
	if r.profileName() == "" {
		return doc.ModelProfile{}, false
	}
	_, profile, err := modelprofile.Find(machine, r.profileName())
	return profile, err == nil
}

func (r *runner) profileName() string {
	if r.job.order == nil {
		return ""
	}
	return r.job.order.ModelProfile
}

// guard returns the verdict of the subscription guard. A model profile with its own key, address or
// headers does not count as a subscription.
func (r *runner) guard(ctx context.Context, machine doc.Machine, agent doc.Agent, live *runs.LiveSpec) provider.Verdict {
	var verdict provider.Verdict
	if r.remote == nil {
		verdict = provider.Guard(ctx, machine, agent.Provider, guardedCommand(machine, agent, live), r.order.Environ)
	} else {
		v := r.remote.Program.Verdict
		verdict = provider.Verdict{Policy: v.Policy, Bin: v.Bin, Proof: v.Proof, Reason: v.Reason, Message: v.Message}
	}
	profile, ok := r.profile(machine)
	if verdict.Reason == "" && ok && verdict.Policy.RequireSubscriptionProof && (profile.APIKey != "" || profile.BaseURL != "" || len(profile.RequestHeaders) > 0) {
		verdict.Reason = provider.APIKeyPresent
		verdict.Message = "model profile " + r.profileName() + " has a key or an address of its own, but a subscription is required"
	}
	return verdict
}

// command builds the command line of an attempt. It passes the schema of the answer if the program
// supports one.
func (r *runner) command(ctx context.Context, machine doc.Machine, agent doc.Agent, program, run, prompt string, before *previous) (call, error) {
	c, err := r.bare(machine, agent, before)
	if err != nil {
		return c, err
	}
	cli, err := provider.CLIOf(agent.Provider)
	if err != nil {
		return c, err
	}
	able := r.abilities(ctx, cli, program)
	work := provider.Work{
		Program: program, Model: c.model, Prompt: prompt, Level: c.level, Stream: able.Stream,
		Trusted:      r.at.trusted(),
		AllowedTools: allowedTools(agent), Template: template(agent),
	}
	if able.NoRuns {
		work.Files = c.files
	}
	if c.bring, err = r.passSchema(able, provider.DriverOf(agent.Provider), run, before, &work); err != nil {
		return c, err
	}
	made, err := cli.ForWork(work)
	if err != nil {
		return c, fmt.Errorf("agent %s: %w", agent.ID, err)
	}
	c.argv, c.stdin, c.format = made.Argv, made.Stdin, made.Format
	return c, nil
}

// passSchema passes the schema of the answer to a CLI in the way that the CLI supports. bring names
// the schema file, if the agent runs on another machine.
func (r *runner) passSchema(able provider.Abilities, driver provider.Driver, run string, before *previous, work *provider.Work) (bring []string, err error) {
	kind := answerKind(r.job.order)
	if !able.Schema || kind == doc.AnswerProse {
		return nil, nil
	}
	named := []string{run}
	if before.repairable() {
		named = append(named, before.run)
	}
	shape := answer.ResultSchema(r.id, named...)
	switch {
	case kind != "":
		shape = answer.KindSchema(kind)
	case r.spec.JobKind == doc.JobHeartbeat:
		shape = answer.ReportSchema()
	}
	text, err := json.Marshal(shape)
	if err != nil {
		return nil, err
	}
	if driver == provider.Claude {
		work.Schema = string(text)
		return nil, nil
	}
	file := "result_spec_schema_" + run + ".json"
	name := path.Join(workspace.RunDir(r.project, run), "outputs", file)
	if err := r.w.Replace(name, append(text, '\n'), 0o644); err != nil {
		return nil, err
	}
	if r.remote != nil {
		work.SchemaFile = session.InContext(file)
		return []string{file}, nil
	}
	work.SchemaFile = filepath.Join(r.w.Dir(), filepath.FromSlash(name))
	return nil, nil
}

// abilities returns the abilities of an attempt's program on the machine where it runs.
func (r *runner) abilities(ctx context.Context, cli provider.CLI, program string) provider.Abilities {
	switch {
	case r.remote == nil:
		return r.known.Abilities(ctx, cli, program)
	case r.remote.Program.Abilities == nil:
		return provider.Abilities{}
	}
	return *r.remote.Program.Abilities
}

// UnroutableReason returns why no worker can run a job, "" if one can.
func UnroutableReason(w *workspace.Workspace, spec doc.JobSpec) (why string, err error) {
	_, why, err = chooseWorker(w, spec)
	return why, err
}
