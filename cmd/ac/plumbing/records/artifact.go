package records

// artifact:*: creating, checking and reading artifacts.

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/governance"
	"ac/internal/terminal"
	"ac/workspace/doc"
)

func artifactNewCommand(a *cli.App) *cobra.Command {
	var spec governance.ArtifactSpec
	force, asJSON := false, false
	cmd := &cobra.Command{
		Use: "artifact:new <type> <file>", Short: "Write the template of an artifact to a file", Args: cli.Args("type", "file"),
		Long: `Write the template of an artifact to a file: front matter with a new id, and the
required headings of its type. Missing directories are created.

Types: ` + strings.Join(doc.ArtifactTypes(), ", ") + `.`,
		Example:   "  ac artifact:new proposal ./plan.md --title 'Sign in by mail' --visibility managers",
		ValidArgs: doc.ArtifactTypes(),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "title", "by", "run", "ctx"); err != nil {
				return err
			}
			if err := cli.OneOf("visibility", spec.Visibility, doc.Visibilities()); err != nil {
				return err
			}
			spec.Type = given[0]
			return a.Across(func(all *company.Host) error {
				if err := all.NewArtifact(given[1], spec, force); err != nil {
					return err
				}
				if asJSON {
					return a.PrintLine(map[string]string{"file": given[1]})
				}
				_, err := fmt.Fprintf(a.Stdout, "Wrote %s\n", terminal.Quote(given[1]))
				return err
			})
		},
	}
	cmd.Flags().StringVar(&spec.Title, "title", "Untitled", "title, one line")
	cmd.Flags().StringVar(&spec.Visibility, "visibility", "team", "who may see it: "+strings.Join(doc.Visibilities(), ", "))
	cmd.Flags().StringVar(&spec.ProducedBy, "by", "human", "who produced it")
	cmd.Flags().StringVar(&spec.RunID, "run", governance.ManualRun, "id of the run that produced it")
	cmd.Flags().StringVar(&spec.ContextPackID, "ctx", governance.ManualContext, "id of the context pack of that run")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func artifactValidateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "artifact:validate <file>", Short: "Check the file of an artifact", Args: cli.Args("file"),
		Long:    "Check front matter and headings of an artifact. Exit status: 0 if it is valid (prints OK), 2 if not (one line for each defect), 1 if it cannot be read.",
		Example: "  ac artifact:validate ./plan.md",
		RunE: func(_ *cobra.Command, given []string) error {
			issues, err := company.ValidateFile(given[0], governance.ValidateArtifact)
			return printIssues(a, issues, err)
		},
	}
}

// readFlags declares the options that identify the artifact and the reader.
func readFlags(cmd *cobra.Command, p *decisions.ReadArtifactParams) {
	itemFlags(cmd, &p.ProjectID, &p.ArtifactID)
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	cmd.Flags().StringVar(&p.ActorTeamID, "team", "", "team of the reader")
}

func artifactReadCommand(a *cli.App) *cobra.Command {
	var p decisions.ReadArtifactParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "artifact:read <dir>", Short: "Print an artifact, if the actor may see it", Args: cli.Args("dir"),
		Long: `Print an artifact as JSON: its front matter, and the unchanged file. The policy
decides whether the actor may see it. Its decision is recorded in the log of the
run, or in the audit log of the workspace.`,
		Example: "  ac artifact:read ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "project", "artifact", "actor"); err != nil {
				return err
			}
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.ReadArtifact, p)
		},
	}
	readFlags(cmd, &p)
	cli.Mirror(cmd, &p,
		"run: id of the run whose log records the policy's decision")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (always the case)")
	return cmd
}

// itemFlags declares the options that identify an artifact.
func itemFlags(cmd *cobra.Command, project, artifact *string) {
	cmd.Flags().StringVar(project, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(artifact, "artifact", "", "id of the artifact (required)")
}
