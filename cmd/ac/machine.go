package main

// machine:set-repo and machine:set-provider-bin.

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"ac/company"
)

func setRepoCommand(a *app) *cobra.Command {
	var repo, dir string
	cmd := &cobra.Command{
		Use: "machine:set-repo <dir>", Short: "Say where a repository lies on this machine", Args: args("dir"),
		Long:    "Say where a repository lies on this machine. The path is made absolute; it need not exist yet.",
		Example: "  ac machine:set-repo ./acme --repo checkout --path ~/src/checkout",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "repo", "path"); err != nil {
				return err
			}
			abs, err := filepath.Abs(dir)
			if err != nil {
				return err
			}
			return a.confirmed(given[0], func(c *company.Company) error { return c.MapRepo(cmd.Context(), repo, abs) })
		},
	}
	cmd.Flags().StringVar(&repo, "repo", "", "id of the repository (required)")
	cmd.Flags().StringVar(&dir, "path", "", "where it lies (required)")
	return cmd
}

func setProviderBinCommand(a *app) *cobra.Command {
	var provider, program string
	cmd := &cobra.Command{
		Use: "machine:set-provider-bin <dir>", Short: "Say which program a provider is on this machine", Args: args("dir"),
		Long:    "Say which program a provider is on this machine: a command to be found in PATH, or a path, which is made absolute.",
		Example: "  ac machine:set-provider-bin ./acme --provider codex --path /opt/codex/bin/codex",
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := require(cmd, "provider", "path"); err != nil {
				return err
			}
			if strings.ContainsRune(filepath.ToSlash(program), '/') {
				abs, err := filepath.Abs(program)
				if err != nil {
					return err
				}
				program = abs
			}
			return a.confirmed(given[0], func(c *company.Company) error { return c.SetProviderBin(cmd.Context(), provider, program) })
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "codex, claude, gemini, ... (required)")
	cmd.Flags().StringVar(&program, "path", "", "a command or a path (required)")
	return cmd
}

// confirmed runs an operation that has nothing to show.
func (a *app) confirmed(dir string, fn func(*company.Company) error) error {
	err := a.in(dir, fn)
	if err == nil {
		fmt.Fprintln(a.stdout, "OK")
	}
	return err
}
