//go:build !man

package main

// Without the build tag man, the program has no commands that make parts of a release.

import (
	"github.com/spf13/cobra"

	"ac/cmd/ac/cli"
)

// releaseCommands returns nil.
func releaseCommands(*cli.App) []*cobra.Command { return nil }
