package main

// machine:set-repo and machine:set-provider-bin.

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
	"ac/company/equipment"
	"ac/workspace/doc"
)

func setRepoCommand(a *app) *cobra.Command {
	var p equipment.MachineParams
	cmd := &cobra.Command{
		Use: "machine:set-repo <dir>", Short: "Map a repository to a directory of this machine", Args: args("dir"),
		Long:    "Map a repository to a directory of this machine. The path is made absolute; it need not exist yet.",
		Example: "  ac machine:set-repo ./acme --repo checkout --path ~/src/checkout",
		RunE: func(cmd *cobra.Command, given []string) error {
			abs, err := filepath.Abs(p.Path)
			if err != nil {
				return err
			}
			p.WorkspaceDir, p.Path = given[0], abs
			_, err = ask(cmd.Context(), a, equipment.Operations.MapRepo, p)
			return a.printOK(err)
		},
	}
	mirror(cmd, &p,
		"repo=name: id of the repository",
		"path: path of the directory")
	return cmd
}

func setProviderBinCommand(a *app) *cobra.Command {
	var p equipment.MachineParams
	cmd := &cobra.Command{
		Use: "machine:set-provider-bin <dir>", Short: "Set the program of a provider on this machine", Args: args("dir"),
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
			_, err := ask(cmd.Context(), a, equipment.Operations.SetProviderBin, p)
			return a.printOK(err)
		},
	}
	mirror(cmd, &p,
		"provider=name: "+strings.Join(doc.WorkerKinds(), ", ")+", ...",
		"path: a command or a path")
	return cmd
}

func setAgentCommandCommand(a *app) *cobra.Command {
	var p equipment.AgentCommandParams
	cmd := &cobra.Command{
		Use: "machine:set-agent-command <dir>", Short: "Set the command of an Agent Client Protocol agent",
		Long: `Set the command of a provider whose agent speaks the Agent Client Protocol. {MODEL} in
an argument is replaced by the model of the launch. All words after --argv belong to
it, up to the next option. An empty --argv removes the setting.`,
		Example:            "  ac machine:set-agent-command ./acme --provider acp_goose --argv goose acp",
		DisableFlagParsing: true,
		ValidArgsFunction:  completeExecute,
		RunE: func(cmd *cobra.Command, given []string) error {
			rest, argv := splitArgv(cmd, given)
			if err := cmd.Flags().Parse(rest); err != nil {
				return usageError{err.Error()}
			}
			if help, err := cmd.Flags().GetBool("help"); err == nil && help {
				return cmd.Help()
			}
			if err := args("dir")(cmd, cmd.Flags().Args()); err != nil {
				return err
			}
			if err := require(cmd, "provider"); err != nil {
				return err
			}
			p.WorkspaceDir, p.Argv = cmd.Flags().Arg(0), argv
			_, err := ask(cmd.Context(), a, equipment.Operations.SetAgentCommand, p)
			return a.printOK(err)
		},
	}
	cmd.Flags().BoolP("help", "h", false, "help for machine:set-agent-command")
	cmd.Flags().StringVar(&p.Provider, "provider", "", "the provider (required)")
	cmd.Flags().StringArray("argv", nil, "the program and its arguments")
	return cmd
}

func allowModelHostCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "machine:allow-model-host <dir> <host>", Short: "Allow a host to be asked for its models", Args: args("dir", "host"),
		Long: `Allow model.profile.probe to ask a host which models it has: a name or an address, with a
port or at any. Hosts of loopback need no leave.`,
		Example: "  ac machine:allow-model-host ./acme api.openai.com",
		RunE: func(cmd *cobra.Command, given []string) error {
			p := equipment.AllowModelHostParams{Dir: company.Dir{WorkspaceDir: given[0]}, Host: given[1]}
			_, err := ask(cmd.Context(), a, equipment.Operations.AllowModelHost, p)
			return a.printOK(err)
		},
	}
}

// printOK says that an operation was carried out that has nothing to show.
func (a *app) printOK(err error) error {
	if err == nil {
		fmt.Fprintln(a.stdout, "OK")
	}
	return err
}
