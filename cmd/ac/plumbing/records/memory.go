package records

// memory:*: proposing, previewing and approving memory deltas.

import (
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/governance"
	"ac/workspace/doc"
)

func memoryDeltaCommand(a *cli.App) *cobra.Command {
	p := decisions.ProposeDeltaParams{Visibility: "managers", ProducedBy: "human", RunID: governance.ManualRun, ContextPackID: governance.ManualContext}
	var scopeKind, scopeRef, sensitivity, rationale string
	asJSON := false
	cmd := &cobra.Command{
		Use: "memory:delta <dir>", Short: "Propose lines for a memory", Args: cli.Args("dir"),
		Long: `Propose lines for a memory, to be inserted below the first line that equals --under.
This writes an artifact and a patch; the memory changes only when a person approves
them. Print the ids as JSON, on one line.

--insert takes one or more lines, which may begin with a dash and a blank. With --remove
they are taken out again, where they follow each other below that line.

With --scope-kind, --scope-ref, --sensitivity or --rationale the delta declares whose
memory it changes and why. Then --rationale and --evidence are required, and only
directors and above decide.`,
		Example: "  ac memory:delta ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --title 'Mail first' \\\n    --under '## Decisions' --insert '- Sign in by mail' '- No passwords'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flag("scope-kind").Changed || cmd.Flag("scope-ref").Changed || cmd.Flag("sensitivity").Changed || cmd.Flag("rationale").Changed {
				if err := cli.Require(cmd, "rationale", "evidence"); err != nil {
					return err
				}
				p.ScopeKind, p.Sensitivity, p.Rationale = &scopeKind, &sensitivity, &rationale
				if scopeRef != "" {
					p.ScopeRef = &scopeRef
				}
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.ProposeDelta, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"title: title, one line",
		"under=under_heading: the line to insert below, such as '## Decisions'",
		"insert=insert_lines: the lines",
		"remove: take the lines out in place of inserting them",
		"target=target_file: the file to change (default: the memory of the project)",
		"visibility: who may see it",
		"by=produced_by: id of the proposer",
		"run: id of the run that produced it",
		"ctx=context_pack_id: id of the context pack of that run",
		"evidence: ids of artifacts as evidence")
	cmd.Flags().StringVar(&scopeKind, "scope-kind", doc.ScopeProject, "whose memory: "+strings.Join(doc.Scopes(), ", "))
	cmd.Flags().StringVar(&scopeRef, "scope-ref", "", "id of the agent, for "+doc.ScopeAgent)
	cmd.Flags().StringVar(&sensitivity, "sensitivity", doc.SensitivityInternal, "how sensitive: "+strings.Join(doc.Sensitivities(), ", "))
	cmd.Flags().StringVar(&rationale, "rationale", "", "why it should be remembered")
	cli.CompleteFlag(cmd, "scope-kind", func(*cobra.Command, []string) []string { return doc.Scopes() })
	cli.CompleteFlag(cmd, "scope-ref", a.AgentIDs)
	cli.CompleteFlag(cmd, "sensitivity", func(*cobra.Command, []string) []string { return doc.Sensitivities() })
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (always the case)")
	return cmd
}

func memoryApproveCommand(a *cli.App) *cobra.Command {
	var p decisions.ApproveDeltaParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "memory:approve <dir>", Short: "Apply a memory delta", Args: cli.Args("dir"),
		Long: `Apply a memory delta to its memory and keep the review. Print the review as JSON, on
one line. With --expect-hash, which memory:preview prints, it fails if the change
differs from the one that was reviewed.`,
		Example: "  ac memory:approve ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM --notes 'Agreed'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "project", "artifact", "actor"); err != nil {
				return err
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.ApproveDelta, p)
		},
	}
	itemFlags(cmd, &p.ProjectID, &p.ArtifactID)
	cli.ActorFlags(cmd, &p.ActorID, &p.ActorRole)
	cli.Mirror(cmd, &p,
		"notes: notes on the decision",
		"expect-hash: the hash of the preview that was reviewed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (always the case)")
	return cmd
}

func memoryPreviewCommand(a *cli.App) *cobra.Command {
	var p decisions.ItemParams
	asJSON := false
	cmd := &cobra.Command{
		Use: "memory:preview <dir>", Short: "Show what approving a memory delta would change now", Args: cli.Args("dir"),
		Long: `Show what approving a memory delta would change now, as a diff, and how: the patch
fits, its lines are inserted at their heading again (reanchored), or it no longer fits
(conflict). The hash identifies exactly this change: see memory:approve.`,
		Example: "  ac memory:preview ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "project", "artifact"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return a.Across(func(all *company.Host) error {
				seen, err := company.Do(cmd.Context(), all, decisions.Operations.PreviewDelta, p)
				if err != nil {
					return err
				}
				if asJSON {
					return a.PrintJSON(seen)
				}
				return newPage(a).preview(seen).flush()
			})
		},
	}
	itemFlags(cmd, &p.ProjectID, &p.ArtifactID)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result of memory.preview_delta")
	return cmd
}
