package workspaces

// machine:*: settings of this machine.

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/company/equipment"
	"ac/workspace/doc"
)

func setRepoCommand(a *cli.App) *cobra.Command {
	var p equipment.MachineParams
	cmd := &cobra.Command{
		Use: "machine:set-repo <dir>", Short: "Map a repository to a directory of this machine", Args: cli.Args("dir"),
		Long:    "Map a repository to a directory of this machine. The path is made absolute; it need not exist yet.",
		Example: "  ac machine:set-repo ./acme --repo checkout --path ~/src/checkout",
		RunE: func(cmd *cobra.Command, given []string) error {
			abs, err := filepath.Abs(p.Path)
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.Path = given[0], abs
			_, err = cli.Ask(cmd.Context(), a, equipment.Operations.MapRepo, p)
			return printOK(a, err)
		},
	}
	cli.Mirror(cmd, &p,
		"repo=name: id of the repository",
		"path: path of the directory")
	return cmd
}

func setProviderBinCommand(a *cli.App) *cobra.Command {
	var p equipment.MachineParams
	cmd := &cobra.Command{
		Use: "machine:set-provider-bin <dir>", Short: "Set the program of a provider on this machine", Args: cli.Args("dir"),
		Long:    "Set the program of a provider on this machine: a command to look up in PATH, or a path, which is made absolute.",
		Example: "  ac machine:set-provider-bin ./acme --provider codex --path /opt/codex/bin/codex",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.ContainsRune(filepath.ToSlash(p.Path), '/') {
				abs, err := filepath.Abs(p.Path)
				if err != nil {
					return err
				}
				p.Path = abs
			}
			_, err := cli.Ask(cmd.Context(), a, equipment.Operations.SetProviderBin, p)
			return printOK(a, err)
		},
	}
	cli.Mirror(cmd, &p,
		"provider=name: "+strings.Join(doc.WorkerKinds(), ", ")+", ...",
		"path: a command or a path")
	return cmd
}

func setAgentCommandCommand(a *cli.App) *cobra.Command {
	var p equipment.AgentCommandParams
	cmd := &cobra.Command{
		Use: "machine:set-agent-command <dir>", Short: "Set the command of an Agent Client Protocol agent",
		Long: `Set the command of a provider whose agent speaks the Agent Client Protocol. {MODEL} in
an argument is replaced by the model of the launch. All words after --argv belong to
it, up to the next option. An empty --argv removes the setting.`,
		Example:            "  ac machine:set-agent-command ./acme --provider acp_goose --argv goose acp",
		DisableFlagParsing: true,
		ValidArgsFunction:  cli.CompleteExecute,
		RunE: func(cmd *cobra.Command, given []string) error {
			rest, argv := cli.SplitArgv(cmd, given)
			if err := cmd.Flags().Parse(rest); err != nil {
				return cli.UsageError{Message: err.Error()}
			}
			if help, err := cmd.Flags().GetBool("help"); err == nil && help {
				return cmd.Help()
			}
			if err := cli.Args("dir")(cmd, cmd.Flags().Args()); err != nil {
				return err
			}
			if err := cli.Require(cmd, "provider"); err != nil {
				return err
			}
			p.WorkspaceDir, p.Argv = cmd.Flags().Arg(0), argv
			_, err := cli.Ask(cmd.Context(), a, equipment.Operations.SetAgentCommand, p)
			return printOK(a, err)
		},
	}
	cmd.Flags().BoolP("help", "h", false, "help for machine:set-agent-command")
	cmd.Flags().StringVar(&p.Provider, "provider", "", "the provider (required)")
	cmd.Flags().StringArray("argv", nil, "the program and its arguments")
	return cmd
}

func allowModelHostCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "machine:allow-model-host <dir> <host>", Short: "Allow a host to be asked for its models", Args: cli.Args("dir", "host"),
		Long: `Allow model.profile.probe to ask a host which models it has: a name or an address, with a
port or at any. Hosts of loopback need no leave.`,
		Example: "  ac machine:allow-model-host ./acme api.openai.com",
		RunE: func(cmd *cobra.Command, given []string) error {
			p := equipment.AllowModelHostParams{Dir: company.Dir{WorkspaceDir: given[0]}, Host: given[1]}
			_, err := cli.Ask(cmd.Context(), a, equipment.Operations.AllowModelHost, p)
			return printOK(a, err)
		},
	}
}

// printOK prints OK for an operation without output.
func printOK(a *cli.App, err error) error {
	if err == nil {
		fmt.Fprintln(a.Stdout, "OK")
	}
	return err
}
