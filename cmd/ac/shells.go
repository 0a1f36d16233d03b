package main

// Shell completion scripts.

import (
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// completionCommand returns the command that prints the completion script of a shell.
func completionCommand(a *cli.App) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	cmd := &cobra.Command{
		Use: "completion <shell>", Short: "Print the completion script of a shell",
		Long:      "Print a script that completes commands, options and ids of a workspace in a shell. Shells: " + strings.Join(shells, ", ") + ".",
		Example:   "  source <(ac completion bash)\n  ac completion fish > ~/.config/fish/completions/ac.fish",
		ValidArgs: shells,
		Args:      cli.Args("shell"),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch root := cmd.Root(); given[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.Stdout)
			case "fish":
				return root.GenFishCompletion(a.Stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.Stdout)
			}
			return cli.UsageError{Message: "no completion for " + given[0] + "; there is one for " + strings.Join(shells, ", ")}
		},
	}
	a.Everywhere(cmd, &cli.ShortFlags{})
	return cmd
}
