package records

// memory:list, memory:candidates and context:plan.

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/decisions"
	"ac/workspace/doc"
)

func memoryListCommand(a *cli.App) *cobra.Command {
	var p decisions.ListDeltasParams
	cmd := &cobra.Command{
		Use: "memory:list <dir>", Short: "List memory deltas with their decisions", Args: cli.Args("dir"),
		Long:    "List the memory deltas that an actor may read, newest first, as JSON on one line.",
		Example: "  ac memory:list ./acme --actor human --role human --status pending",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "actor", "role"); err != nil {
				return err
			}
			return cli.PrintLine(cmd.Context(), a, decisions.Operations.ListDeltas, p)
		},
	}
	askerFlags(cmd, &p.ActorParams)
	cli.Mirror(cmd, &p,
		"project: only of this project",
		"status: which of them",
		"limit: maximum number, up to 5000")
	return cmd
}

// askerFlags declares the options that identify the actor.
func askerFlags(cmd *cobra.Command, p *company.ActorParams) {
	cmd.Flags().StringVar(&p.ActorID, "actor", "", "id of the actor (required)")
	cmd.Flags().StringVar(&p.ActorRole, "role", "", "role of the actor: "+strings.Join(doc.Roles(), ", ")+" (required)")
	cmd.Flags().StringVar(&p.ActorTeamID, "actor-team", "", "id of the actor's team")
}

func memoryCandidatesCommand(a *cli.App) *cobra.Command {
	var p decisions.CandidatesParams
	cmd := &cobra.Command{
		Use: "memory:candidates <dir>", Short: "Suggest memory from the results of a job", Args: cli.Args("dir"),
		Long: `Suggest memory from the result of a job and write the report into the outputs of
its run. Nothing is proposed; memory:delta does that.`,
		Example: "  ac memory:candidates ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --job job_01M7WR5DNVQ27WB0DNRZ77PVD7 --actor human --role human",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "actor", "role"); err != nil {
				return err
			}
			if p.JobID == "" && p.RunID == "" {
				return cli.UsageError{Message: "required option --job or --run is missing"}
			}
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.ExtractCandidates, p)
		},
	}
	askerFlags(cmd, &p.ActorParams)
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"job: id of the job",
		"run: id of one of its runs",
		"limit: maximum number, up to 100")
	return cmd
}

func contextPlanCommand(a *cli.App) *cobra.Command {
	p := decisions.PlanContextParams{JobKind: doc.JobExecution}
	var refs []string
	cmd := &cobra.Command{
		Use: "context:plan <dir>", Short: "Show the planned context of a job", Args: cli.Args("dir"),
		Long: `Plan the context of a job and show which references are chosen and which are left
out, with the reasons. Nothing is written.`,
		Example: `  ac context:plan ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --manager human --role human --goal 'Fix the login' \
    --ref '{"kind":"file","value":"docs/login.md"}'`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, text := range refs {
				var ref doc.ContextRef
				decoder := json.NewDecoder(strings.NewReader(text))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(&ref); err != nil {
					return cli.UsageError{Message: `--ref must be JSON such as {"kind":"file","value":"docs/login.md"}, with kind, value and description`}
				}
				p.ContextRefs = append(p.ContextRefs, ref)
			}
			return cli.PrintJSON(cmd.Context(), a, decisions.Operations.PlanContext, p)
		},
	}
	cli.Mirror(cmd, &p,
		"project: id of the project",
		"manager=manager_actor_id: id of the manager who submits the job",
		"role=manager_role: role of the actor",
		"goal: goal of the job",
		"worker=worker_agent_id: id of the worker",
		"manager-team: id of the manager's team",
		"job-kind: kind of the job",
		"constraint=constraints: a constraint; may be repeated",
		"deliverable=deliverables: a deliverable; may be repeated",
		"max-refs: maximum number of references, up to 200 (default 32, for heartbeats 8)")
	cli.ValuesVar(cmd, &refs, "ref", "a reference for the context, as JSON; may be repeated")
	return cmd
}
