//go:build man

package main

// help:man and help:sbom: the parts of a release besides the program. Only a build with the tag man
// includes them, so that the program itself does not carry their dependencies.

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"ac/cmd/ac/cli"
)

// releaseCommands returns the commands that make parts of a release.
func releaseCommands(a *cli.App) []*cobra.Command {
	return []*cobra.Command{manCommand(), bomCommand(a)}
}

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help:man <dir>", Short: "Write the man pages of all commands", Args: cli.Args("dir"), Hidden: true,
		Long: `Write a man page for each command into a folder, which is made if it is missing. They bear
the time of SOURCE_DATE_EPOCH, in seconds since 1970, else that of now.`,
		Example: "  ac help:man man/man1",
		RunE: func(cmd *cobra.Command, given []string) error {
			date := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				seconds, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return cli.UsageError{Message: "SOURCE_DATE_EPOCH must be a number of seconds"}
				}
				date = time.Unix(seconds, 0)
			}
			return writeManPages(cmd.Root(), given[0], date.UTC())
		},
	}
}

func bomCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "help:sbom <program>", Short: "Print the bill of materials of another build of this version", Args: cli.Args("program"), Hidden: true,
		Long:    "Print what ac version --sbom of a program would print, also if this machine cannot run it.",
		Example: "  ac help:sbom dist/ac-linux-arm64",
		RunE: func(_ *cobra.Command, given []string) error {
			build, err := buildinfo.ReadFile(given[0])
			if err != nil {
				return err
			}
			return a.PrintJSON(billOf(factsOf(build)))
		},
	}
}

// writeManPages writes the pages of the program and of its commands.
func writeManPages(root *cobra.Command, dir string, date time.Time) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	root.Long = indented(allCommands(root))
	var failed error
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		if cmd != root && !cmd.IsAvailableCommand() && cmd.Name() != "help" {
			continue
		}
		failed = errors.Join(failed, writeManPage(cmd, dir, date))
		for _, part := range cmd.Commands() {
			if cmd != root && part.IsAvailableCommand() {
				failed = errors.Join(failed, writeManPage(part, dir, date))
			}
		}
	}
	return failed
}

// indented formats a list of commands so that its lines stay separate in Markdown.
func indented(list string) string {
	var b strings.Builder
	for line := range strings.Lines(list) {
		if strings.HasPrefix(line, "  ") {
			line = "    " + line
		} else if strings.TrimSpace(line) != "" {
			line += "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}

func writeManPage(cmd *cobra.Command, dir string, date time.Time) error {
	plain := cmd.Use
	escapeMarkdown(cmd)
	var page bytes.Buffer
	header := doc.GenManHeader{Section: "1", Date: &date, Source: "ac " + buildVersion(), Manual: "ac"}
	if err := doc.GenMan(cmd, &header, &page); err != nil {
		return fmt.Errorf("%s: %w", plain, err)
	}
	name := strings.NewReplacer(" ", "-", ":", "-").Replace(cmd.CommandPath()) + ".1"
	return os.WriteFile(filepath.Join(dir, name), withoutColons(page.Bytes()), 0o644)
}

// colon matches command names with a colon in pages. Windows does not allow colons in file names.
var colon = regexp.MustCompile(`(?i)(ac-[a-z]+):([a-z])`)

// withoutColons replaces these colons with dashes, as in the file names of the pages.
func withoutColons(page []byte) []byte { return colon.ReplaceAll(page, []byte("$1-$2")) }

// escapeMarkdown escapes the texts of a command, because the page writer reads them as Markdown.
// Indented lines stay unchanged.
func escapeMarkdown(cmd *cobra.Command) {
	escape := strings.NewReplacer(`\`, `\\`, "<", `\<`, ">", `\>`, "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`, "]", `\]`, "#", `\#`)
	if cmd.Long == "" {
		cmd.Long = cmd.Short
	}
	var long strings.Builder
	for line := range strings.Lines(cmd.Long) {
		if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") {
			line = escape.Replace(line)
		}
		long.WriteString(line)
	}
	cmd.Use, cmd.Short, cmd.Long = escape.Replace(cmd.Use), escape.Replace(cmd.Short), long.String()
	cmd.Flags().VisitAll(func(f *pflag.Flag) { f.Usage = escape.Replace(f.Usage) })
}
