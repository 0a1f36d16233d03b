package provider

// Finding a provider's program, and checking that its name is approved.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program is the result of a lookup. Nothing has executed it.
type Program struct {
	Configured string // as configured in machine.yaml
	Path       string // the path at which Find found it
	Resolved   string // the file that Path resolves to
}

// ErrNotApproved reports a program whose name is not approved.
var ErrNotApproved = errors.New("the name of the program is not allowed")

// ErrNotFound reports that no such executable file exists.
var ErrNotFound = errors.New("program not found")

// Find looks up a program. A configured value with a slash is a path. Find searches for any
// other value in the directories of path, which has the format of PATH.
func Find(configured, path string) (Program, error) {
	p := Program{Configured: configured}
	candidates := []string{configured}
	if !strings.ContainsRune(configured, '/') {
		candidates = nil
		for _, dir := range filepath.SplitList(path) {
			if dir != "" {
				candidates = append(candidates, filepath.Join(dir, configured))
			}
		}
	}
	for _, file := range candidates {
		st, err := os.Stat(file)
		if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
			continue
		}
		if p.Resolved, err = filepath.EvalSymlinks(file); err == nil {
			p.Path = file
			return p, nil
		}
	}
	return p, fmt.Errorf("%s: %w", configured, ErrNotFound)
}

// Approve checks a program's name against patterns. The configured name, the name found, or the
// name of the resolved file must equal a pattern, or begin with one followed by a hyphen. Shells
// and launchers are always refused. Without patterns, all other programs are approved.
func (p Program) Approve(patterns []string) error {
	if isLauncher(filepath.Base(p.Resolved)) || isLauncher(filepath.Base(p.Configured)) {
		return fmt.Errorf("%s resolves to a shell or launcher: %w", p.Configured, ErrNotApproved)
	}
	if len(patterns) == 0 {
		return nil
	}
	for _, file := range []string{p.Configured, p.Path, p.Resolved} {
		if file != "" && hasApprovedName(filepath.Base(file), patterns) {
			return nil
		}
	}
	return fmt.Errorf("%s is not named %s: %w", p.Configured, strings.Join(patterns, " or "), ErrNotApproved)
}

func hasApprovedName(base string, patterns []string) bool {
	base = strings.ToLower(base)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return base == pattern || strings.HasPrefix(base, pattern+"-")
	})
}

// isLauncher reports whether a program executes any command passed to it.
func isLauncher(base string) bool {
	return isShell(base) || slices.Contains([]string{"env", "busybox"}, strings.ToLower(base))
}

func isShell(base string) bool {
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "ash", "cmd", "powershell", "pwsh"}, base)
}
