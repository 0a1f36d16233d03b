package servers

// server:start, rpc:call and protocol:schema.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/company"
	"ac/internal/canonjson"
	"ac/internal/proc"
	"ac/rpc"
	"ac/workspace"
)

func serverCommand(a *cli.App) *cobra.Command {
	onExit, sealKey, sealEvery, terminals := "", "", time.Duration(0), false
	cmd := &cobra.Command{
		Use:   "server:start",
		Short: "Serve JSON-RPC over stdin and stdout",
		Long: `Serve JSON-RPC 2.0 over stdin and stdout, one object a line, until stdin ends.

Sessions outlive the server, unless --on-exit stop is given. Exit status: 0 at the end
of stdin, 128+signal on SIGINT or SIGTERM.`,
		Example: `  ac server:start
  echo '{"jsonrpc":"2.0","id":1,"method":"system.capabilities"}' | ac server:start
  ac server:start --on-exit stop
  ac server:start --seal-every 1h`,
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if onExit != "keep" && onExit != "stop" {
				return cli.UsageError{Message: "--on-exit must be keep or stop"}
			}
			if sealEvery < 0 || sealEvery > 0 && sealEvery < time.Second {
				return cli.UsageError{Message: "--seal-every must be at least 1s, or 0 for never"}
			}
			return serve(cmd.Context(), a, rpc.Options{StopSessions: onExit == "stop", SealEvery: sealEvery, SealKeyFile: sealKey, Terminals: terminals})
		},
	}
	cmd.Flags().StringVar(&onExit, "on-exit", "keep", "launched sessions at the end: keep or stop")
	cmd.Flags().BoolVar(&terminals, "terminals", false, "let the client have consoles: shells on this machine, of this user")
	cmd.Flags().DurationVar(&sealEvery, "seal-every", 0, "interval at which the histories of the workspaces in use are sealed, such as 1h (0: never)")
	cmd.Flags().StringVar(&sealKey, "seal-key", "", "file of the private key for sealing (default: this user's)")
	return cmd
}

// serve runs a server with the options of a command.
func serve(ctx context.Context, a *cli.App, opts rpc.Options) error {
	cli.SurviveReaders()
	rest := proc.NewIdleUnmapper()
	defer rest.Close()
	stderr := rpc.NewLossy(a.Stderr)
	opts.In, opts.Out, opts.Log, opts.Env = a.Stdin, a.RawStdout(), slog.New(slog.NewTextHandler(stderr, nil)), workspace.SystemEnv()
	opts.Executable, opts.Version, opts.Stderr, opts.OnInputDrained = a.Executable, a.Version, stderr, rest.Touch
	signaled, err := cli.UntilSignal(ctx, func(ctx context.Context) error { return rpc.Serve(ctx, opts) })
	if err = errors.Join(err, stderr.Close()); signaled != nil {
		return signaled
	}
	return err
}

func callCommand(a *cli.App) *cobra.Command {
	var method, params string
	cmd := &cobra.Command{
		Use:   "rpc:call",
		Short: "Call one method and print its result on one line",
		Long: `Call one method in this process and print its result as one line of JSON.

Streaming methods (events.*) need a server. Exit status: 0, or 1 with "ERROR: ..." on
stderr.`,
		Example: `  ac rpc:call --method workspace.open --params '{"workspace_dir":"./acme"}'
  ac rpc:call --method system.capabilities`,
		Args: func(cmd *cobra.Command, given []string) error {
			// Callers with a script launcher may pass a script name before the options.
			return cli.Args()(cmd, cli.WithoutScript(given))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "method"); err != nil {
				return err
			}
			return call(cmd.Context(), a, method, params)
		},
	}
	cmd.Flags().StringVar(&method, "method", "", "the method (required)")
	cmd.Flags().StringVar(&params, "params", "{}", "its params as JSON")
	cli.CompleteFlag(cmd, "method", func(*cobra.Command, []string) []string {
		names := []string{}
		for _, m := range rpc.NewTable("").Methods() {
			if !m.Streams {
				names = append(names, m.Name+"\t"+m.Summary)
			}
		}
		return names
	})
	return cmd
}

func call(ctx context.Context, a *cli.App, method, params string) error {
	end, err := canonjson.Value([]byte(params), 0)
	if err == nil && strings.TrimSpace(params[end:]) != "" {
		err = errors.New("more than one value")
	}
	if err != nil {
		return fmt.Errorf("--params is not JSON: %w", err)
	}
	return a.Across(func(all *company.Host) error {
		result, err := rpc.NewTable(a.Version).Call(ctx, all, method, []byte(params))
		if err != nil {
			return cli.InvalidParams(err)
		}
		return a.PrintLine(result)
	})
}

func schemaCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "protocol:schema",
		Short:   "Print the OpenRPC document of all methods",
		Long:    "Print the OpenRPC document of all methods, with a JSON Schema of their params and results. It is generated from the server's method table.",
		Example: "  ac protocol:schema > openrpc.json",
		Args:    cli.Args(),
		RunE: func(*cobra.Command, []string) error {
			return a.PrintJSON(rpc.NewTable(a.Version).Describe(a.Version))
		},
	}
}
