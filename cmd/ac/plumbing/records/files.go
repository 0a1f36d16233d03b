package records

// artifact:files, preview, apply and revert, and run:changes: files that runs, jobs and people
// propose.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/internal/terminal"
)

// fileOptions select proposed files and their target.
type fileOptions struct {
	list   decisions.ListFilesParams
	file   string
	target decisions.FilesTarget
	asJSON bool
}

func (o *fileOptions) declare(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.list.ProjectID, "project", "", "id of the project (required)")
	flags.StringVar(&o.list.RunID, "run", "", "files that this run changed in its worktree")
	flags.StringVar(&o.list.JobID, "job", "", "files that this job answered with")
	flags.StringVar(&o.file, "files", "", "files in a JSON array of objects with path, and content or delete")
	flags.StringVar(&o.target.RepoID, "target-repo", "", "id of the repository that they go to")
	flags.StringVar(&o.target.RunID, "target-run", "", "id of the run into whose worktree they go")
	flags.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// check requires exactly one source of files.
func (o *fileOptions) check(cmd *cobra.Command) error {
	n := 0
	for _, given := range []string{o.list.RunID, o.list.JobID, o.file} {
		if given != "" {
			n++
		}
	}
	if n != 1 {
		return cli.UsageError{Message: "give exactly one of --run, --job and --files"}
	}
	return cli.Require(cmd, "project")
}

// wanted returns the selected files: the contents of a file, or the ids of what a run or a job
// proposes.
func (o *fileOptions) wanted(ctx context.Context, all *company.Host, dir string) (w decisions.WantedFiles, err error) {
	if o.target != (decisions.FilesTarget{}) {
		w.Target = &o.target
	}
	if o.file != "" {
		text, err := os.ReadFile(o.file)
		if err != nil {
			return w, err
		}
		if err := json.Unmarshal(text, &w.Artifacts); err != nil {
			return w, fault.New(fault.InvalidFile, "%s: %w", o.file, err)
		}
		return w, nil
	}
	o.list.WorkspaceDir = dir
	list, err := company.Do(ctx, all, decisions.Operations.ListFiles, o.list)
	for _, row := range list.Files {
		w.ArtifactIDs = append(w.ArtifactIDs, row.ID)
	}
	return w, err
}

// nothing reports whether no files are selected.
func nothing(w decisions.WantedFiles) bool { return len(w.ArtifactIDs) == 0 && len(w.Artifacts) == 0 }

// preview returns what applying the files would change.
func (o *fileOptions) preview(ctx context.Context, a *cli.App, dir string) (result files.Previewed, err error) {
	err = a.Across(func(all *company.Host) error {
		wanted, err := o.wanted(ctx, all, dir)
		if err != nil {
			return err
		}
		if nothing(wanted) {
			result.Files = []files.Row{}
			return nil
		}
		p := decisions.PreviewFilesParams{Dir: company.Dir{WorkspaceDir: dir}, ProjectID: o.list.ProjectID, WantedFiles: wanted}
		result, err = company.Do(ctx, all, decisions.Operations.PreviewFiles, p)
		return err
	})
	return result, err
}

// printRow prints a proposed file on one line.
func printRow(a *cli.App, row files.Row) {
	fmt.Fprintf(a.Stdout, "%-6s %+d -%d %s", row.Action, row.Added, row.Removed, terminal.Quote(row.Path))
	switch {
	case row.Problem != "":
		fmt.Fprintf(a.Stdout, "  %s: %s", row.Problem, cli.OneLine(row.Message))
	case row.Merged:
		fmt.Fprint(a.Stdout, "  merged with what changed since")
	}
	fmt.Fprintln(a.Stdout)
}

// printPatch prints a patch. On a terminal it escapes control characters, for programs it does not.
func printPatch(a *cli.App, patch string) {
	if !a.OnTerminal() {
		fmt.Fprint(a.Stdout, patch)
		return
	}
	for line := range strings.SplitAfterSeq(patch, "\n") {
		text, end := strings.CutSuffix(line, "\n")
		fmt.Fprint(a.Stdout, terminal.Quote(strings.ReplaceAll(text, "\t", "        ")))
		if end {
			fmt.Fprintln(a.Stdout)
		}
	}
}

// findings returns exit status 2 if a file has a problem.
func findings(rows []files.Row) error {
	for _, row := range rows {
		if row.Problem != "" {
			return cli.ExitError{Code: cli.ExitFindings}
		}
	}
	return nil
}

func artifactFilesCommand(a *cli.App) *cobra.Command {
	var o fileOptions
	cmd := &cobra.Command{
		Use: "artifact:files <dir>", Short: "List the files that a run or a job proposes", Args: cli.Args("dir"),
		Long: `List proposed files, each with what applying it would do to the repository: create,
modify, delete, or skip where it is so already.`,
		Example: "  ac artifact:files ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7YTJ74WV2FK6GPFWC06FBKZ",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			result, err := o.preview(cmd.Context(), a, given[0])
			if err != nil {
				return err
			}
			if o.asJSON {
				for i := range result.Files {
					result.Files[i].Diff = ""
				}
				return a.PrintJSON(result.Listing)
			}
			for _, row := range result.Files {
				printRow(a, row)
			}
			return nil
		},
	}
	o.declare(cmd)
	return cmd
}

func artifactPreviewCommand(a *cli.App) *cobra.Command {
	var o fileOptions
	cmd := &cobra.Command{
		Use: "artifact:preview <dir>", Short: "Show what applying proposed files would change", Args: cli.Args("dir"),
		Long: `Print the diffs of what applying proposed files would change, fit for git apply.
Files with a problem are named on stderr. Exit status: 0, or 2 when a file has a problem.`,
		Example: "  ac artifact:preview ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7YTJ74WV2FK6GPFWC06FBKZ",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			result, err := o.preview(cmd.Context(), a, given[0])
			if err != nil {
				return err
			}
			if o.asJSON {
				if err := a.PrintJSON(result.Listing); err != nil {
					return err
				}
				return findings(result.Files)
			}
			for _, row := range result.Files {
				printPatch(a, row.Diff)
				if row.Problem != "" {
					fmt.Fprintf(a.Stderr, "%s: %s: %s\n", terminal.Quote(row.Path), row.Problem, cli.OneLine(row.Message))
				}
			}
			return findings(result.Files)
		},
	}
	o.declare(cmd)
	return cmd
}

func artifactApplyCommand(a *cli.App) *cobra.Command {
	var o fileOptions
	var p decisions.ApplyFilesParams
	cmd := &cobra.Command{
		Use: "artifact:apply <dir>", Short: "Apply proposed files, all of them or none", Args: cli.Args("dir"),
		Long: `Apply proposed files to the repository that they were made for, as uncommitted
changes. What changed there since is kept: both are merged, or the file is refused. One
file with a problem refuses all, unless --on-problem skip leaves it out; the exit
status is 2 then. What was there before is kept as a checkpoint, for artifact:revert.`,
		Example: "  ac artifact:apply ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7YTJ74WV2FK6GPFWC06FBKZ",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if err := cli.Require(cmd, "actor"); err != nil {
				return err
			}
			p.WorkspaceDir, p.ProjectID = given[0], o.list.ProjectID
			result := files.Result{Files: []files.Row{}}
			err := a.Across(func(all *company.Host) (err error) {
				if p.WantedFiles, err = o.wanted(cmd.Context(), all, given[0]); err != nil || nothing(p.WantedFiles) {
					return err
				}
				result, err = company.Do(cmd.Context(), all, decisions.Operations.ApplyFiles, p)
				return err
			})
			if err != nil {
				return err
			}
			return printApplied(a, o.asJSON, result, result.Files, result.CheckpointID)
		},
	}
	o.declare(cmd)
	cli.Mirror(cmd, &p,
		"on-problem: what a file with a problem means, refuse all or skip the file",
		"dry-run: say what would be done and write nothing",
		"client-ref: a name of this request: the same one with the same files is carried out once a day")
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}

// printApplied prints what was applied or reverted.
func printApplied(a *cli.App, asJSON bool, result any, rows []files.Row, checkpoint *string) error {
	if asJSON {
		if err := a.PrintJSON(result); err != nil {
			return err
		}
		return findings(rows)
	}
	for _, row := range rows {
		printRow(a, row)
	}
	if checkpoint != nil {
		fmt.Fprintf(a.Stdout, "checkpoint %s\n", *checkpoint)
	}
	return findings(rows)
}

func artifactRevertCommand(a *cli.App) *cobra.Command {
	var p decisions.RevertFilesParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "artifact:revert <dir>", Short: "Put files back as they were before they were applied", Args: cli.Args("dir"),
		Long: `Put the files of a checkpoint back as they were. A file that changed since refuses
all, unless --on-problem skip leaves it out. The revert is a checkpoint, too, and can
be reverted.`,
		Example: "  ac artifact:revert ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --checkpoint cp_01M82BFEE505517S6WW8W5RJGQ",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "actor"); err != nil {
				return err
			}
			result, err := cli.Ask(cmd.Context(), a, decisions.Operations.RevertFiles, p)
			if err != nil {
				return err
			}
			return printApplied(a, asJSON, result, result.Files, result.CheckpointID)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"checkpoint: id of the checkpoint",
		"on-problem: what a file that changed means, refuse all or skip the file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	return cmd
}

func runChangesCommand(a *cli.App) *cobra.Command {
	var p decisions.ChangesParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "run:changes <dir>", Short: "Print what a run changed, as a patch", Args: cli.Args("dir"),
		Long: `Print what a run changed in its worktree since it was made, as a patch for git apply.
Files that git does not know are in it, those that it ignores are not.`,
		Example: "  ac run:changes ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --run run_01M7YTJ74WV2FK6GPFWC06FBKZ | git apply",
		RunE: func(cmd *cobra.Command, given []string) error {
			p.WorkspaceDir, p.Form, p.Mask = given[0], "patch", true
			if asJSON {
				p.Form = "rows"
			}
			result, err := cli.Ask(cmd.Context(), a, decisions.Operations.Changes, p)
			if err != nil {
				return err
			}
			if asJSON {
				return a.PrintJSON(result)
			}
			printPatch(a, *result.Patch)
			return nil
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"run: id of the run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: rows with their diffs, secrets masked")
	return cmd
}
