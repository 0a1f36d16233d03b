package oversight

// ac init: creating a workspace here, with the agent programs of this machine.

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/provisioning"
	"ac/internal/terminal"
	"ac/runs/provider"
)

func setupCommand(a *cli.App) *cobra.Command {
	var p provisioning.SetupParams
	var o cli.ShortFlags
	agents := "all"
	cmd := &cobra.Command{
		Use: "init [dir]", Short: "Make a workspace here, with the agents that you have", Args: cobra.MaximumNArgs(1),
		Long: `Make a workspace in a new or empty folder, else in .ac: of the git repository that the
folder lies in, or of the folder. With it come a team, a project, the link to the
repository, an agent for commands, and one for each agent program in PATH that works:
codex, claude, gemini, opencode, goose. No prompt is sent to find out. What is there
stays: a second call adds what is missing.`,
		Example: "  ac init\n  ac init ~/acme --name Acme --agents codex,claude",
	}
	o.Add(cmd.Flags())
	cmd.Annotations = map[string]string{cli.ShortKind: "yes"}
	cmd.Flags().StringVar(&p.CompanyName, "name", "", "name of the company (the folder's)")
	cmd.Flags().StringVar(&agents, "agents", agents, "all, none, or names of programs with commas between")
	cmd.Flags().BoolVar(&p.NoProbe, "no-probe", false, "a program in PATH is enough")
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if err := chooseAgents(&p, agents); err != nil {
			return err
		}
		p.WorkspaceDir = cmp.Or(append(given, "")[0], o.InWorkspace, ".")
		p.Environ = os.Environ()
		p.Home, _ = os.UserHomeDir() // best effort: without it no folder is refused as the home directory
		return a.Across(func(all *company.Host) error {
			progress := (&cli.Call{App: a, ShortFlags: o}).Progress("looking for agents")
			defer progress.End()
			p.Looked = func(looked, of int) { progress.Count(looked, of, "programs") }
			made, err := company.Do(cmd.Context(), all, provisioning.Folder.Setup, p)
			progress.End()
			if err != nil {
				return err
			}
			if err := cli.RememberWorkspace(cmd.Context(), made.WorkspaceDir, a.ReadContext().Project(made.WorkspaceDir)); err != nil {
				return err
			}
			if o.AsJSON {
				return a.PrintJSON(made)
			}
			printSetup(a, made)
			return nil
		})
	}
	return cmd
}

// chooseAgents parses the option that selects programs.
func chooseAgents(p *provisioning.SetupParams, text string) error {
	switch text {
	case "all":
		return nil
	case "none":
		p.NoAgents = true
		return nil
	}
	p.Agents = cli.Parts(text)
	known := provider.Programs()
	for _, program := range p.Agents {
		if !slices.Contains(known, program) {
			return cli.UsageError{Message: fmt.Sprintf("--agents must be all, none, or of %s, not %q", strings.Join(known, ", "), program)}
		}
	}
	if len(p.Agents) == 0 {
		return cli.UsageError{Message: "--agents must be all, none, or names of programs"}
	}
	return nil
}

// printSetup prints the resulting workspace and the next steps.
func printSetup(a *cli.App, made provisioning.SetupResult) {
	if !made.Created {
		fmt.Fprintln(a.Stdout, "Nothing to do: all of this is there.")
	}
	where := cli.Tilde(made.WorkspaceDir)
	if made.Nested {
		where = filepath.Base(made.WorkspaceDir)
		if made.Excluded {
			where += "  (left out of this repository by .git/info/exclude)"
		}
	}
	fmt.Fprintf(a.Stdout, "Workspace  %s\n", terminal.Quote(where))
	linked := ""
	if made.RepoID != nil {
		linked = ", linked to this repository"
		if !made.Nested {
			linked = ", linked to " + *made.RepoID
		}
	}
	fmt.Fprintf(a.Stdout, "Project    %s%s\n", terminal.Quote(made.Project), terminal.Quote(linked))
	printStaff(a, made.Agents)
	label := "Not used"
	for _, n := range made.NotUsed {
		fmt.Fprintf(a.Stdout, "%-10s %s: %s\n", label, n.Program, terminal.Quote(n.Reason))
		label = ""
	}
	fmt.Fprint(a.Stdout, "\nNext\n")
	for _, agent := range made.Agents {
		if agent.State == provider.Ready && agent.Program != nil {
			fmt.Fprintf(a.Stdout, "  ac run --agent %s \"say what this repository does\"\n", agent.Name)
			break
		}
	}
	fmt.Fprint(a.Stdout, "  ac run -- make test\n  ac top\n")
}

func printStaff(a *cli.App, agents []provisioning.SetupAgent) {
	names, versions := 0, 0
	for _, agent := range agents {
		names = max(names, terminal.Columns(agent.Name))
		versions = max(versions, terminal.Columns(terminal.Printable(cli.OrEmpty(agent.Version))))
	}
	label := "Agents"
	for _, agent := range agents {
		state := strings.ReplaceAll(agent.State, "_", " ")
		switch {
		case agent.State == provider.NotSignedIn:
			state += ": " + agent.Hint
		case agent.State == provider.Unknown && agent.Hint != "":
			state = "not known whether it is signed in: " + agent.Hint
		}
		line := terminal.Fit(terminal.Printable(agent.Name), names) + "  "
		if agent.Program == nil && agent.Provider == "cmd" {
			line += "runs commands"
		} else {
			line += terminal.Fit(terminal.Printable(cli.OrEmpty(agent.Version)), versions) + "   " + state
		}
		fmt.Fprintf(a.Stdout, "%-10s %s\n", label, line)
		label = ""
	}
}
