package main

// Completion, including the existing ids of a workspace.

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ac/company"
	"ac/company/decisions"
	"ac/company/workforce"
	"ac/runs"
	"ac/workspace/doc"
)

// completionCommand prints the completion script of a shell.
func completionCommand(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use: "completion <shell>", Short: "Print the completion script of a shell",
		Long:      "Print a script that completes commands, options and ids of a workspace in a shell. Shells: " + strings.Join(shells, ", ") + ".",
		Example:   "  source <(ac completion bash)\n  ac completion fish > ~/.config/fish/completions/ac.fish",
		ValidArgs: shells,
		Args:      args("shell"),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch root := cmd.Root(); given[0] {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usageError{"no completion for " + given[0] + "; there is one for " + strings.Join(shells, ", ")}
		},
	}
	a.everywhere(cmd, &shortFlags{})
	return cmd
}

// completeFlag registers the completions of a flag.
func completeFlag(cmd *cobra.Command, flag string, words func(*cobra.Command, []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words(cmd, given), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag does not exist: a programming error
	}
}

// completeByName registers completions for the options that name something of a workspace, and
// for the words of policy, in all commands whose options have none of their own.
func (a *app) completeByName(commands []*cobra.Command) {
	for _, cmd := range commands {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, has := cmd.GetFlagCompletionFunc(f.Name); has {
				return
			}
			if words := a.completions(f.Name); words != nil {
				completeFlag(cmd, f.Name, words)
			}
		})
	}
}

// completions are the words of the options with a name, nil when they are free.
func (a *app) completions(option string) func(*cobra.Command, []string) []string {
	switch option {
	case "project", "project-id":
		return a.projectIDs
	case "run", "target-run":
		return a.runIDs
	case "team", "actor-team", "target-team", "manager-team":
		return a.teamIDs
	case "agent", "assignee", "worker", "manager", "target-agent", "actor", "target", "requester", "mention", "with", "by",
		"worker-agent-ids", "executive-manager-agent-id", "director-agent-id", "ceo-actor-id":
		return a.agentIDs
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
		return words(doc.Visibilities()...)
	case "role":
		return words(doc.Roles()...)
	}
	return nil
}

// known lists a word for each row of an operation, none for an unreadable
// workspace.
func known[S company.Target, P, R any](a *app, list func(S, context.Context, P) ([]R, error), p P, word func(R) string) (words []string) {
	rows, _ := ask(context.Background(), a, list, p)
	for _, row := range rows {
		words = append(words, word(row))
	}
	return words
}

// dirOf is the workspace on the command line.
func dirOf(given []string) (d company.Dir) {
	if len(given) > 0 {
		d.WorkspaceDir = given[0]
	}
	return d
}

// projectOf is the project on the command line, if any.
func projectOf(cmd *cobra.Command, given []string) company.ProjectParams {
	p := company.ProjectParams{Dir: dirOf(given)}
	if f := cmd.Flag("project"); f != nil {
		p.ProjectID = f.Value.String()
	}
	return p
}

func (a *app) teamIDs(_ *cobra.Command, given []string) []string {
	return known(a, (*company.Folder).Teams, dirOf(given), func(r company.TeamRow) string { return r.TeamID + "\t" + r.Name })
}

// agentIDs completes the agents.
func (a *app) agentIDs(_ *cobra.Command, given []string) []string {
	return known(a, (*company.Folder).Agents, company.AgentsParams{Dir: dirOf(given)}, func(r company.AgentRow) string { return r.AgentID + "\t" + r.Name })
}

func (a *app) projectIDs(_ *cobra.Command, given []string) []string {
	return known(a, workforce.Operations.ProjectNames, dirOf(given), func(r doc.Project) string { return r.ID + "\t" + r.Name })
}

// runIDs completes the runs of the project.
func (a *app) runIDs(cmd *cobra.Command, given []string) []string {
	p := projectOf(cmd, given)
	return known(a, (*company.Folder).ListRuns, company.ListRunsParams(p), func(r runs.ListRow) string {
		return r.RunID + "\t" + r.Status + " " + r.CreatedAt
	})
}

func (a *app) artifactIDs(cmd *cobra.Command, given []string) []string {
	return known(a, decisions.Operations.ArtifactNames, projectOf(cmd, given), func(head doc.Artifact) string { return head.ID + "\t" + head.Type + ": " + head.Title })
}

func (a *app) sharePackIDs(cmd *cobra.Command, given []string) []string {
	return known(a, workforce.Operations.SharePacks, projectOf(cmd, given), func(p doc.SharePack) string { return p.ID + "\t" + p.CreatedAt + " by " + p.CreatedBy })
}

// sharedRunIDs are the runs in the share pack on the command line.
func (a *app) sharedRunIDs(cmd *cobra.Command, given []string) (ids []string) {
	share := cmd.Flag("share").Value.String()
	packs, _ := ask(cmd.Context(), a, workforce.Operations.SharePacks, projectOf(cmd, given)) // none if they cannot be read
	for _, p := range packs {
		for _, run := range p.IncludedRuns {
			if p.ID == share {
				ids = append(ids, run.RunID)
			}
		}
	}
	return ids
}

// sessionRefs completes the sessions that run.
func (a *app) sessionRefs(_ *cobra.Command, given []string) []string {
	var refs []string
	if len(given) == 0 {
		return nil
	}
	_ = a.across(func(all *company.Host) error { // none if the workspace cannot be read
		rows, err := company.Do(context.Background(), all, (*company.Host).ListSessions, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: given[0]}, Status: "running"})
		for _, r := range rows {
			refs = append(refs, r.SessionRef+"\t"+r.RunID)
		}
		return err
	})
	return refs
}
