package records

// artifact:fill and pipeline:*: artifacts written by agents.

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/workforce"
	"ac/governance/pipeline"
	"ac/workspace/doc"
)

func artifactFillCommand(a *cli.App) *cobra.Command {
	var p workforce.FillArtifactParams
	var file string
	cmd := &cobra.Command{
		Use: "artifact:fill <dir>", Short: "Let an agent write an artifact", Args: cli.Args("dir"),
		Long: `Let the CLI of an agent write an artifact, in a run of its own. The artifact is
replaced if the answer is a complete document of its type with its front matter;
otherwise it stays as it is.

Exit status: 0 if it was filled, 2 if not, with the reason in the result; 130 or 143
if interrupted, with the run stopped.`,
		Example: `  ac artifact:fill ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --artifact art_01M7WR5DNVQ27WB0DNRZ77PVD7 \
    --agent agent_01M7WQZTV8PZR5BZGTKAYJ4VBR --prompt 'Keep it to one page.'`,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if p.Spec.Prompt, err = textOrFile(cmd, "prompt", "prompt-file", p.Spec.Prompt, file); err != nil {
				return err
			}
			return a.Interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				filled, err := company.Do(ctx, all, workforce.Operations.FillArtifact, p)
				if err != nil {
					return err
				}
				if err := a.PrintJSON(filled); err != nil || filled.OK {
					return err
				}
				return cli.ExitError{Code: cli.ExitFindings}
			})
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"artifact: id of the artifact",
		"agent: id of the agent",
		"subdir: directory within the repository")
	cmd.Flags().StringVar(&p.Spec.Provider, "provider", "", strings.Join(doc.WorkerKinds(), ", ")+" (default the agent's)")
	cmd.Flags().StringVar(&p.Spec.Model, "model", "", "model to ask for")
	cmd.Flags().StringVar(&p.Spec.Prompt, "prompt", "", "further instructions")
	cmd.Flags().StringVar(&file, "prompt-file", "", "file with further instructions")
	cmd.Flags().StringVar(&p.Spec.RepoID, "repo", "", "id of the repository to run in")
	cli.CompleteFlag(cmd, "provider", cli.Words(doc.WorkerKinds()...))
	return cmd
}

// textOrFile returns the value of an option, or the content of the file that
// another option names.
func textOrFile(cmd *cobra.Command, text, file, given, name string) (string, error) {
	if !cmd.Flag(file).Changed {
		return given, nil
	}
	if cmd.Flag(text).Changed {
		return "", cli.UsageError{Message: "--" + text + " and --" + file + " cannot be combined"}
	}
	content, err := os.ReadFile(name)
	return string(content), err
}

// intakeFlags declares the options that pipeline:intake and pipeline:plan
// share.
func intakeFlags(a *cli.App, cmd *cobra.Command, p *pipeline.IntakeSpec) {
	cmd.Flags().StringVar(&p.Name, "name", "", "name of the project (required)")
	cmd.Flags().StringVar(&p.CEOID, "ceo", "", "id of the agent that writes the brief (required)")
	cmd.Flags().StringVar(&p.DirectorID, "director", "", "id of the agent that writes clarifications and workplan (required)")
	cli.ValuesVar(cmd, &p.ManagerIDs, "managers", "ids of the agents that each write a proposal (required)")
	for _, name := range []string{"ceo", "director", "managers"} {
		cli.CompleteFlag(cmd, name, a.AgentIDs)
	}
}

func pipelineIntakeCommand(a *cli.App) *cobra.Command {
	var p workforce.IntakeParams
	cmd := &cobra.Command{
		Use: "pipeline:intake <dir>", Short: "Set up a project with the artifacts to be written", Args: cli.Args("dir"),
		Long: `Create a project with empty artifacts (brief, clarifications, a proposal for each
manager, workplan) and a task for each author. The creation is atomic.`,
		Example: `  ac pipeline:intake ./acme --name 'Checkout' --ceo agent_01M7WQZTV8PZR5BZGTKAYJ4VBR \
    --director agent_01M7WQZV5BRAS3VSSYS7ZD5VZS --managers agent_01M7WQXE2QWXVBXWD7X9EY55XR agent_01M7WQGXHF6841960P03NQM6RX`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := cli.Require(cmd, "name", "ceo", "director", "managers"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return cli.PrintJSON(cmd.Context(), a, workforce.Operations.TakeIn, p)
		},
	}
	intakeFlags(a, cmd, &p.Spec)
	return cmd
}

func pipelinePlanCommand(a *cli.App) *cobra.Command {
	var p workforce.MakePlanParams
	var file string
	cmd := &cobra.Command{
		Use: "pipeline:plan <dir>", Short: "Set up a project and let its agents plan it", Args: cli.Args("dir"),
		Long: `Create a project as pipeline:intake does and let the agents write its artifacts: the
brief from --intake, the clarifications, the proposals concurrently, the workplan. If
a step fails, it stops; what was written stays.

Exit status: 130 or 143 if interrupted, with the runs stopped.`,
		Example: `  ac pipeline:plan ./acme --name 'Checkout' --ceo agent_01M7WQZTV8PZR5BZGTKAYJ4VBR \
    --director agent_01M7WQZV5BRAS3VSSYS7ZD5VZS --managers agent_01M7WQXE2QWXVBXWD7X9EY55XR --intake-file request.md`,
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			if err := cli.Require(cmd, "name", "ceo", "director", "managers"); err != nil {
				return err
			}
			if p.Spec.Brief, err = textOrFile(cmd, "intake", "intake-file", p.Spec.Brief, file); err != nil {
				return err
			}
			if strings.TrimSpace(p.Spec.Brief) == "" {
				return cli.UsageError{Message: "required option --intake or --intake-file is missing or blank"}
			}
			p.WorkspaceDir = given[0]
			return a.Interruptible(cmd.Context(), func(ctx context.Context, all *company.Host) error {
				plan, err := company.Do(ctx, all, workforce.Operations.MakePlan, p)
				if err != nil {
					return err
				}
				return a.PrintJSON(plan)
			})
		},
	}
	intakeFlags(a, cmd, &p.Spec.IntakeSpec)
	cmd.Flags().StringVar(&p.Spec.Brief, "intake", "", "description of the project")
	cmd.Flags().StringVar(&file, "intake-file", "", "file with the description of the project")
	cmd.Flags().StringVar(&p.Spec.Model, "model", "", "model to ask for")
	return cmd
}
