package work

// ac land: landing a run's work as one commit, or as uncommitted changes.

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// Landing holds the options of ac land.
type Landing struct {
	p            decisions.LandRunParams
	asFiles, Yes bool
	undo         string
}

func landCommand(a *cli.App) *cobra.Command {
	var l Landing
	cmd := &cobra.Command{
		Use: "land <run>", Short: "Bring a run's work into your branch as one commit", Args: cobra.ArbitraryArgs,
		Long: `Merge what a run made in its worktree with your branch, as one commit by the user of the
repository's configuration. Nothing is changed where both changed the same lines, or where
a file in question has changes that are not committed. Hooks do not run. The worktree is
removed afterwards; the run's own branch stays. A run is landed once.

With --files its files become uncommitted changes instead, which --undo takes back.`,
		Example: "  ac land 4WKKE6\n  ac land 4WKKE6 -m 'Retry by the timer' --into next\n  ac land 4WKKE6 --dry-run\n" +
			"  ac land 4WKKE6 --files\n  ac land --undo cp_01M7YTJ74WV2FK6GPFWC06FBKZ",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		switch {
		case l.undo != "" && len(given) == 0:
			return undoFiles(c, l.undo)
		case l.undo != "":
			return cli.UsageError{Message: "--undo takes no run"}
		case len(given) == 0:
			return cli.UsageError{Message: "missing argument <run>"}
		case len(given) > 1:
			return cli.UsageError{Message: fmt.Sprintf("unexpected argument %q", given[1])}
		case l.asFiles && (l.p.Into != "" || l.p.Message != "" || l.p.Keep):
			return cli.UsageError{Message: "--files makes no commit: -m, --into and --keep do not go with it"}
		}
		row, err := c.Run(given[0])
		if err != nil {
			return err
		}
		if l.asFiles {
			return landFiles(c, &row, l)
		}
		return Land(c, &row, l)
	})
	flags := cmd.Flags()
	flags.StringVarP(&l.p.Message, "message", "m", "", "message of the commit; else what the run was asked to do")
	flags.StringVar(&l.p.Into, "into", "", "the branch; else the one that is checked out")
	flags.BoolVar(&l.p.DryRun, "dry-run", false, "show what would be landed")
	flags.BoolVar(&l.p.Keep, "keep", false, "keep the worktree, so that the run can go on in it")
	flags.BoolVar(&l.asFiles, "files", false, "as uncommitted changes")
	flags.StringVar(&l.undo, "undo", "", "take back what --files did: the id of its checkpoint")
	flags.BoolVarP(&l.Yes, "yes", "y", false, "do not ask")
	return cmd
}

// Land lands a run.
func Land(c *cli.Call, row *company.RunRow, l Landing) error {
	p := l.p
	p.Dir, p.ProjectID, p.RunID = c.DirParam(), row.ProjectID, row.RunID
	p.FilesActor = company.FilesActor{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team}
	if row.Landed == nil && !p.DryRun && !l.Yes && c.CanAsk() {
		if agreed, err := agreesToLand(c, row, p); err != nil || !agreed {
			return err
		}
	}
	progress := c.Progress("landing")
	defer progress.End()
	done, err := company.Do(c.Ctx, c.All, decisions.Operations.LandRun, p)
	progress.End()
	if err != nil {
		return landError(c, row, err)
	}
	if c.AsJSON {
		if err := c.PrintJSON(done); err != nil || len(done.Conflicts) == 0 {
			return err
		}
		return cli.ExitError{Code: cli.ExitFailure}
	}
	for _, note := range done.Notes {
		c.Note("note: %s", note)
	}
	return printLanded(c, row, p, done)
}

// printLanded prints the result of landing.
func printLanded(c *cli.Call, row *company.RunRow, p decisions.LandRunParams, done files.Landing) error {
	name, size := cli.ShortID(row.RunID), sizeOf(done.Files, done.Added, done.Removed)
	switch {
	case len(done.Conflicts) > 0:
		return conflictError(row, done.Branch, done.Conflicts)
	case done.Files == 0 && done.Commit == nil:
		c.Note("%s changed nothing", name)
		return nil
	case done.Commit == nil:
		_, err := fmt.Fprintf(c.Stdout, "would land %s on %s as one commit (%s)\n", name, terminal.Printable(done.Branch), size)
		return err
	case !c.OnTerminal() && !p.DryRun:
		if done.Already {
			c.Note("%s was landed as %s", name, shortCommit(*done.Commit))
		}
		_, err := fmt.Fprintf(c.Stdout, "%s\t%s\n", row.RunID, *done.Commit)
		return err
	case done.Already:
		_, err := fmt.Fprintf(c.Stdout, "%s was landed as %s\n", name, shortCommit(*done.Commit))
		return err
	}
	commit := shortCommit(*done.Commit)
	_, err := fmt.Fprintf(c.Stdout, "landed %s on %s as %s (%s); undo: git revert %s\n", name, terminal.Printable(done.Branch), commit, size, commit)
	return err
}

func shortCommit(commit string) string { return commit[:min(len(commit), 7)] }

func sizeOf(n, added, removed int) string {
	return fmt.Sprintf("%s +%d -%d", terminal.FormatCount(n, "file"), added, removed)
}

// agreesToLand shows the sizes of the changes and asks for confirmation. The answer d shows the
// diff.
func agreesToLand(c *cli.Call, row *company.RunRow, p decisions.LandRunParams) (bool, error) {
	p.DryRun = true
	would, err := company.Do(c.Ctx, c.All, decisions.Operations.LandRun, p)
	if err != nil {
		return false, landError(c, row, err)
	}
	if len(would.Conflicts) > 0 || would.Files == 0 || would.Already {
		return true, nil // there is nothing to confirm
	}
	of := decisions.ChangesParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows"}
	changed, err := company.Do(c.Ctx, c.All, decisions.Operations.Changes, of)
	if err != nil {
		return false, err
	}
	fmt.Fprint(c.Stderr, Stat(c, row, changed.Files))
	answers := bufio.NewReader(c.Stdin)
	for {
		fmt.Fprintf(c.Stderr, "Land %s on %s as one commit? [y/N/d] ", sizeOf(would.Files, would.Added, would.Removed), terminal.Printable(would.Branch))
		answer, _ := answers.ReadString('\n') // no answer means no
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "d", "diff":
			if err := Diff(c, row, nil, false); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
}

// landError explains why a run was not landed, and what to do about it.
func landError(c *cli.Call, row *company.RunRow, err error) error {
	told, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	name := cli.ShortID(row.RunID)
	switch data := told.Data.(type) {
	case files.Conflicts:
		if data.Branch == "" {
			return err
		}
		return conflictError(row, data.Branch, data.Conflicts)
	case files.Refused:
		return refusedError(told.Message, data)
	}
	switch told.Reason { //nolint:exhaustive // the others say it themselves
	case fault.SnapshotBase:
		return fmt.Errorf("run %s began from your uncommitted files; bring it in with: ac land --files %s", name, name)
	case fault.RunBusy:
		return fmt.Errorf("run %s still works; stop it, or wait", name)
	case fault.NoWorktree:
		return noWorktree(c, row)
	}
	return err
}

// conflictError lists the files that both sides changed.
func conflictError(row *company.RunRow, branch string, names []string) error {
	name := cli.ShortID(row.RunID)
	e := cli.ChoiceError{Message: fmt.Sprintf("%s and %s changed the same lines; nothing was changed", name, branch)}
	for i, file := range names {
		if i == cli.MostCandidates {
			e.Lines = append(e.Lines, fmt.Sprintf("… %d more", len(names)-cli.MostCandidates))
			break
		}
		e.Lines = append(e.Lines, terminal.Quote(file))
	}
	e.Lines = append(e.Lines, fmt.Sprintf("have it solved: ac continue %s \"rebase on %s\"", name, branch))
	return e
}

// refusedError lists the refused files with their problems.
func refusedError(message string, refused files.Refused) error {
	e := cli.ChoiceError{Message: cli.OneLine(message)}
	for i, problem := range refused.Errors {
		if i == cli.MostCandidates {
			e.Lines = append(e.Lines, fmt.Sprintf("… %d more", len(refused.Errors)-cli.MostCandidates))
			break
		}
		e.Lines = append(e.Lines, terminal.Quote(problem.Path)+": "+cli.OneLine(problem.Message))
	}
	return e
}

// landFiles applies the files of a run as uncommitted changes.
func landFiles(c *cli.Call, row *company.RunRow, l Landing) error {
	list, err := company.Do(c.Ctx, c.All, decisions.Operations.ListFiles, decisions.ListFilesParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID})
	if err != nil {
		return landError(c, row, err)
	}
	p := decisions.ApplyFilesParams{Dir: c.DirParam(), ProjectID: row.ProjectID, DryRun: l.p.DryRun, OnProblem: "refuse"}
	p.FilesActor = company.FilesActor{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team}
	for _, f := range list.Files {
		p.ArtifactIDs = append(p.ArtifactIDs, f.ID)
	}
	result := files.Result{Files: []files.Row{}, Errors: nil}
	if len(p.ArtifactIDs) > 0 {
		if result, err = company.Do(c.Ctx, c.All, decisions.Operations.ApplyFiles, p); err != nil {
			return landError(c, row, err)
		}
	}
	name := cli.ShortID(row.RunID)
	switch {
	case c.AsJSON:
		return c.PrintJSON(result)
	case len(result.Errors) > 0:
		return refusedError(fmt.Sprintf("the files of %s would be refused", name), files.Refused{Errors: result.Errors})
	case result.Applied == 0:
		c.Note("%s changed nothing that is not there", name)
		return nil
	case p.DryRun:
		_, err = fmt.Fprintf(c.Stdout, "would apply %s of %s as uncommitted changes\n", terminal.FormatCount(result.Applied, "file"), name)
	case c.OnTerminal():
		_, err = fmt.Fprintf(c.Stdout, "applied %s of %s as uncommitted changes; undo: ac land --undo %s\n", terminal.FormatCount(result.Applied, "file"), name, *result.CheckpointID)
	default:
		_, err = fmt.Fprintf(c.Stdout, "%s\t%s\n", row.RunID, *result.CheckpointID)
	}
	return err
}

// undoFiles reverts a landing as uncommitted changes.
func undoFiles(c *cli.Call, id string) error {
	if err := c.RequireProject(); err != nil {
		return err
	}
	p := decisions.RevertFilesParams{Dir: c.DirParam(), ProjectID: c.Project, CheckpointID: id, OnProblem: "refuse"}
	p.FilesActor = company.FilesActor{ActorID: c.Actor, ActorRole: c.Role, ActorTeamID: c.Team}
	done, err := company.Do(c.Ctx, c.All, decisions.Operations.RevertFiles, p)
	if err != nil {
		if told, ok := errors.AsType[*fault.Error](err); ok {
			if data, ok := told.Data.(files.Refused); ok {
				return refusedError(told.Message, data)
			}
		}
		return err
	}
	if c.AsJSON {
		return c.PrintJSON(done)
	}
	_, err = fmt.Fprintf(c.Stdout, "put back %s\n", terminal.FormatCount(done.Reverted, "file"))
	return err
}
