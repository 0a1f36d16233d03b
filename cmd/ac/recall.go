package main

// memory:list, memory:candidates and context:plan.

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/workspace/doc"
)

func memoryListCommand(a *app) *cobra.Command {
	var p company.ListDeltasParams
	cmd := &cobra.Command{
		Use: "memory:list <dir>", Short: "List memory deltas with their decisions", Args: args("dir"),
		Long:    "List the memory deltas that an actor may read, newest first, as JSON on one line.",
		Example: "  ac memory:list ./acme --actor human --role human --status pending",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "actor", "role"); err != nil {
				return err
			}
			p.WorkspaceDir = given[0]
			return printLine(cmd.Context(), a, (*company.Company).ListDeltas, p)
		},
	}
	askerFlags(a, cmd, &p.ActorParams)
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "only of this project")
	cmd.Flags().StringVar(&p.Status, "status", "all", "pending, approved, denied or all")
	cmd.Flags().IntVar(&p.Limit, "limit", 200, "maximum number, up to 5000")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "status", words("pending", "approved", "denied", "all"))
	return cmd
}

// askerFlags declares the options that identify the actor.
func askerFlags(a *app, cmd *cobra.Command, p *company.ActorParams) {
	cmd.Flags().StringVar(&p.ActorID, "actor", "", "id of the actor (required)")
	cmd.Flags().StringVar(&p.ActorRole, "role", "", "role of the actor: "+strings.Join(doc.Roles(), ", ")+" (required)")
	cmd.Flags().StringVar(&p.ActorTeamID, "actor-team", "", "id of the actor's team")
	completeFlag(cmd, "actor", a.agentIDs)
	completeFlag(cmd, "role", func(*cobra.Command, []string) []string { return doc.Roles() })
	completeFlag(cmd, "actor-team", a.teamIDs)
}

func memoryCandidatesCommand(a *app) *cobra.Command {
	var p company.CandidatesParams
	cmd := &cobra.Command{
		Use: "memory:candidates <dir>", Short: "Suggest memory from the results of a job", Args: args("dir"),
		Long: `Suggest memory from the result of a job and write the report into the outputs of
its run. Nothing is proposed; memory:delta does that.`,
		Example: "  ac memory:candidates ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --job job_01M7WR5DNVQ27WB0DNRZ77PVD7 --actor human --role human",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project", "actor", "role"); err != nil {
				return err
			}
			if p.JobID == "" && p.RunID == "" {
				return usageError{"required option --job or --run is missing"}
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).ExtractCandidates, p)
		},
	}
	askerFlags(a, cmd, &p.ActorParams)
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(&p.JobID, "job", "", "id of the job")
	cmd.Flags().StringVar(&p.RunID, "run", "", "id of one of its runs")
	cmd.Flags().IntVar(&p.Limit, "limit", 20, "maximum number, up to 100")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "run", a.runIDs)
	return cmd
}

func contextPlanCommand(a *app) *cobra.Command {
	var p company.PlanContextParams
	var refs []string
	cmd := &cobra.Command{
		Use: "context:plan <dir>", Short: "Show the planned context of a job", Args: args("dir"),
		Long: `Plan the context of a job and show which references are chosen and which are left
out, with the reasons. Nothing is written.`,
		Example: `  ac context:plan ./acme --project proj_01M7WQGTQHQA1J50C42GD1KN1S --manager human --role human --goal 'Fix the login' \
    --ref '{"kind":"file","value":"docs/login.md"}'`,
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "project", "manager", "role", "goal"); err != nil {
				return err
			}
			for _, text := range refs {
				var ref doc.ContextRef
				decoder := json.NewDecoder(strings.NewReader(text))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(&ref); err != nil {
					return usageError{`--ref must be JSON such as {"kind":"file","value":"docs/login.md"}, with kind, value and description`}
				}
				p.ContextRefs = append(p.ContextRefs, ref)
			}
			p.WorkspaceDir = given[0]
			return printJSON(cmd.Context(), a, (*company.Company).PlanContext, p)
		},
	}
	cmd.Flags().StringVar(&p.ProjectID, "project", "", "id of the project (required)")
	cmd.Flags().StringVar(&p.ManagerActorID, "manager", "", "id of the manager who submits the job (required)")
	cmd.Flags().StringVar(&p.ManagerRole, "role", "", "role of the actor: "+strings.Join(doc.Roles(), ", ")+" (required)")
	cmd.Flags().StringVar(&p.Goal, "goal", "", "goal of the job (required)")
	cmd.Flags().StringVar(&p.WorkerAgentID, "worker", "", "id of the worker")
	cmd.Flags().StringVar(&p.ManagerTeamID, "manager-team", "", "id of the manager's team")
	cmd.Flags().StringVar(&p.JobKind, "job-kind", doc.JobExecution, "execution or heartbeat")
	valuesVar(cmd, &p.Constraints, "constraint", "a constraint; may be repeated")
	valuesVar(cmd, &p.Deliverables, "deliverable", "a deliverable; may be repeated")
	valuesVar(cmd, &refs, "ref", "a reference for the context, as JSON; may be repeated")
	cmd.Flags().IntVar(&p.MaxRefs, "max-refs", 0, "maximum number of references, up to 200 (default 32, for heartbeats 8)")
	completeFlag(cmd, "project", a.projectIDs)
	completeFlag(cmd, "manager", a.agentIDs)
	completeFlag(cmd, "worker", a.agentIDs)
	completeFlag(cmd, "role", func(*cobra.Command, []string) []string { return doc.Roles() })
	completeFlag(cmd, "job-kind", words(doc.JobExecution, doc.JobHeartbeat))
	return cmd
}
