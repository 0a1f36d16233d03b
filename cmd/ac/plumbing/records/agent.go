package records

// agent:*: mistakes, improvement and guidance of agents.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
)

// mistakeFlags declares the options that describe a mistake.
func mistakeFlags(cmd *cobra.Command, m *workforce.MistakeParams) {
	cmd.Flags().StringVar(&m.WorkerAgentID, "worker", "", "id of the agent that made the mistake (required)")
	cmd.Flags().StringVar(&m.ManagerActorID, "manager", "", "id of the observer (required)")
	cmd.Flags().StringVar(&m.ManagerRole, "manager-role", "manager", "role of the observer: human, ceo, director or manager")
	cmd.Flags().StringVar(&m.MistakeKey, "key", "", "key of the mistake, the same each time (required)")
	cmd.Flags().StringVar(&m.Summary, "summary", "", "what went wrong (required)")
	cmd.Flags().StringVar(&m.PreventionRule, "rule", "", "rule that prevents it (required)")
	cmd.Flags().StringVar(&m.TaskID, "task", "", "id of the task")
	cmd.Flags().StringVar(&m.MilestoneID, "milestone", "", "id of the milestone")
	cli.ValuesVar(cmd, &m.Evidence, "evidence", "ids of artifacts as evidence")
	cli.CompleteFlag(cmd, "manager-role", cli.Words("human", "ceo", "director", "manager"))
}

func recordMistakeCommand(a *cli.App) *cobra.Command {
	var p workforce.RecordMistakeParams
	cmd := &cobra.Command{
		Use: "agent:record-mistake <dir>", Short: "Count a mistake of an agent", Args: cli.Args("dir"),
		Long: `Count a mistake of an agent in its mistakes.yaml. After --threshold occurrences,
its rule is added to the agent's AGENTS.md. With --run the log of that run records
both.`,
		Example: `  ac agent:record-mistake ./acme --worker agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --manager human --manager-role human \
    --key no_tests --summary 'no tests were run' --rule 'Run the tests before you report.'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "worker", "manager", "key", "summary", "rule"); err != nil {
				return err
			}
			if err := checkRole(p.ManagerRole); err != nil {
				return err
			}
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.RecordMistake, p)
		},
	}
	mistakeFlags(cmd, &p.MistakeParams)
	cli.Mirror(cmd, &p,
		"project: id of the project of --run",
		"run: id of the run in which it happened",
		"threshold=promote_threshold: occurrences until its rule is added")
	return cmd
}

// checkRole refuses roles that cannot record mistakes.
func checkRole(role string) error {
	switch role {
	case "human", "ceo", "director", "manager":
		return nil
	}
	return cli.UsageError{Message: "--manager-role must be human, ceo, director or manager"}
}

func improveCommand(a *cli.App) *cobra.Command {
	var p workforce.ImproveParams
	cmd := &cobra.Command{
		Use: "agent:self-improve-cycle <dir>", Short: "Count a mistake, evaluate it and propose a rule against it", Args: cli.Args("dir"),
		Long: `Count a mistake of an agent. After --proposal-threshold occurrences, execute the
command of --eval-argv in a run of its own, for 15 minutes at most. If it succeeds,
propose a change to the agent's AGENTS.md, which takes effect once it is approved.
All words after --eval-argv belong to the command, up to the next option of
agent:self-improve-cycle.

Exit status: 0 whatever the result of the evaluation, which is printed; 130 or 143
if interrupted, with the evaluation stopped.`,
		Example: `  ac agent:self-improve-cycle ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --worker agent_01M7WQZTV8PZR5BZGTKAYJ4VBR \
    --manager agent_01M7WQZV5BRAS3VSSYS7ZD5VZS --key no_tests --summary 'no tests were run' \
    --rule 'Run the tests before you report.' --eval-repo web --eval-argv sh -c 'go test ./...'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "worker", "manager", "key", "summary", "rule"); err != nil {
				return err
			}
			if err := checkRole(p.ManagerRole); err != nil {
				return err
			}
			if cmd.Flag("record-threshold").Changed && p.PromoteThreshold < 1 {
				return cli.UsageError{Message: "--record-threshold must be at least 1"}
			}
			return a.Interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				result, err := company.Do(ctx, all, workforce.Operations.Improve, p)
				if err != nil {
					return err
				}
				return a.PrintJSON(result)
			})
		},
	}
	mistakeFlags(cmd, &p.MistakeParams)
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"proposal-threshold: occurrences until it is evaluated",
		"record-threshold=promote_threshold: occurrences until its rule is added without a proposal (default never)",
		"eval-repo=evaluation_repo_id: id of the repository to evaluate in",
		"eval-subdir=evaluation_workdir_rel: directory within the repository")
	cli.CommandLineVar(cmd, &p.EvaluationArgv, "eval-argv", "evaluation command with its arguments (default one that succeeds)")
	return cmd
}

func refreshContextCommand(a *cli.App) *cobra.Command {
	var p workforce.RefreshContextParams
	cmd := &cobra.Command{
		Use: "agent:refresh-context <dir>", Short: "Update the index of an agent's work in its AGENTS.md", Args: cli.Args("dir"),
		Long: `Write the section "Relevant Context Index" of an agent's AGENTS.md: its own files,
and its assigned tasks with their scope. The rest of the file stays as it is. If
nothing changed this is a no-op.`,
		Example: "  ac agent:refresh-context ./acme --agent agent_01M7WQZTV8PZR5BZGTKAYJ4VBR",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.RefreshContext, p)
		},
	}
	cli.Mirror(cmd, &p,
		"agent: id of the agent",
		"project: only tasks of this project",
		"max-tasks: number of tasks listed, 200 at most",
		"max-scope-paths: number of scope paths listed, 500 at most")
	return cmd
}
