package provider

// Finding a provider's program, and whether its name is approved.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program is a program that was found. Nothing of it was executed.
type Program struct {
	Configured string // as it stands in the overlay
	Path       string // where it was found
	Resolved   string // the file that Path leads to
}

// ErrNotApproved says that a program does not have an approved name.
var ErrNotApproved = errors.New("the program's name is not approved")

// ErrNotFound says that there is no such executable file.
var ErrNotFound = errors.New("program not found")

// Find looks a program up: a value with a slash is a path, anything else is
// searched in path, which is a PATH.
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

// Approve checks a program's name against patterns: the name as configured or
// found, or that of the file it leads to, must be a pattern or begin with one
// and a hyphen. Shells and launchers are refused whatever leads to them. No
// patterns approve anything else.
func (p Program) Approve(patterns []string) error {
	if isLauncher(filepath.Base(p.Resolved)) || isLauncher(filepath.Base(p.Configured)) {
		return fmt.Errorf("%s leads to a shell or launcher: %w", p.Configured, ErrNotApproved)
	}
	if len(patterns) == 0 {
		return nil
	}
	for _, file := range []string{p.Configured, p.Path, p.Resolved} {
		if file != "" && fits(filepath.Base(file), patterns) {
			return nil
		}
	}
	return fmt.Errorf("%s is not named %s: %w", p.Configured, strings.Join(patterns, " or "), ErrNotApproved)
}

func fits(base string, patterns []string) bool {
	base = strings.ToLower(base)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		pattern = strings.ToLower(pattern)
		return base == pattern || strings.HasPrefix(base, pattern+"-")
	})
}

// isLauncher tells programs that start whatever they are told to.
func isLauncher(base string) bool {
	return isShell(base) || slices.Contains([]string{"env", "busybox"}, strings.ToLower(base))
}

func isShell(base string) bool {
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "ash", "cmd", "powershell", "pwsh"}, base)
}
