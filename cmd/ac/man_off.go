//go:build !man

package main

// Without the tag man the program has no commands that make parts of a release.

import "github.com/spf13/cobra"

// releaseCommands are the commands that make parts of a release.
func releaseCommands(*app) []*cobra.Command { return nil }
