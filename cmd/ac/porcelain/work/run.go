package work

// ac run: running a command, or giving an agent a prompt, in a new run. This file prepares and
// starts the run, follow.go follows it.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/plumbing/execution"
	"ac/company"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/internal/fault"
	"ac/internal/shellwords"
	"ac/runs"
	"ac/workspace/doc"
)

// Exit codes of ac run besides those of the command itself.
const (
	exitOverLimit   = 124 // stopped by a budget, or by --timeout
	exitOurs        = 125 // a failure of ac itself
	exitNoExecution = 126
	exitNoProgram   = 127
)

// RunFlags holds the options of ac run.
type RunFlags struct {
	agent, repo, task, milestone, model, mode, level, title string
	detach, worktree, here, keepOpen, stdin, raw            bool
	budgets, env                                            []string
	timeout                                                 time.Duration
	execution.PlacementFlags
}

func (o *RunFlags) add(flags *pflag.FlagSet) {
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
	o.Add(flags)
	flags.BoolVar(&o.raw, "raw", false, "of an agent, print what it prints as it is")
}

func runCommand(a *cli.App) *cobra.Command {
	var o RunFlags
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
	a.Short(cmd, func(c *cli.Call, given []string) error {
		p, err := startParams(c, cmd, given, &o)
		if err != nil {
			return err
		}
		return startAndFollow(c, p, &o)
	})
	o.add(cmd.Flags())
	exitsAsRun(a, cmd)
	return cmd
}

// exitsAsRun makes failures of ac itself exit with codes that ordinary commands do not use.
func exitsAsRun(a *cli.App, cmd *cobra.Command) {
	run := cmd.RunE
	code := func(err error) error {
		if _, ok := errors.AsType[cli.ExitError](err); ok || err == nil {
			return err
		}
		a.Fail(cmd.Name(), err)
		switch {
		case !fault.Is(err, fault.ProgramMissing):
			return cli.ExitError{Code: exitOurs}
		case errors.Is(err, fs.ErrPermission):
			return cli.ExitError{Code: exitNoExecution}
		}
		return cli.ExitError{Code: exitNoProgram}
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error { return code(run(cmd, given)) }
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return code(cli.UsageError{Message: cli.UnknownFlag(cmd, err.Error())})
	})
}

// startParams returns the params of the run that a command line asks for.
func startParams(c *cli.Call, cmd *cobra.Command, given []string, o *RunFlags) (p orchestration.StartRunParams, err error) {
	if err := c.RequireProject(); err != nil {
		return p, err
	}
	p.Dir, p.ProjectID, p.From = c.DirParam(), c.Project, "cli"
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash > 0:
		return p, cli.UsageError{Message: "a prompt and a program exclude each other"}
	case dash == 0 && len(given) == 0:
		return p, cli.UsageError{Message: "missing program behind --"}
	case dash == 0:
		p.Argv = given
		if p.StdinText, err = wholeStdin(c, o.stdin); err != nil {
			return p, err
		}
	case o.stdin:
		return p, cli.UsageError{Message: "--stdin is for commands; a prompt is read from stdin by: ac run --agent NAME -"}
	default:
		prompt, err := prompt(c, given)
		if err != nil {
			return p, err
		}
		p.PromptText = &prompt
	}
	agent, err := agentFor(c, o.agent, dash == 0)
	if err != nil {
		return p, err
	}
	p.AgentID = agent.ID
	if err := Shape(c, &p, o); err != nil {
		return p, err
	}
	if p.Placement, err = o.Placement(cmd.Flags()); err != nil {
		return p, err
	}
	return p, PlaceRun(c, &p, o)
}

// Shape sets the params that do not depend on what the run does.
func Shape(c *cli.Call, p *orchestration.StartRunParams, o *RunFlags) (err error) {
	p.By(c.Actor, c.Role, c.Team)
	p.LanePriority, p.Model, p.Title, p.TimeoutMS = "normal", o.model, o.title, o.timeout.Milliseconds()
	if o.timeout < 0 {
		return cli.UsageError{Message: "--timeout must be positive"}
	}
	if p.TaskID, p.MilestoneID, err = taskFor(c, o); err != nil {
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
			return cli.UsageError{Message: "--mode, --level and --keep-open are for agents that are spoken with"}
		}
		p.Driver = "command"
		return nil
	}
	p.Change("", doc.Mode(o.mode), doc.Level(o.level), o.keepOpen, 0)
	p.Interactive = new(o.detach || c.CanAsk())
	return nil
}

// taskFor returns the task and the milestone that the options name. The task may be named by the
// end of its id.
func taskFor(c *cli.Call, o *RunFlags) (task, milestone string, err error) {
	if o.task == "" {
		if o.milestone != "" {
			return "", "", cli.UsageError{Message: "--milestone needs --task"}
		}
		return "", "", nil
	}
	rows, err := company.Do(c.Ctx, c.All, workforce.Operations.TaskNames, company.ProjectParams{Dir: c.DirParam(), ProjectID: c.Project})
	if err != nil {
		return "", "", err
	}
	known := make([]cli.Candidate, len(rows))
	for i, row := range rows {
		known[i] = cli.Candidate{ID: row.ID, Name: row.Title}
	}
	found, err := cli.Lookup("task", o.task, c.Where(), known)
	return found.ID, o.milestone, err
}

// PlaceRun determines where a run works. That is the current folder if it is in a repository of the
// project, else the project's only repository, else the workspace.
func PlaceRun(c *cli.Call, p *orchestration.StartRunParams, o *RunFlags) error {
	if o.worktree && o.here {
		return cli.UsageError{Message: "--worktree and --here exclude each other"}
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	place, err := company.Do(c.Ctx, c.All, orchestration.Operations.RunPlace, orchestration.RunPlaceParams{Dir: p.Dir, ProjectID: p.ProjectID, Folder: here, RepoID: o.repo})
	if err != nil {
		return err
	}
	p.RepoID, p.WorkdirRel = place.RepoID, place.WorkdirRel
	if p.RepoID == "" {
		if o.worktree {
			return cli.UsageError{Message: "--worktree needs a repository of the project"}
		}
		c.Note("in %s", cli.Tilde(place.Folder))
		return nil
	}
	spoken := p.PromptText != nil && p.Level != doc.LevelReadOnly
	away := !p.Placement.Local() // another machine, which has none of the folders here
	if away && o.here {
		return cli.UsageError{Message: "--here is of this machine"}
	}
	if p.Isolation = runs.IsolationNone; o.worktree || away || spoken && !o.here {
		p.Isolation = runs.IsolationWorktree
	}
	return nil
}

// maxStdin is the maximum size of a command's stdin, in bytes.
const maxStdin = 16 << 20

// wholeStdin reads all of stdin for a command. It returns nil if wanted is false.
func wholeStdin(c *cli.Call, wanted bool) (*string, error) {
	if !wanted {
		return nil, nil
	}
	text, err := io.ReadAll(io.LimitReader(c.Stdin, maxStdin+1))
	if err == nil && len(text) > maxStdin {
		err = fmt.Errorf("stdin has more than %d MiB", maxStdin>>20)
	}
	return new(string(text)), err
}

// prompt returns the prompt on the command line, or all of stdin.
func prompt(c *cli.Call, given []string) (string, error) {
	switch {
	case len(given) > 1:
		return "", cli.UsageError{Message: fmt.Sprintf("unexpected argument %q: quote the prompt, or put a program behind --", given[1])}
	case len(given) == 1 && given[0] != "-":
		return given[0], nil
	case len(given) == 0 && readsTerminal(c.App):
		return "", cli.UsageError{Message: "missing argument <prompt>, or -- and a program"}
	}
	text, err := io.ReadAll(io.LimitReader(c.Stdin, runs.MaxPrompt+1))
	return strings.TrimSuffix(string(text), "\n"), err
}

// agentFor returns the named agent, else the only suitable one. A command needs an agent of
// provider cmd, a prompt needs one that takes prompts.
func agentFor(c *cli.Call, named string, command bool) (cli.Candidate, error) {
	if named == "" {
		named = os.Getenv("AC_AGENT")
	}
	rows, err := company.Do(c.Ctx, c.All, workforce.Operations.AgentsToRun, c.DirParam())
	if err != nil {
		return cli.Candidate{}, err
	}
	if named != "" {
		found, err := c.Agent(named)
		at := slices.IndexFunc(rows, func(r workforce.AgentToRun) bool { return r.AgentID == found.ID })
		if err == nil && at >= 0 && rows[at].Command && !command {
			err = fmt.Errorf("agent %s takes no prompt; it runs commands: ac run --agent %s -- PROGRAM", found.Name, shellwords.Join([]string{found.Name}))
		}
		return found, err
	}
	var fit []cli.Candidate
	var names []string
	for _, row := range rows {
		if row.Command == command {
			fit, names = append(fit, cli.Candidate{ID: row.AgentID, Name: row.Name}), append(names, row.Name)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return cli.Candidate{}, fmt.Errorf("which agent? there are: %s (--agent NAME)", strings.Join(names, ", "))
	case command:
		return cli.Candidate{}, fmt.Errorf("no agent of %s runs commands; make one with: ac init %s", c.Company, c.Dir)
	}
	return cli.Candidate{}, fmt.Errorf("no agent of %s takes a prompt; make one with: ac init %s", c.Company, c.Dir)
}

// softShare is the fraction of a hard limit at which people are warned.
const softShare = 0.8

// parseBudgets parses limits: dollars with $ or usd, tokens without a unit or with k or M.
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
				break // one unit
			}
		}
		amount, err := strconv.ParseFloat(number, 64)
		if err != nil || amount < 0 || math.IsInf(amount, 0) || math.IsNaN(amount) || amount*times > 1<<53 {
			return nil, cli.UsageError{Message: fmt.Sprintf("--budget must be like $2, 2.50usd, 200k or 1.5M, not %q", text)}
		}
		if dollars {
			b.HardCostUSD, b.SoftCostUSD = new(amount), new(amount*softShare)
		} else {
			b.HardTokens, b.SoftTokens = new(int64(amount*times)), new(int64(amount*times*softShare))
		}
	}
	return b, nil
}

// parseEnv parses NAME=VALUE.
func parseEnv(texts []string) (map[string]string, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	env := map[string]string{}
	for _, text := range texts {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, cli.UsageError{Message: fmt.Sprintf("--env must be NAME=VALUE, not %q", text)}
		}
		env[name] = value
	}
	return env, nil
}
