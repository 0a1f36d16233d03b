package records

// inbox:resolve, milestone:* and help:*: decisions, reports and help requests.

import (
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company/decisions"
	"ac/company/maintenance"
	"ac/governance"
	"ac/workspace/doc"
)

// deciderFlags declares the options that identify the decider.
func deciderFlags(cmd *cobra.Command, d *decisions.Decider) {
	cli.ActorFlags(cmd, &d.ActorID, &d.ActorRole)
	cmd.Flags().StringVar(&d.Notes, "notes", "", "notes on the decision")
}

// checkDecider returns an error for an invalid decider.
func checkDecider(cmd *cobra.Command, d decisions.Decider) error {
	if err := cli.Require(cmd, "actor"); err != nil {
		return err
	}
	return cli.OneOf("role", d.ActorRole, doc.Roles())
}

func inboxResolveCommand(a *cli.App) *cobra.Command {
	var p decisions.ResolveParams
	cmd := &cobra.Command{
		Use: "inbox:resolve <dir>", Short: "Approve or deny an item that waits for a decision", Args: cli.Args("dir"),
		Long: `Approve or deny an artifact that waits for a decision: a change of a memory
(memory_delta), the report on a milestone (milestone_report), or an action that the
heartbeat proposes (heartbeat_action_proposal). Print the decision as JSON.

A denied item may still be approved; an approval is final.`,
		Example: "  ac inbox:resolve ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM --decision denied --notes 'Not yet'",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := checkDecision(cmd, p); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.Resolve, p)
		},
	}
	decisionFlags(cmd, &p)
	return cmd
}

func uiResolveCommand(a *cli.App) *cobra.Command {
	var p decisions.ResolveUIParams
	bindIndex := func() {}
	cmd := &cobra.Command{
		Use: "ui:resolve <dir>", Short: "Decide as inbox:resolve does, and print the screen afterwards", Args: cli.Args("dir"),
		Long: `Approve or deny an artifact that waits for a decision, and print the decision and the
manager's screen afterwards as JSON. The screen always shows the decision.`,
		Example: "  ac ui:resolve ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WQGXT21HWCN0N3RMKCA3ZM --decision denied",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := checkDecision(cmd, p.ResolveParams); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			bindIndex()
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.ResolveUI, p)
		},
	}
	decisionFlags(cmd, &p.ResolveParams)
	cli.ScreenLimitFlags(cmd, &p.ScreenLimits)
	bindIndex = cli.IndexFlags(cmd, &p.IndexStep)
	return cmd
}

// checkDecision returns an error for invalid options of a decision.
func checkDecision(cmd *cobra.Command, p decisions.ResolveParams) error {
	if err := cli.Require(cmd, "project", "artifact"); err != nil {
		return err
	}
	if err := cli.OneOf("decision", p.Decision, cli.DecisionWords()); err != nil {
		return err
	}
	return checkDecider(cmd, p.Decider)
}

// decisionFlags declares the options of a decision.
func decisionFlags(cmd *cobra.Command, p *decisions.ResolveParams) {
	itemFlags(cmd, &p.ProjectID, &p.ArtifactID)
	p.Decision = governance.Approved
	cmd.Flags().Var((*cli.DecisionWord)(&p.Decision), "decision", strings.Join(cli.DecisionWords(), " or "))
	cmd.Flags().StringVar(&p.ActorTeamID, "team", "", "team of the decider")
	cmd.Flags().StringVar(&p.ExpectHash, "expect-hash", "", "approve a memory delta only if it still matches this hash of memory:preview")
	deciderFlags(cmd, &p.Decider)
	cli.CompleteFlag(cmd, "decision", cli.Words(cli.DecisionWords()...))
}

func milestoneReportCommand(a *cli.App) *cobra.Command {
	var p decisions.NewMilestoneReportParams
	spec := &p.Spec
	cmd := &cobra.Command{
		Use: "milestone:report:new <dir>", Short: "Report that a milestone is done", Args: cli.Args("dir"),
		Long: `Write a report that a milestone is done, which then waits for approval. Print its id
and its file as JSON.`,
		Example: "  ac milestone:report:new ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --milestone ms_01M7WQXFYGCYX296DAE556TJY9 --title 'The mail is sent' --evidence art_patch --tests art_tests",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "title", "by", "run", "ctx"); err != nil {
				return err
			}
			if err := cli.OneOf("visibility", spec.Visibility, doc.Visibilities()); err != nil {
				return err
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.NewMilestoneReport, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"task: id of the task",
		"milestone: id of the milestone")
	cmd.Flags().StringVar(&spec.Title, "title", "", "title of the report, one line (required)")
	cmd.Flags().StringVar(&spec.Visibility, "visibility", "team", "who may see it: "+strings.Join(doc.Visibilities(), ", "))
	cmd.Flags().StringVar(&spec.ProducedBy, "by", "human", "id of the reporter")
	cmd.Flags().StringVar(&spec.RunID, "run", governance.ManualRun, "id of the run in which it was done")
	cmd.Flags().StringVar(&spec.ContextPackID, "ctx", governance.ManualContext, "id of the context pack of that run")
	cli.ValuesVar(cmd, &spec.Evidence, "evidence", "ids of artifacts with patches (<id>.patch)")
	cli.ValuesVar(cmd, &spec.Tests, "tests", "ids of artifacts with test results (<id>.txt or <id>.json)")
	return cmd
}

func milestoneApproveCommand(a *cli.App) *cobra.Command {
	var p decisions.ApproveMilestoneParams
	cmd := &cobra.Command{
		Use: "milestone:approve <dir>", Short: "Approve a milestone by its report and its evidence", Args: cli.Args("dir"),
		Long: `Approve a milestone by its report. If the milestone requires a patch or tests, the
report must name artifacts with non-empty files. Print the decision as JSON.`,
		Example: "  ac milestone:approve ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --task task_01M7WQXFJVAFKYMR9NC0NBJYZC --milestone ms_01M7WQXFYGCYX296DAE556TJY9 --report art_01M7WQGXT21HWCN0N3RMKCA3ZM",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkDecider(cmd, p.Decider); err != nil {
				return err
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.ApproveMilestone, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"task: id of the task",
		"milestone: id of the milestone",
		"report=report_artifact_id: id of the report")
	deciderFlags(cmd, &p.Decider)
	return cmd
}

func helpNewCommand(a *cli.App) *cobra.Command {
	var p decisions.NewHelpRequestParams
	spec := &p.Spec
	cmd := &cobra.Command{
		Use: "help:new <dir>", Short: "Ask a manager for help", Args: cli.Args("dir"),
		Long:    "Write a help request and print its id and its file as JSON. Add the question to the file.",
		Example: "  ac help:new ./acme --title 'Which queue?' --target agent_01M7WR62N1V5H9QJZ3M8C4T7KD",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "title", "target", "requester"); err != nil {
				return err
			}
			if err := cli.OneOf("visibility", spec.Visibility, doc.Visibilities()); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.NewHelpRequest, p)
		},
	}
	cmd.Flags().StringVar(&spec.Title, "title", "", "subject, one line (required)")
	cmd.Flags().StringVar(&spec.TargetManager, "target", "", "id of the manager to ask (required)")
	cmd.Flags().StringVar(&spec.Requester, "requester", "human", "id of the requester")
	cmd.Flags().StringVar(&spec.ProjectID, "project", "", "id of the project concerned")
	cmd.Flags().StringVar(&spec.SharePackID, "share", "", "id of a share pack to attach")
	cmd.Flags().StringVar(&spec.Visibility, "visibility", "managers", "who may see it: "+strings.Join(doc.Visibilities(), ", "))
	return cmd
}

func helpValidateCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "help:validate <file>", Short: "Check the file of a help request", Args: cli.Args("file"),
		Long:    "Check the file of a help request. Exit status: 0 if it is valid, 2 with the defects on stderr if not.",
		Example: "  ac help:validate ./acme/inbox/help_requests/help_01M7WR6QK4S7X2Y8Z3A5B6C9DE.md",
		RunE: func(_ *cobra.Command, given []string) error {
			issues, err := maintenance.ValidateFile(given[0], governance.ValidateHelpRequest)
			return printIssues(a, issues, err)
		},
	}
}
