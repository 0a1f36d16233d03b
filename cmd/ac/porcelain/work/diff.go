package work

// ac diff: what a run changed.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/internal/fault"
	"ac/internal/terminal"
)

func diffCommand(a *cli.App) *cobra.Command {
	statOnly := false
	cmd := &cobra.Command{
		Use: "diff [run] [-- path...]", Short: "Show what a run changed", Args: cobra.ArbitraryArgs,
		Long: `Show what a run changed in its worktree: on a terminal with colours and the sizes of
the changes first, in a pipe as a patch for git apply. Without a run, the newest. Paths
are files, or folders that end in a slash. With --json the result of run.changes, with
the diffs of at most 2 MiB; secrets are not masked.`,
		Example: "  ac diff\n  ac diff 4WKKE6 -- client/\n  ac diff last | git apply",
	}
	a.Short(cmd, func(c *cli.Call, given []string) error {
		runs, paths := given, []string(nil)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			runs, paths = given[:at], given[at:]
		}
		if len(runs) > 1 {
			return cli.UsageError{Message: fmt.Sprintf("unexpected argument %q (paths follow --)", runs[1])}
		}
		row, err := c.LastOr(runs)
		if err != nil {
			return err
		}
		return Diff(c, &row, paths, statOnly)
	})
	cmd.Flags().BoolVar(&statOnly, "stat", false, "only the sizes of the changes")
	return cmd
}

// noWorktree returns an error for a run without a worktree, with the folder in which it worked, if
// known.
func noWorktree(c *cli.Call, row *company.RunRow) error {
	where, err := company.Do(c.Ctx, c.All, orchestration.Operations.WorkedIn, orchestration.WorkedInParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID})
	if err != nil || where == "" {
		return fmt.Errorf("run %s has no worktree", cli.ShortID(row.RunID))
	}
	return fmt.Errorf("run %s has no worktree; it worked in %s", cli.ShortID(row.RunID), cli.Tilde(where))
}

// Diff prints the changes of a run in the given paths, or all changes if there are none.
func Diff(c *cli.Call, row *company.RunRow, paths []string, statOnly bool) error {
	p := decisions.ChangesParams{Dir: c.DirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows"}
	changed, err := company.Do(c.Ctx, c.All, decisions.Operations.Changes, p)
	if fault.Is(err, fault.NoWorktree) {
		return noWorktree(c, row)
	}
	if err != nil {
		return err
	}
	within := func(f decisions.ChangeRow) bool { return isChosen(f.Path, paths) }
	if c.AsJSON {
		p.Paths = []string{}
		for _, f := range changed.Files {
			if within(f) {
				p.Paths = append(p.Paths, f.Path)
			}
		}
		changed, err = company.Do(c.Ctx, c.All, decisions.Operations.Changes, p)
		if err != nil {
			return err
		}
		return c.PrintJSON(changed)
	}
	shown := slices.DeleteFunc(slices.Clone(changed.Files), func(f decisions.ChangeRow) bool { return !within(f) })
	switch {
	case len(changed.Files) == 0:
		c.Note("run %s changed nothing", cli.ShortID(row.RunID))
		return nil
	case len(shown) == 0:
		return fmt.Errorf("run %s changed nothing in %s", cli.ShortID(row.RunID), strings.Join(paths, " "))
	case statOnly:
		_, err := fmt.Fprint(c.Stdout, Stat(c, row, shown))
		return err
	}
	p.Form = "patch"
	if changed, err = company.Do(c.Ctx, c.All, decisions.Operations.Changes, p); err != nil {
		return err
	}
	patch := patchOf(*changed.Patch, shown)
	if !c.OnTerminal() {
		_, err := fmt.Fprint(c.Stdout, patch)
		return err
	}
	return c.Paged(Stat(c, row, shown) + "\n" + c.Coloured(patch))
}

// isChosen reports whether a file is one of the paths, or in one of the folders.
func isChosen(file string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool {
		return file == path || strings.HasPrefix(file, strings.TrimSuffix(path, "/")+"/")
	})
}

// Stat returns a line for each file that a run changed, and their sum.
func Stat(c *cli.Call, row *company.RunRow, rows []decisions.ChangeRow) string {
	var b strings.Builder
	added, removed := 0, 0
	for _, f := range rows {
		size := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		if f.Binary {
			size = "binary"
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", terminal.Fit(f.Action, len("modify")), terminal.Fit(size, 12), terminal.Link(c.ChangedLink(row, f.Path), terminal.Quote(f.Path)))
		added, removed = added+f.Added, removed+f.Removed
	}
	files := "files"
	if len(rows) == 1 {
		files = "file"
	}
	fmt.Fprintf(&b, "%d %s +%d -%d\n", len(rows), files, added, removed)
	return b.String()
}

// patchOf returns the part of a patch that concerns the given files. Each file in a patch begins
// with a header that no other line can look like.
func patchOf(patch string, rows []decisions.ChangeRow) string {
	const header = "diff --git "
	var b strings.Builder
	keeps := false
	for line := range strings.SplitAfterSeq(patch, "\n") {
		if strings.HasPrefix(line, header) {
			keeps = slices.ContainsFunc(rows, func(f decisions.ChangeRow) bool { return headerNames(line, f.Path) })
		}
		if keeps {
			b.WriteString(line)
		}
	}
	return b.String()
}

// headerNames reports whether the header in a patch names a file. Git quotes unusual names.
func headerNames(header, file string) bool {
	words := strings.TrimRight(strings.TrimPrefix(header, "diff --git "), "\n")
	if at := strings.LastIndex(words, ` "b/`); at >= 0 {
		name, err := strconv.Unquote(words[at+1:])
		return err == nil && name == "b/"+file
	}
	return words == "a/"+file+" b/"+file
}
