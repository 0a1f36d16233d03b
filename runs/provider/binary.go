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

// Program is a program that was found. It has not been executed.
type Program struct {
	Configured string // as configured in machine.yaml
	Path       string // where it was found
	Resolved   string // the file that Path resolves to
}

// ErrNotApproved is returned for a program without an approved name.
var ErrNotApproved = errors.New("the name of the program is not allowed")

// ErrNotFound is returned if there is no such executable file.
var ErrNotFound = errors.New("program not found")

// Find looks a program up: a value with a slash is a path, any other is
// searched for in path, which is a PATH.
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

// Approve checks a program's name against patterns: its configured or found
// name, or that of the file it resolves to, must equal a pattern or begin with
// one and a hyphen. Shells and launchers are always refused. Without patterns
// all other programs are approved.
func (p Program) Approve(patterns []string) error {
	if isLauncher(filepath.Base(p.Resolved)) || isLauncher(filepath.Base(p.Configured)) {
		return fmt.Errorf("%s resolves to a shell or launcher: %w", p.Configured, ErrNotApproved)
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

// isLauncher reports programs that execute any command given to them.
func isLauncher(base string) bool {
	return isShell(base) || slices.Contains([]string{"env", "busybox"}, strings.ToLower(base))
}

func isShell(base string) bool {
	base = strings.TrimSuffix(strings.ToLower(base), ".exe")
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "ash", "cmd", "powershell", "pwsh"}, base)
}
