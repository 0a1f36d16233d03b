package main

// ac run: a command, or an agent with something to do, as a run of its own. It begins
// here; what follows it is in p_follow.go.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/internal/fault"
	"ac/internal/shellwords"
	"ac/runs"
	"ac/workspace/doc"
)

// Exit codes of ac run beside those of the command itself.
const (
	exitOverLimit   = 124 // stopped by a budget, or by --timeout
	exitOurs        = 125 // ac itself
	exitNoExecution = 126
	exitNoProgram   = 127
)

// runFlags are the options of ac run.
type runFlags struct {
	agent, repo, task, milestone, model, mode, level, title string
	detach, worktree, here, keepOpen, stdin, raw            bool
	budgets, env                                            []string
	timeout                                                 time.Duration
	placementFlags
}

func (o *runFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.agent, "agent", "", "the agent (AC_AGENT; else the only one that fits)")
	flags.BoolVarP(&o.detach, "detach", "d", false, "do not follow it: print its id")
	flags.BoolVar(&o.worktree, "worktree", false, "work in a worktree of HEAD")
	flags.BoolVar(&o.here, "here", false, "work in the folder itself")
	flags.StringVar(&o.repo, "repo", "", "the repository to work in")
	flags.StringVar(&o.task, "task", "", "the task")
	flags.StringVar(&o.milestone, "milestone", "", "the milestone of the task")
	flags.StringArrayVar(&o.budgets, "budget", nil, "hard limit: $2, 2.50usd, 200k or 1.5M tokens (repeatable)")
	flags.StringVar(&o.model, "model", "", "the model")
	flags.StringVar(&o.mode, "mode", "", "default, accept_edits, plan or full_auto")
	flags.StringVar(&o.level, "level", "", "read-only, patch, run-commands or full")
	flags.BoolVar(&o.keepOpen, "keep-open", false, "go on living between turns")
	flags.StringArrayVar(&o.env, "env", nil, "NAME=VALUE for its environment (repeatable)")
	flags.BoolVar(&o.stdin, "stdin", false, "all of stdin goes to the command")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long it may run: 10m")
	flags.StringVar(&o.title, "name", "", "what lists call it")
	o.placementFlags.add(flags)
	flags.BoolVar(&o.raw, "raw", false, "of an agent, print what it prints as it is")
}

func runCommand(a *app) *cobra.Command {
	var o runFlags
	cmd := &cobra.Command{
		Use: "run [prompt] | run -- program [arg...]", Short: "Run a command or an agent, and follow it", Args: cobra.ArbitraryArgs,
		Long: `Run a command (behind --), or give an agent something to do. The run does not end with
this terminal: Ctrl-C stops it, Ctrl-\ leaves it running. A prompt may come from stdin.

An agent works in a worktree where the project has a repository (--here: not). Of an
agent, a terminal sees its transcript and a pipe its last message; of a command, both
see its output.

Exit status: that of the command; 0 or 1 of an agent; 124 when a budget or --timeout
stopped it, 125 when ac could not run it, 126 and 127 when the program cannot be
executed or found, 128 and the signal that ended it.`,
		Example: "  ac run -- make test\n  ac run --agent Ann \"Fix the flaky test\"\n  ac run -d --agent Ann --budget '$2' \"Write the release notes\"",
	}
	a.short(cmd, func(c *call, given []string) error {
		p, err := c.startParams(cmd, given, &o)
		if err != nil {
			return err
		}
		return c.startAndFollow(p, &o)
	})
	o.add(cmd.Flags())
	exitsAsRun(a, cmd)
	return cmd
}

// exitsAsRun has the failures of ac itself end a command with codes that no command of
// people uses.
func exitsAsRun(a *app, cmd *cobra.Command) {
	run := cmd.RunE
	code := func(err error) error {
		if _, ok := errors.AsType[exitError](err); ok || err == nil {
			return err
		}
		a.fail(cmd.Name(), err)
		switch {
		case !fault.Is(err, fault.ProgramMissing):
			return exitError{exitOurs}
		case errors.Is(err, fs.ErrPermission):
			return exitError{exitNoExecution}
		}
		return exitError{exitNoProgram}
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error { return code(run(cmd, given)) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return code(usageError{unknownFlag(cmd, err.Error())}) })
}

// startParams are the params of the run that a command line asks for.
func (c *call) startParams(cmd *cobra.Command, given []string, o *runFlags) (p orchestration.StartRunParams, err error) {
	if err := c.requireProject(); err != nil {
		return p, err
	}
	p.Dir, p.ProjectID, p.From = c.dirParam(), c.project, "cli"
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash > 0:
		return p, usageError{"a prompt and a program exclude each other"}
	case dash == 0 && len(given) == 0:
		return p, usageError{"missing program behind --"}
	case dash == 0:
		p.Argv = given
		if p.StdinText, err = c.wholeStdin(o.stdin); err != nil {
			return p, err
		}
	case o.stdin:
		return p, usageError{"--stdin is for commands; a prompt is read from stdin by: ac run --agent NAME -"}
	default:
		prompt, err := c.prompt(given)
		if err != nil {
			return p, err
		}
		p.PromptText = &prompt
	}
	agent, err := c.agentFor(o.agent, dash == 0)
	if err != nil {
		return p, err
	}
	p.AgentID = agent.id
	if err := c.shape(&p, o); err != nil {
		return p, err
	}
	if p.Placement, err = o.placement(cmd.Flags()); err != nil {
		return p, err
	}
	return p, c.placeRun(&p, o)
}

// shape sets what options say of a run, whatever it does.
func (c *call) shape(p *orchestration.StartRunParams, o *runFlags) (err error) {
	p.By(c.actor, c.role, c.team)
	p.LanePriority, p.Model, p.Title, p.TimeoutMS = "normal", o.model, o.title, o.timeout.Milliseconds()
	if o.timeout < 0 {
		return usageError{"--timeout must be positive"}
	}
	if p.TaskID, p.MilestoneID, err = c.taskFor(o); err != nil {
		return err
	}
	if p.Budget, err = parseBudgets(o.budgets); err != nil {
		return err
	}
	if p.Env, err = parseEnv(o.env); err != nil {
		return err
	}
	if p.PromptText == nil {
		if o.mode != "" || o.level != "" || o.keepOpen {
			return usageError{"--mode, --level and --keep-open are for agents that are spoken with"}
		}
		p.Driver = "command"
		return nil
	}
	p.Change("", doc.Mode(o.mode), doc.Level(o.level), o.keepOpen, 0)
	p.Interactive = new(o.detach || c.asks())
	return nil
}

// taskFor is the task that options name, by the end of its id too.
func (c *call) taskFor(o *runFlags) (task, milestone string, err error) {
	if o.task == "" {
		if o.milestone != "" {
			return "", "", usageError{"--milestone needs --task"}
		}
		return "", "", nil
	}
	rows, err := company.Do(c.ctx, c.all, workforce.Operations.TaskNames, company.ProjectParams{Dir: c.dirParam(), ProjectID: c.project})
	if err != nil {
		return "", "", err
	}
	known := make([]candidate, len(rows))
	for i, row := range rows {
		known[i] = candidate{id: row.ID, name: row.Title}
	}
	found, err := lookup("task", o.task, c.where(), known)
	return found.id, o.milestone, err
}

// placeRun settles where a run works: in the folder where ac was called, if that is in a
// repository of the project, else in the project's only repository, else in the workspace.
func (c *call) placeRun(p *orchestration.StartRunParams, o *runFlags) error {
	if o.worktree && o.here {
		return usageError{"--worktree and --here exclude each other"}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	place, err := company.Do(c.ctx, c.all, orchestration.Operations.RunPlace, orchestration.RunPlaceParams{Dir: p.Dir, ProjectID: p.ProjectID, Folder: here, RepoID: o.repo})
	if err != nil {
		return err
	}
	p.RepoID, p.WorkdirRel = place.RepoID, place.WorkdirRel
	if p.RepoID == "" {
		if o.worktree {
			return usageError{"--worktree needs a repository of the project"}
		}
		c.note("in %s", tilde(place.Folder))
		return nil
	}
	spoken := p.PromptText != nil && p.Level != doc.LevelReadOnly
	away := !p.Placement.Local() // where there is no folder to work in
	if away && o.here {
		return usageError{"--here is of this machine"}
	}
	if p.Isolation = runs.IsolationNone; o.worktree || away || spoken && !o.here {
		p.Isolation = runs.IsolationWorktree
	}
	return nil
}

// tilde is a folder as people write it.
func tilde(dir string) string {
	if home, err := os.UserHomeDir(); err == nil && home != "" {
		if rel, err := filepath.Rel(home, dir); err == nil && filepath.IsLocal(rel) {
			return filepath.Join("~", rel)
		}
	}
	return dir
}

// maxStdin bounds what a command gets from stdin, in bytes.
const maxStdin = 16 << 20

// wholeStdin is all of stdin for a command, nil where none is asked for.
func (c *call) wholeStdin(wanted bool) (*string, error) {
	if !wanted {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(c.stdin, maxStdin+1))
	if err == nil && len(text) > maxStdin {
		err = fmt.Errorf("stdin has more than %d MiB", maxStdin>>20)
	}
	return new(string(text)), err
}

// prompt is what stands on the command line, or all of stdin.
func (c *call) prompt(given []string) (string, error) {
	switch {
	case len(given) > 1:
		return "", usageError{fmt.Sprintf("unexpected argument %q: quote the prompt, or put a program behind --", given[1])}
	case len(given) == 1 && given[0] != "-":
		return given[0], nil
	case len(given) == 0 && c.readsTerminal():
		return "", usageError{"missing argument <prompt>, or -- and a program"}
	}
	text, err := io.ReadAll(io.LimitReader(c.stdin, runs.MaxPrompt+1))
	return strings.TrimSuffix(string(text), "\n"), err
}

// agentFor is the agent that is named, else the only one that fits: of provider cmd for a
// command, one that can be spoken with for a prompt.
func (c *call) agentFor(named string, command bool) (candidate, error) {
	if named == "" {
		named = os.Getenv("AC_AGENT")
	}
	rows, err := company.Do(c.ctx, c.all, workforce.Operations.AgentsToRun, c.dirParam())
	if err != nil {
		return candidate{}, err
	}
	if named != "" {
		found, err := c.agent(named)
		at := slices.IndexFunc(rows, func(r workforce.AgentToRun) bool { return r.AgentID == found.id })
		if err == nil && at >= 0 && rows[at].Command && !command {
			err = fmt.Errorf("agent %s takes no prompt; it runs commands: ac run --agent %s -- PROGRAM", found.name, shellwords.Join([]string{found.name}))
		}
		return found, err
	}
	var fit []candidate
	var names []string
	for _, row := range rows {
		if row.Command == command {
			fit, names = append(fit, candidate{id: row.AgentID, name: row.Name}), append(names, row.Name)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return candidate{}, fmt.Errorf("which agent? there are: %s (--agent NAME)", strings.Join(names, ", "))
	case command:
		return candidate{}, fmt.Errorf("no agent of %s runs commands; make one with: ac init %s", c.company, c.dir)
	}
	return candidate{}, fmt.Errorf("no agent of %s takes a prompt; make one with: ac init %s", c.company, c.dir)
}

// softShare is the part of a hard limit at which people are warned.
const softShare = 0.8

// parseBudgets reads limits: dollars with $ or usd, tokens with nothing, k or M.
func parseBudgets(texts []string) (*doc.Budget, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	b := &doc.Budget{}
	for _, text := range texts {
		number, dollars := strings.CutPrefix(strings.ToLower(strings.TrimSpace(text)), "$")
		if rest, ok := strings.CutSuffix(number, "usd"); ok && !dollars {
			number, dollars = strings.TrimSpace(rest), true
		}
		times := 1.0
		for unit, n := range map[string]float64{"k": 1e3, "m": 1e6} {
			if rest, ok := strings.CutSuffix(number, unit); ok && !dollars {
				number, times = rest, n
			}
		}
		amount, err := strconv.ParseFloat(number, 64)
		if err != nil || amount < 0 || math.IsInf(amount, 0) || math.IsNaN(amount) || amount*times > 1<<53 {
			return nil, usageError{fmt.Sprintf("--budget must be like $2, 2.50usd, 200k or 1.5M, not %q", text)}
		}
		if dollars {
			b.HardCostUSD, b.SoftCostUSD = new(amount), new(amount*softShare)
		} else {
			b.HardTokens, b.SoftTokens = new(int64(amount*times)), new(int64(amount*times*softShare))
		}
	}
	return b, nil
}

// parseEnv reads NAME=VALUE.
func parseEnv(texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	env := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Sprintf("--env must be NAME=VALUE, not %q", text)}
		}
		env[name] = value
	}
	return env, nil
}
