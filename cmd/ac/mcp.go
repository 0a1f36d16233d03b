package main

// mcp:files: file tools for agents without such tools of their own.

import (
	"context"
	"errors"
	"syscall"

	"github.com/spf13/cobra"

	"ac/rpc"
	"ac/runs/filetools"
)

func mcpFilesCommand(a *app) *cobra.Command {
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
		Args: args(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(dirs) == 0 {
				return usageError{"--dir is missing: the directory that may be read"}
			}
			files, err := filetools.New(dirs...)
			if err != nil {
				return err
			}
			return a.serveTools(cmd.Context(), fileTools(files))
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

// serveTools serves one agent until its input ends. A signal ends it at once,
// since it has no state.
func (a *app) serveTools(ctx context.Context, tools []rpc.Tool) error {
	surviveReaders()
	err := rpc.Toolbox{Version: buildVersion(), Tools: tools}.Serve(ctx, a.stdin, a.rawStdout())
	if errors.Is(err, syscall.EPIPE) {
		return nil // the agent has ended
	}
	return err
}
