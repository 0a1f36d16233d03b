package main

// agent:*: what agents learn, and where they find what they work on.

import (
	"context"

	"github.com/spf13/cobra"

	"ac/company"
)

// mistakeFlags declares the options that say what went wrong.
func mistakeFlags(a *app, cmd *cobra.Command, m *company.MistakeParams) {
	cmd.Flags().StringVar(&m.WorkerAgentID, "worker", "", "id of the agent that made the mistake (required)")
	cmd.Flags().StringVar(&m.ManagerActorID, "manager", "", "id of who saw it (required)")
	cmd.Flags().StringVar(&m.ManagerRole, "manager-role", "manager", "role of who saw it: human, ceo, director or manager")
	cmd.Flags().StringVar(&m.MistakeKey, "key", "", "key of the mistake, the same each time (required)")
	cmd.Flags().StringVar(&m.Summary, "summary", "", "what went wrong (required)")
	cmd.Flags().StringVar(&m.PreventionRule, "rule", "", "how it is prevented (required)")
	cmd.Flags().StringVar(&m.TaskID, "task", "", "id of the task")
	cmd.Flags().StringVar(&m.MilestoneID, "milestone", "", "id of the milestone")
	valuesVar(cmd, &m.Evidence, "evidence", "ids of artifacts that show it")
	completeFlag(cmd, "worker", a.agentIDs)
	completeFlag(cmd, "manager", a.agentIDs)
	completeFlag(cmd, "manager-role", words("human", "ceo", "director", "manager"))
}

func recordMistakeCommand(a *app) *cobra.Command {
	var p company.RecordMistakeParams
	cmd := &cobra.Command{
		Use: "agent:record-mistake <dir>", Short: "Count a mistake of an agent", Args: args("dir"),
		Long: `Count a mistake of an agent in its mistakes.yaml. Once it was seen --threshold
times, its rule is added to the agent's AGENTS.md. The run, if there is one, is
told.`,
		Example: `  ac agent:record-mistake ./acme --worker agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --manager human --manager-role human \
    --key no_tests --summary 'no tests were run' --rule 'Run the tests before you report.'`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "worker", "manager", "key", "summary", "rule"); err != nil {
				return err
			}
			if err := checkRole(p.ManagerRole); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).RecordMistake, p)
		},
	}
	mistakeFlags(a, cmd, &p.MistakeParams)
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "id of the project of --run")
	cmd.Flags().StringVar(&p.RunID, "run", "", "id of the run in which it was made")
	cmd.Flags().Int64Var(&p.PromoteThreshold, "threshold", 3, "how often it is seen before its rule is added")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "run", a.runIDs)
	completeFlag(cmd, "evidence", a.artifactIDs)
	return cmd
}

// checkRole refuses roles that do not record mistakes.
func checkRole(role string) error {
	switch role {
	case "human", "ceo", "director", "manager":
		return nil
	}
	return usageError{"--manager-role must be human, ceo, director or manager"}
}

func improveCommand(a *app) *cobra.Command {
	var p company.ImproveParams
	cmd := &cobra.Command{
		Use: "agent:self-improve-cycle <dir>", Short: "Count a mistake, evaluate it, propose the rule against it", Args: args("dir"),
		Long: `Count a mistake of an agent. Once it was seen --proposal-threshold times, the
command of --eval-argv is run in a run of its own, for 15 minutes at most; when it
succeeds, a change to the agent's AGENTS.md is proposed, which takes effect when
it is approved. All words behind --eval-argv belong to the command, up to the next
option of agent:self-improve-cycle.

Exit status: 0 whatever came of the evaluation, which is printed; 130 or 143 when
it was interrupted, with the evaluation stopped.`,
		Example: `  ac agent:self-improve-cycle ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --worker agent_01M7WQZTV8PZR5BZGTKAYJ4VBR \
    --manager agent_01M7WQZV5BRAS3VSSYS7ZD5VZS --key no_tests --summary 'no tests were run' \
    --rule 'Run the tests before you report.' --eval-repo web --eval-argv sh -c 'go test ./...'`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project", "worker", "manager", "key", "summary", "rule"); err != nil {
				return err
			}
			if err := checkRole(p.ManagerRole); err != nil {
				return err
			}
			if cmd.Flag("record-threshold").Changed && p.PromoteThreshold < 1 {
				return usageError{"--record-threshold must be at least 1"}
			}
			p.WorkspaceDir = given[0]
			return a.interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				result, err := company.Do(ctx, all, (*company.Company).Improve, p)
				if err != nil {
					return err
				}
				return a.printJSON(result)
			})
		},
	}
	mistakeFlags(a, cmd, &p.MistakeParams)
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "id of the project (required)")
	cmd.Flags().Int64Var(&p.ProposalThreshold, "proposal-threshold", 3, "how often it is seen before it is evaluated")
	cmd.Flags().Int64Var(&p.PromoteThreshold, "record-threshold", 0, "how often it is seen before its rule is added without a proposal (default never)")
	commandLineVar(cmd, &p.EvaluationArgv, "eval-argv", "the command of the evaluation and its words (default one that succeeds)")
	cmd.Flags().StringVar(&p.EvaluationRepoID, "eval-repo", "", "id of the repository to evaluate in")
	cmd.Flags().StringVar(&p.EvaluationWorkdirRel, "eval-subdir", "", "directory within the repository")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "evidence", a.artifactIDs)
	return cmd
}

func refreshContextCommand(a *app) *cobra.Command {
	var p company.RefreshContextParams
	cmd := &cobra.Command{
		Use: "agent:refresh-context <dir>", Short: "Tell an agent where what it works on lies", Args: args("dir"),
		Long: `Write the section "Relevant Context Index" of an agent's AGENTS.md: its own files,
and the tasks that are assigned to it with their scope. Nothing else in the file
changes, and nothing is written when nothing changed.`,
		Example: "  ac agent:refresh-context ./acme --agent agent_01M7WQZTV8PZR5BZGTKAYJ4VBR",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "agent"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).RefreshContext, p)
		},
	}
	cmd.Flags().StringVar(&p.AgentID, "agent", "", "id of the agent (required)")
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "only tasks of this project")
	cmd.Flags().IntVar(&p.MaxTasks, "max-tasks", 20, "how many tasks are named, 200 at most")
	cmd.Flags().IntVar(&p.MaxScopePaths, "max-scope-paths", 40, "how many paths of their scopes are named, 500 at most")
	completeFlag(cmd, "agent", a.agentIDs)
	completeFlag(cmd, "project", a.projectIDs)
	return cmd
}
