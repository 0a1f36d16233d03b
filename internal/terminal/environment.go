package terminal

// The environment's settings for colours, width, characters and the pager.

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// defaultWidth is the width if COLUMNS does not set one.
const defaultWidth = 80

// Width returns the width that COLUMNS sets, else 80.
func Width(getenv func(string) string) int {
	if wide, err := strconv.Atoi(getenv("COLUMNS")); err == nil && wide > 0 {
		return wide
	}
	return defaultWidth
}

// UseColour reports whether a stream gets colours. asked is auto, always or never. For auto
// these decide, in this order: NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, TERM, CLICOLOR, and
// whether the stream is a terminal.
func UseColour(asked string, isTerminal bool, getenv func(string) string) bool {
	forced := func(name string) bool { return getenv(name) != "" && getenv(name) != "0" }
	switch {
	case asked != "auto":
		return asked == "always"
	case getenv("NO_COLOR") != "":
		return false
	case forced("CLICOLOR_FORCE") || forced("FORCE_COLOR"):
		return true
	case getenv("TERM") == "dumb" || getenv("CLICOLOR") == "0":
		return false
	}
	return isTerminal
}

// Unicode reports whether the locale has UTF-8.
func Unicode(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToUpper(getenv(name)); locale != "" {
			return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8")
		}
	}
	return false
}

// Pager returns the command line of the pager, nil for none.
func Pager(lookup func(string) (string, bool)) []string {
	if term, _ := lookup("TERM"); term == "dumb" {
		return nil
	}
	for _, name := range []string{"AC_PAGER", "PAGER"} {
		if line, ok := lookup(name); ok {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] == "cat" {
				return nil
			}
			return words
		}
	}
	if path, err := exec.LookPath("less"); err == nil {
		return []string{path}
	}
	return nil
}

// Page shows a text in a pager and waits until the pager ends. It ignores the pager's exit
// status. It fails if the pager cannot be started.
func Page(ctx context.Context, pager []string, text string, stdout, stderr io.Writer) error {
	cmd := exec.CommandContext(ctx, pager[0], pager[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), stdout, stderr
	cmd.Env = os.Environ()
	for name, value := range map[string]string{"LESS": "FRX", "LV": "-c"} {
		if _, set := os.LookupEnv(name); !set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		return nil
	}
	return err
}
