package main

// ac land: a run's work as one commit, or as uncommitted changes.

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/decisions"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// landing is what ac land was asked to do.
type landing struct {
	p            decisions.LandRunParams
	asFiles, yes bool
	undo         string
}

func landCommand(a *app) *cobra.Command {
	var l landing
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
	a.short(cmd, func(c *call, given []string) error {
		switch {
		case l.undo != "" && len(given) == 0:
			return c.undoFiles(l.undo)
		case l.undo != "":
			return usageError{"--undo takes no run"}
		case len(given) == 0:
			return usageError{"missing argument <run>"}
		case len(given) > 1:
			return usageError{fmt.Sprintf("unexpected argument %q", given[1])}
		case l.asFiles && (l.p.Into != "" || l.p.Message != "" || l.p.Keep):
			return usageError{"--files makes no commit: -m, --into and --keep do not go with it"}
		}
		row, err := c.run(given[0])
		if err != nil {
			return err
		}
		if l.asFiles {
			return c.landFiles(&row, l)
		}
		return c.land(&row, l)
	})
	flags := cmd.Flags()
	flags.StringVarP(&l.p.Message, "message", "m", "", "message of the commit; else what the run was asked to do")
	flags.StringVar(&l.p.Into, "into", "", "the branch; else the one that is checked out")
	flags.BoolVar(&l.p.DryRun, "dry-run", false, "show what would be landed")
	flags.BoolVar(&l.p.Keep, "keep", false, "keep the worktree, so that the run can go on in it")
	flags.BoolVar(&l.asFiles, "files", false, "as uncommitted changes")
	flags.StringVar(&l.undo, "undo", "", "take back what --files did: the id of its checkpoint")
	flags.BoolVarP(&l.yes, "yes", "y", false, "do not ask")
	return cmd
}

// land lands a run.
func (c *call) land(row *company.RunRow, l landing) error {
	p := l.p
	p.Dir, p.ProjectID, p.RunID = c.dirParam(), row.ProjectID, row.RunID
	p.FilesActor = company.FilesActor{ActorID: c.actor, ActorRole: c.role, ActorTeamID: c.team}
	if row.Landed == nil && !p.DryRun && !l.yes && c.asks() {
		if agreed, err := c.agreesToLand(row, p); err != nil || !agreed {
			return err
		}
	}
	progress := c.progress("landing")
	defer progress.End()
	done, err := company.Do(c.ctx, c.all, decisions.Operations.LandRun, p)
	progress.End()
	if err != nil {
		return c.landError(row, err)
	}
	if c.asJSON {
		if err := c.printJSON(done); err != nil || len(done.Conflicts) == 0 {
			return err
		}
		return exitError{exitFailure}
	}
	for _, note := range done.Notes {
		c.note("note: %s", note)
	}
	return c.printLanded(row, p, done)
}

// printLanded says what came of a landing.
func (c *call) printLanded(row *company.RunRow, p decisions.LandRunParams, done files.Landing) error {
	name, size := shortID(row.RunID), sizeOf(done.Files, done.Added, done.Removed)
	switch {
	case len(done.Conflicts) > 0:
		return conflictError(row, done.Branch, done.Conflicts)
	case done.Files == 0 && done.Commit == nil:
		c.note("%s changed nothing", name)
		return nil
	case done.Commit == nil:
		_, err := fmt.Fprintf(c.stdout, "would land %s on %s as one commit (%s)\n", name, terminal.Printable(done.Branch), size)
		return err
	case !c.onTerminal() && !p.DryRun:
		if done.Already {
			c.note("%s was landed as %s", name, shortCommit(*done.Commit))
		}
		_, err := fmt.Fprintf(c.stdout, "%s\t%s\n", row.RunID, *done.Commit)
		return err
	case done.Already:
		_, err := fmt.Fprintf(c.stdout, "%s was landed as %s\n", name, shortCommit(*done.Commit))
		return err
	}
	commit := shortCommit(*done.Commit)
	_, err := fmt.Fprintf(c.stdout, "landed %s on %s as %s (%s); undo: git revert %s\n", name, terminal.Printable(done.Branch), commit, size, commit)
	return err
}

func shortCommit(commit string) string { return commit[:min(len(commit), 7)] }

func sizeOf(n, added, removed int) string {
	word := "files"
	if n == 1 {
		word = "file"
	}
	return fmt.Sprintf("%d %s +%d -%d", n, word, added, removed)
}

// agreesToLand shows the sizes of the changes and asks; d shows the diff.
func (c *call) agreesToLand(row *company.RunRow, p decisions.LandRunParams) (bool, error) {
	p.DryRun = true
	would, err := company.Do(c.ctx, c.all, decisions.Operations.LandRun, p)
	if err != nil {
		return false, c.landError(row, err)
	}
	if len(would.Conflicts) > 0 || would.Files == 0 || would.Already {
		return true, nil // there is nothing to ask
	}
	of := decisions.ChangesParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows"}
	changed, err := company.Do(c.ctx, c.all, decisions.Operations.Changes, of)
	if err != nil {
		return false, err
	}
	fmt.Fprint(c.stderr, c.stat(row, changed.Files))
	answers := bufio.NewReader(c.stdin)
	for {
		fmt.Fprintf(c.stderr, "Land %s on %s as one commit? [y/N/d] ", sizeOf(would.Files, would.Added, would.Removed), terminal.Printable(would.Branch))
		answer, _ := answers.ReadString('\n') // no answer is no
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "d", "diff":
			if err := c.diff(row, nil, false); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
}

// landError is why a run was not landed, with what to do about it.
func (c *call) landError(row *company.RunRow, err error) error {
	told, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	name := shortID(row.RunID)
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
		return c.noWorktree(row)
	}
	return err
}

// conflictError lists the files that two changed.
func conflictError(row *company.RunRow, branch string, names []string) error {
	name := shortID(row.RunID)
	e := choiceError{message: fmt.Sprintf("%s and %s changed the same lines; nothing was changed", name, branch)}
	for i, file := range names {
		if i == mostCandidates {
			e.lines = append(e.lines, fmt.Sprintf("… %d more", len(names)-mostCandidates))
			break
		}
		e.lines = append(e.lines, terminal.Quote(file))
	}
	e.lines = append(e.lines, fmt.Sprintf("have it solved: ac continue %s \"rebase on %s\"", name, branch))
	return e
}

// refusedError lists the files that cannot be brought in.
func refusedError(message string, refused files.Refused) error {
	e := choiceError{message: oneLine(message)}
	for i, problem := range refused.Errors {
		if i == mostCandidates {
			e.lines = append(e.lines, fmt.Sprintf("… %d more", len(refused.Errors)-mostCandidates))
			break
		}
		e.lines = append(e.lines, terminal.Quote(problem.Path)+": "+oneLine(problem.Message))
	}
	return e
}

// landFiles applies the files of a run as uncommitted changes.
func (c *call) landFiles(row *company.RunRow, l landing) error {
	list, err := company.Do(c.ctx, c.all, decisions.Operations.ListFiles, decisions.ListFilesParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID})
	if err != nil {
		return c.landError(row, err)
	}
	p := decisions.ApplyFilesParams{Dir: c.dirParam(), ProjectID: row.ProjectID, DryRun: l.p.DryRun, OnProblem: "refuse"}
	p.FilesActor = company.FilesActor{ActorID: c.actor, ActorRole: c.role, ActorTeamID: c.team}
	for _, f := range list.Files {
		p.ArtifactIDs = append(p.ArtifactIDs, f.ID)
	}
	result := files.Result{Files: []files.Row{}, Errors: nil}
	if len(p.ArtifactIDs) > 0 {
		if result, err = company.Do(c.ctx, c.all, decisions.Operations.ApplyFiles, p); err != nil {
			return c.landError(row, err)
		}
	}
	name := shortID(row.RunID)
	switch {
	case c.asJSON:
		return c.printJSON(result)
	case len(result.Errors) > 0:
		return refusedError(fmt.Sprintf("the files of %s would be refused", name), files.Refused{Errors: result.Errors})
	case result.Applied == 0:
		c.note("%s changed nothing that is not there", name)
		return nil
	case p.DryRun:
		_, err = fmt.Fprintf(c.stdout, "would apply %d files of %s as uncommitted changes\n", result.Applied, name)
	case c.onTerminal():
		_, err = fmt.Fprintf(c.stdout, "applied %d files of %s as uncommitted changes; undo: ac land --undo %s\n", result.Applied, name, *result.CheckpointID)
	default:
		_, err = fmt.Fprintf(c.stdout, "%s\t%s\n", row.RunID, *result.CheckpointID)
	}
	return err
}

// undoFiles takes an application of files back.
func (c *call) undoFiles(id string) error {
	if err := c.requireProject(); err != nil {
		return err
	}
	p := decisions.RevertFilesParams{Dir: c.dirParam(), ProjectID: c.project, CheckpointID: id, OnProblem: "refuse"}
	p.FilesActor = company.FilesActor{ActorID: c.actor, ActorRole: c.role, ActorTeamID: c.team}
	done, err := company.Do(c.ctx, c.all, decisions.Operations.RevertFiles, p)
	if err != nil {
		if told, ok := errors.AsType[*fault.Error](err); ok {
			if data, ok := told.Data.(files.Refused); ok {
				return refusedError(told.Message, data)
			}
		}
		return err
	}
	if c.asJSON {
		return c.printJSON(done)
	}
	_, err = fmt.Fprintf(c.stdout, "put back %d files\n", done.Reverted)
	return err
}
