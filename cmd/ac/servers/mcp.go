package servers

// mcp:files and mcp:serve: tools for agents over MCP.

import (
	"context"
	"errors"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/mcp"
	"ac/company"
	"ac/rpc"
	"ac/runs/filetools"
	"ac/runs/grant"
)

func mcpFilesCommand(a *cli.App) *cobra.Command {
	var dirs []string
	cmd := &cobra.Command{
		Use:   "mcp:files",
		Short: "Serve read-only file tools to an agent, over MCP",
		Long: `Serve the tools read_file, list_files and search_files over the Model Context
Protocol (stdin and stdout), until stdin ends. They only read, and only within the
given directories.

Agents that may not run commands and have no such tools of their own start this
themselves: codex, for jobs of the permission level patch.`,
		Example: `  ac mcp:files --dir .
  ac mcp:files --dir . --dir ../library`,
		Args: cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(dirs) == 0 {
				return cli.UsageError{Message: "--dir is missing: the directory that may be read"}
			}
			files, err := filetools.New(dirs...)
			if err != nil {
				return err
			}
			return serveTools(cmd.Context(), a, rpc.Toolbox{Version: a.Version, Tools: fileTools(files)})
		},
	}
	cmd.Flags().StringArrayVar(&dirs, "dir", nil, "a directory that may be read; relative paths belong to the first")
	return cmd
}

func fileTools(files *filetools.Dirs) []rpc.Tool {
	return []rpc.Tool{
		rpc.NewTool("read_file", "Read a text file. Long files come in parts: go on with the offset that the answer names. Path is relative to the working directory, or absolute. Offset is the first line, from 1; limit is how many.", files.Read),
		rpc.NewTool("list_files", "List a directory, a path a line; directories end in a slash. Depth is how far down, 1 for the directory alone.", files.List),
		rpc.NewTool("search_files", "Search the files below a path for a regular expression (RE2) and list the lines that match, as path:line: text. Glob chooses files by name, such as *.go.", files.Search),
	}
}

// serveTools serves one agent until its input or the context ends. A signal terminates the process
// immediately, which is safe because nothing needs cleanup.
func serveTools(ctx context.Context, a *cli.App, tools rpc.Toolbox) error {
	cli.SurviveReaders()
	err := tools.Serve(ctx, a.Stdin, a.RawStdout())
	if errors.Is(err, syscall.EPIPE) {
		return nil // the agent has exited
	}
	return err
}

func mcpServeCommand(a *cli.App) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "mcp:serve",
		Short: "Serve the agent of a live session ac's own tools, over MCP",
		Long: `Serve the agent of a live session ac's own tools over the Model Context Protocol
(stdin and stdout): who_am_i, my_task, my_messages, ask_human, propose_memory,
report_milestone, list_jobs and launch_job. It ends with its input, or with the
session.

The agent starts this by itself in sessions that were launched with mcp. The grant is
a file that the supervisor of the session wrote; who the agent is comes from the
supervisor alone. Without a valid grant no tool is served.`,
		Example: "  ac mcp:serve --grant $XDG_RUNTIME_DIR/ac/0123456789abcdef.grant",
		Args:    cli.Args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.Require(cmd, "grant"); err != nil {
				return err
			}
			return serveGrant(cmd.Context(), a, file)
		},
	}
	cmd.Flags().StringVar(&file, "grant", "", "the file with the grant of the session (required)")
	return cmd
}

// serveGrant serves the tools of one session until the agent or the session has ended.
func serveGrant(ctx context.Context, a *cli.App, file string) error {
	client, err := grant.Open(ctx, file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		select {
		case <-client.Gone():
		case <-ctx.Done():
		}
	})
	err = a.Across(func(all *company.Host) error {
		return serveTools(ctx, a, (&mcp.Server{Host: all, Client: client, Version: a.Version}).Toolbox())
	})
	cancel()
	watching.Wait()
	return errors.Join(err, client.Close())
}
