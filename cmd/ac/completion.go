package main

// Completion with the ids that are really there.

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
)

// completionCommand prints what a shell needs to complete commands of ac.
func completionCommand(a *app) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion <shell>", Short: "Print the completion script of a shell",
		Long:      "Print the script that makes a shell complete commands, options and the ids of a workspace. Shells: " + strings.Join(shells, ", ") + ".",
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
}

// completeFlag gives a flag its words.
func completeFlag(cmd *cobra.Command, flag string, words func(*cobra.Command, []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		return words(cmd, given), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not there: a fault of the program
	}
}

// known lists words from the workspace that the command line names. A workspace
// that cannot be read has none.
func (a *app) known(given []string, list func(*company.Company) ([]string, error)) []string {
	var words []string
	if len(given) > 0 {
		_ = a.in(given[0], func(c *company.Company) (err error) {
			words, err = list(c)
			return err
		})
	}
	return words
}

func (a *app) teamIDs(_ *cobra.Command, given []string) []string {
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		rows, err := c.Teams(context.Background(), company.Dir{WorkspaceDir: given[0]})
		for _, r := range rows {
			ids = append(ids, r.TeamID+"\t"+r.Name)
		}
		return ids, err
	})
}

func (a *app) agentIDs(_ *cobra.Command, given []string) []string {
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		rows, err := c.Agents(context.Background(), company.AgentsParams{Dir: company.Dir{WorkspaceDir: given[0]}})
		for _, r := range rows {
			ids = append(ids, r.AgentID+"\t"+r.Name)
		}
		return ids, err
	})
}

func (a *app) projectIDs(_ *cobra.Command, given []string) []string {
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		rows, err := c.ProjectNames(context.Background())
		for _, r := range rows {
			ids = append(ids, r.ID+"\t"+r.Name)
		}
		return ids, err
	})
}

func (a *app) runIDs(cmd *cobra.Command, given []string) []string {
	project := ""
	if f := cmd.Flag("project"); f != nil {
		project = f.Value.String()
	}
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		rows, err := c.ListRuns(context.Background(), company.ListRunsParams{Dir: company.Dir{WorkspaceDir: given[0]}, ProjectID: project})
		for _, r := range rows {
			ids = append(ids, r.RunID+"\t"+r.Status+" "+r.CreatedAt)
		}
		return ids, err
	})
}

// artifactIDs are those of the project that the command line names.
func (a *app) artifactIDs(cmd *cobra.Command, given []string) []string {
	project := cmd.Flag("project").Value.String()
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		found, err := c.ArtifactNames(context.Background(), project)
		for _, head := range found {
			ids = append(ids, head.ID+"\t"+head.Type+": "+head.Title)
		}
		return ids, err
	})
}

func (a *app) sharePackIDs(cmd *cobra.Command, given []string) []string {
	project := cmd.Flag("project").Value.String()
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		packs, err := c.SharePacks(context.Background(), project)
		for _, p := range packs {
			ids = append(ids, p.ID+"\t"+p.CreatedAt+" by "+p.CreatedBy)
		}
		return ids, err
	})
}

// sharedRunIDs are the runs in the share pack that the command line names.
func (a *app) sharedRunIDs(cmd *cobra.Command, given []string) []string {
	project, share := cmd.Flag("project").Value.String(), cmd.Flag("share").Value.String()
	return a.known(given, func(c *company.Company) (ids []string, err error) {
		packs, err := c.SharePacks(context.Background(), project)
		for _, p := range packs {
			for _, run := range p.IncludedRuns {
				if p.ID == share {
					ids = append(ids, run.RunID)
				}
			}
		}
		return ids, err
	})
}

func (a *app) sessionRefs(_ *cobra.Command, given []string) []string {
	var refs []string
	if len(given) == 0 {
		return nil
	}
	_ = a.across(func(all *company.Companies) error { // none where the workspace cannot be read
		rows, err := all.ListSessions(context.Background(), company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: given[0]}, Status: "running"})
		for _, r := range rows {
			refs = append(refs, r.SessionRef+"\t"+r.RunID)
		}
		return err
	})
	return refs
}
