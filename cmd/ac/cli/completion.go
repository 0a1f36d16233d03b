package cli

// Shell completion, including the ids in a workspace.

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/decisions"
	"ac/company/workforce"
	"ac/runs"
	"ac/workspace/doc"
)

// CompleteFlag registers the completions of a flag.
func CompleteFlag(cmd *cobra.Command, flag string, words func(*cobra.Command, []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words(cmd, given), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // programming error: the flag does not exist
	}
}

// completeByName registers completions for options that name something in a workspace, or that take
// words of the policy. It skips options that already have completions.
func (a *App) completeByName(commands []*cobra.Command) {
	for _, cmd := range commands {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); has {
				return
			}
			if words := a.completions(f.Name); words != nil {
				CompleteFlag(cmd, f.Name, words)
			}
		})
	}
}

// completions returns the completion function of an option, nil if any word is valid.
func (a *App) completions(option string) func(*cobra.Command, []string) []string {
	switch option {
	case "project", "project-id":
		return a.projectIDs
	case "run", "target-run":
		return a.RunIDs
	case "team", "actor-team", "target-team", "manager-team":
		return a.teamIDs
	case "agent", "assignee", "worker", "manager", "target-agent", "actor", "target", "requester", "mention", "with", "by",
		"worker-agent-ids", "executive-manager-agent-id", "director-agent-id", "ceo-actor-id":
		return a.AgentIDs
	case "task", "depends":
		return a.taskIDs
	case "milestone":
		return a.milestoneIDs
	case "artifact", "target-artifact", "evidence":
		return a.artifactIDs
	case "job":
		return a.jobIDs
	case "share":
		return a.sharePackIDs
	case "visibility":
		return Words(doc.Visibilities()...)
	case "role":
		return Words(doc.Roles()...)
	}
	return nil
}

// known returns a word for each row of an operation. It returns none for an unreadable workspace.
func known[S company.Target, P, R any](a *App, list func(S, context.Context, P) ([]R, error), p P, word func(R) string) (words []string) {
	rows, _ := Ask(context.Background(), a, list, p)
	for _, row := range rows {
		words = append(words, word(row))
	}
	return words
}

// dirOf returns the workspace on the command line.
func dirOf(given []string) (d company.Dir) {
	if len(given) > 0 {
		d.WorkspaceDir = given[0]
	}
	return d
}

// projectOf returns the project on the command line, if any.
func projectOf(cmd *cobra.Command, given []string) company.ProjectParams {
	p := company.ProjectParams{Dir: dirOf(given)}
	if f := cmd.Flag("project"); f != nil {
		p.ProjectID = f.Value.String()
	}
	return p
}

func (a *App) teamIDs(_ *cobra.Command, given []string) []string {
	return known(a, (*company.Folder).Teams, dirOf(given), func(r company.TeamRow) string { return r.TeamID + "\t" + r.Name })
}

// AgentIDs completes the agents.
func (a *App) AgentIDs(_ *cobra.Command, given []string) []string {
	return known(a, (*company.Folder).Agents, company.AgentsParams{Dir: dirOf(given)}, func(r company.AgentRow) string { return r.AgentID + "\t" + r.Name })
}

func (a *App) projectIDs(_ *cobra.Command, given []string) []string {
	return known(a, workforce.Operations.ProjectNames, dirOf(given), func(r doc.Project) string { return r.ID + "\t" + r.Name })
}

// RunIDs completes the runs of the project.
func (a *App) RunIDs(cmd *cobra.Command, given []string) []string {
	p := projectOf(cmd, given)
	return known(a, (*company.Folder).ListRuns, company.ListRunsParams(p), func(r runs.ListRow) string {
		return r.RunID + "\t" + r.Status + " " + r.CreatedAt
	})
}

func (a *App) artifactIDs(cmd *cobra.Command, given []string) []string {
	return known(a, decisions.Operations.ArtifactNames, projectOf(cmd, given), func(head doc.Artifact) string { return head.ID + "\t" + head.Type + ": " + head.Title })
}

func (a *App) sharePackIDs(cmd *cobra.Command, given []string) []string {
	return known(a, workforce.Operations.SharePacks, projectOf(cmd, given), func(p doc.SharePack) string { return p.ID + "\t" + p.CreatedAt + " by " + p.CreatedBy })
}

// SharedRunIDs completes the runs in the share pack on the command line.
func (a *App) SharedRunIDs(cmd *cobra.Command, given []string) (ids []string) {
	share := cmd.Flag("share").Value.String()
	packs, _ := Ask(cmd.Context(), a, workforce.Operations.SharePacks, projectOf(cmd, given)) // none if they cannot be read
	for _, p := range packs {
		for _, run := range p.IncludedRuns {
			if p.ID == share {
				ids = append(ids, run.RunID)
			}
		}
	}
	return ids
}

// SessionRefs completes the running sessions.
func (a *App) SessionRefs(_ *cobra.Command, given []string) []string {
	var refs []string
	if len(given) == 0 {
		return nil
	}
	_ = a.Across(func(all *company.Host) error { // none if the workspace cannot be read
		rows, err := company.Do(context.Background(), all, (*company.Host).ListSessions, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: given[0]}, Status: "running"})
		for _, r := range rows {
			refs = append(refs, r.SessionRef+"\t"+r.RunID)
		}
		return err
	})
	return refs
}

// Words completes fixed words.
func Words(list ...string) func(*cobra.Command, []string) []string {
	return func(*cobra.Command, []string) []string { return list }
}

func (a *App) jobIDs(cmd *cobra.Command, given []string) []string {
	return known(a, (*company.Company).JobNames, projectOf(cmd, given), func(j doc.Job) string { return j.Job.JobID + "\t" + j.Status })
}

// taskIDs completes the tasks of the project on the command line.
func (a *App) taskIDs(cmd *cobra.Command, given []string) []string {
	return a.tasks(cmd, given, func(t workforce.TaskRow) []string { return []string{t.TaskID + "\t" + t.Frontmatter.Title} })
}

// milestoneIDs completes the milestones of the task on the command line.
func (a *App) milestoneIDs(cmd *cobra.Command, given []string) []string {
	task := cmd.Flag("task").Value.String()
	return a.tasks(cmd, given, func(t workforce.TaskRow) (ids []string) {
		for _, m := range t.Frontmatter.Milestones {
			if t.TaskID == task {
				ids = append(ids, m.ID+"\t"+m.Title)
			}
		}
		return ids
	})
}

func (a *App) tasks(cmd *cobra.Command, given []string, words func(workforce.TaskRow) []string) (all []string) {
	p := projectOf(cmd, given)
	list, _ := Ask(cmd.Context(), a, workforce.Operations.ListTasks, workforce.ListTasksParams(p)) // none if they cannot be read
	for _, t := range list.Tasks {
		all = append(all, words(t)...)
	}
	return all
}
