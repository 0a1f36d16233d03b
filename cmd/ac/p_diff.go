package main

// ac diff: what a run changed.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/internal/fault"
	"ac/internal/terminal"
)

func diffCommand(a *app) *cobra.Command {
	statOnly := false
	cmd := &cobra.Command{
		Use: "diff [run] [-- path...]", Short: "Show what a run changed", Args: cobra.ArbitraryArgs,
		Long: `Show what a run changed in its worktree: on a terminal with colours and the sizes of
the changes first, in a pipe as a patch for git apply. Without a run, the newest. Paths
are files, or folders that end in a slash. With --json the result of run.changes, with
the diffs of at most 2 MiB; secrets are not masked.`,
		Example: "  ac diff\n  ac diff 4WKKE6 -- client/\n  ac diff last | git apply",
	}
	a.short(cmd, func(c *call, given []string) error {
		runs, paths := given, []string(nil)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			runs, paths = given[:at], given[at:]
		}
		if len(runs) > 1 {
			return usageError{fmt.Sprintf("unexpected argument %q (paths follow --)", runs[1])}
		}
		row, err := c.lastOr(runs)
		if err != nil {
			return err
		}
		return c.diff(&row, paths, statOnly)
	})
	cmd.Flags().BoolVar(&statOnly, "stat", false, "only the sizes of the changes")
	return cmd
}

// noWorktree says of a run that has no worktree where it worked.
func (c *call) noWorktree(row *company.RunRow) error {
	where, err := company.Do(c.ctx, c.all, orchestration.Operations.WorkedIn, orchestration.WorkedInParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID})
	if err != nil || where == "" {
		return fmt.Errorf("run %s has no worktree", shortID(row.RunID))
	}
	return fmt.Errorf("run %s has no worktree; it worked in %s", shortID(row.RunID), tilde(where))
}

// diff prints the changes of a run in these paths, all without any.
func (c *call) diff(row *company.RunRow, paths []string, statOnly bool) error {
	p := decisions.ChangesParams{Dir: c.dirParam(), ProjectID: row.ProjectID, RunID: row.RunID, Context: 3, Form: "rows"}
	changed, err := company.Do(c.ctx, c.all, decisions.Operations.Changes, p)
	if fault.Is(err, fault.NoWorktree) {
		return c.noWorktree(row)
	}
	if err != nil {
		return err
	}
	within := func(f decisions.ChangeRow) bool { return chosen(f.Path, paths) }
	if c.asJSON {
		p.Paths = []string{}
		for _, f := range changed.Files {
			if within(f) {
				p.Paths = append(p.Paths, f.Path)
			}
		}
		changed, err = company.Do(c.ctx, c.all, decisions.Operations.Changes, p)
		if err != nil {
			return err
		}
		return c.printJSON(changed)
	}
	shown := slices.DeleteFunc(slices.Clone(changed.Files), func(f decisions.ChangeRow) bool { return !within(f) })
	switch {
	case len(changed.Files) == 0:
		c.note("run %s changed nothing", shortID(row.RunID))
		return nil
	case len(shown) == 0:
		return fmt.Errorf("run %s changed nothing in %s", shortID(row.RunID), strings.Join(paths, " "))
	case statOnly:
		_, err := fmt.Fprint(c.stdout, c.stat(row, shown))
		return err
	}
	p.Form = "patch"
	if changed, err = company.Do(c.ctx, c.all, decisions.Operations.Changes, p); err != nil {
		return err
	}
	patch := patchOf(*changed.Patch, shown)
	if !c.onTerminal() {
		_, err := fmt.Fprint(c.stdout, patch)
		return err
	}
	return c.paged(c.stat(row, shown) + "\n" + c.coloured(patch))
}

// chosen reports whether a file is one of the paths, or in one of the folders.
func chosen(file string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(path string) bool {
		return file == path || strings.HasPrefix(file, strings.TrimSuffix(path, "/")+"/")
	})
}

// stat is a line for each file that a run changed, and their sum.
func (c *call) stat(row *company.RunRow, rows []decisions.ChangeRow) string {
	var b strings.Builder
	added, removed := 0, 0
	for _, f := range rows {
		size := fmt.Sprintf("+%d -%d", f.Added, f.Removed)
		if f.Binary {
			size = "binary"
		}
		fmt.Fprintf(&b, "%s  %s  %s\n", terminal.Fit(f.Action, len("modify")), terminal.Fit(size, 12), terminal.Link(c.changedLink(row, f.Path), terminal.Quote(f.Path)))
		added, removed = added+f.Added, removed+f.Removed
	}
	files := "files"
	if len(rows) == 1 {
		files = "file"
	}
	fmt.Fprintf(&b, "%d %s +%d -%d\n", len(rows), files, added, removed)
	return b.String()
}

// patchOf is the part of a patch that is about these files: patches list them in the order
// of the rows, each with a header that no line of a file looks like.
func patchOf(patch string, rows []decisions.ChangeRow) string {
	const header = "diff --git "
	var b strings.Builder
	keeps := false
	for line := range strings.SplitAfterSeq(patch, "\n") {
		if strings.HasPrefix(line, header) {
			keeps = slices.ContainsFunc(rows, func(f decisions.ChangeRow) bool { return about(line, f.Path) })
		}
		if keeps {
			b.WriteString(line)
		}
	}
	return b.String()
}

// about reports whether the header of a patch names a file. Git quotes unusual names.
func about(header, file string) bool {
	words := strings.TrimRight(strings.TrimPrefix(header, "diff --git "), "\n")
	if at := strings.LastIndex(words, ` "b/`); at >= 0 {
		name, err := strconv.Unquote(words[at+1:])
		return err == nil && name == "b/"+file
	}
	return words == "a/"+file+" b/"+file
}

// coloured is a patch for a terminal: nothing in it acts on the terminal.
func (c *call) coloured(patch string) string {
	if !c.colours() {
		return terminal.QuoteLines(patch)
	}
	var b strings.Builder
	for line := range strings.Lines(patch) {
		text := terminal.QuoteLines(strings.TrimSuffix(line, "\n"))
		colour := terminal.None
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff --git "):
			colour = terminal.Dim
		case strings.HasPrefix(line, "@@"):
			colour = terminal.Cyan
		case strings.HasPrefix(line, "+"):
			colour = terminal.Green
		case strings.HasPrefix(line, "-"):
			colour = terminal.Red
		}
		b.WriteString(colour.Paint(text) + "\n")
	}
	return b.String()
}
