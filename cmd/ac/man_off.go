//go:build !man

package main

// Without the tag man the program has no commands that make parts of a release.

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// releaseCommands are the commands that make parts of a release.
func releaseCommands(*cli.App) []*cobra.Command { return nil }
