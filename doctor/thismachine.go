package doctor

// Checks of this machine that need no workspace: git, the terminal, and shell completion.

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/internal/terminal"
)

// The oldest git version whose merge-tree can land a run's work, and the time limit for the
// version check.
const (
	gitMajor = 2
	gitMinor = 38
	gitLimit = 4 * time.Second
)

// ThisMachine checks what ac needs outside a workspace. It writes nothing.
func ThisMachine(ctx context.Context, getenv func(string) string) []Check {
	return []Check{checkGit(ctx), checkTerminal(getenv), checkCompletion(getenv)}
}

func checkGit(ctx context.Context) Check {
	ctx, cancel := context.WithTimeout(ctx, gitLimit)
	defer cancel()
	const hint = "Install git 2.38 or newer: runs in repositories need it."
	out, err := exec.CommandContext(ctx, "git", "--version").Output()
	if err != nil {
		return Check{ID: "machine.git", Status: Warn, Message: "git does not run: " + err.Error(), Hint: hint}
	}
	version := strings.TrimPrefix(strings.TrimSpace(string(out)), "git version ")
	major, minor := 0, 0
	if n, err := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 || err != nil || major < gitMajor || major == gitMajor && minor < gitMinor {
		return Check{ID: "machine.git", Status: Warn, Message: fmt.Sprintf("git is %s, older than %d.%d", version, gitMajor, gitMinor), Hint: hint}
	}
	return Check{ID: "machine.git", Status: Pass, Message: "git " + version}
}

func checkTerminal(getenv func(string) string) Check {
	c := Check{ID: "machine.terminal", Status: Pass, Message: "colours and signs can be shown"}
	switch {
	case getenv("TERM") == "" || getenv("TERM") == "dumb":
		c.Message = "no terminal that understands escape codes"
	case !terminal.Unicode(getenv):
		c.Status, c.Message = Warn, "the locale is not UTF-8: lists show ASCII signs"
		c.Hint = "Set LANG to a locale with UTF-8, such as C.UTF-8."
	}
	return c
}

// completions returns the paths where a shell finds completion scripts, and the start-up
// files that may load them.
func completions(shell string) []string {
	switch shell {
	case "bash":
		return []string{
			"~/.local/share/bash-completion/completions/ac", "/usr/share/bash-completion/completions/ac", "/etc/bash_completion.d/ac",
			"~/.bashrc", "~/.bash_profile",
		}
	case "zsh":
		return []string{"/usr/share/zsh/site-functions/_ac", "/usr/local/share/zsh/site-functions/_ac", "/usr/share/zsh/vendor-completions/_ac", "~/.zshrc"}
	case "fish":
		return []string{"~/.config/fish/completions/ac.fish", "/usr/share/fish/vendor_completions.d/ac.fish"}
	}
	return nil
}

func checkCompletion(getenv func(string) string) Check {
	c := Check{ID: "machine.completion", Status: Pass, Message: "the shell is not one that ac completes for"}
	shell := filepath.Base(getenv("SHELL"))
	places := completions(shell)
	if places == nil {
		return c
	}
	c.Message = shell + " completes the commands of ac"
	if !slices.ContainsFunc(places, func(place string) bool { return loadsCompletion(strings.Replace(place, "~", getenv("HOME"), 1)) }) {
		c.Status, c.Message = Warn, shell+" does not complete the commands of ac"
		c.Hint = "See: ac completion --help"
	}
	return c
}

// loadsCompletion reports whether a file provides completion for ac: it is a completion
// script, or a start-up file that loads one.
func loadsCompletion(file string) bool {
	text, err := os.ReadFile(file)
	return err == nil && (!strings.HasPrefix(filepath.Base(file), ".") || strings.Contains(string(text), "ac completion"))
}
