package equipment

// Which shells a console may run, where, and with which environment.

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/company"
	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/proc"
	"ac/runs/worktree"
)

// Shell is a shell that a console may run.
type Shell struct {
	ID        string `json:"id"`
	Label     string `json:"label"`
	Path      string `json:"path"`
	Available bool   `json:"available"`
}

// ShellList is the result of terminal.shells.
type ShellList struct {
	Shells  []Shell `json:"shells"`
	Default string  `json:"default"`
}

func namedShells() []string { return []string{"bash", "zsh", "fish", "sh"} }

// Shells lists the shells for consoles. The default is $SHELL if /etc/shells lists it, otherwise
// the first one installed. machine.yaml can override it.
func (c Operations) Shells(context.Context, company.Dir) (ShellList, error) {
	search := variable(c.Host().Launcher().Environ, "PATH")
	var list ShellList
	first := Shell{ID: "default", Label: "Default"}
	for _, name := range namedShells() {
		found, err := proc.LookPath(name, search, "/")
		list.Shells = append(list.Shells, Shell{name, name, found, err == nil})
		if err == nil && !first.Available {
			first.Path, first.Available, list.Default = found, true, name
		}
	}
	if own := variable(c.Host().Launcher().Environ, "SHELL"); loginShell(own) {
		first.Path, first.Available, list.Default = own, true, "default"
	}
	machine, err := c.Workspace().Machine()
	if i := slices.IndexFunc(list.Shells, func(s Shell) bool { return s.ID == machine.ConsoleShell && s.Available }); i >= 0 {
		first.Path, list.Default = list.Shells[i].Path, machine.ConsoleShell
	}
	list.Shells = append([]Shell{first}, list.Shells...)
	if fault.Is(err, fault.NotFound) {
		err = nil
	}
	return list, err
}

// loginShell reports whether a path is an executable file that /etc/shells lists.
func loginShell(name string) bool {
	st, err := os.Stat(name)
	if err != nil || !filepath.IsAbs(name) || !st.Mode().IsRegular() || st.Mode().Perm()&0o111 == 0 {
		return false
	}
	file, err := os.Open("/etc/shells")
	if err != nil {
		return false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.TrimSpace(lines.Text()) == name {
			return true
		}
	}
	return false
}

// consoleShell returns the program of a shell. The id "" selects the default shell.
func (c Operations) consoleShell(id string) (string, error) {
	list, err := c.Shells(context.Background(), company.Dir{})
	if err != nil {
		return "", err
	}
	if id == "" {
		id = "default"
	}
	for _, s := range list.Shells {
		switch {
		case s.ID != id:
		case !s.Available:
			return "", fault.New(fault.ShellUnavailable, "shell %s is not installed", id)
		default:
			return s.Path, nil
		}
	}
	return "", fault.New(fault.ShellNotAllowed, "shell must be default, %s", strings.Join(namedShells(), ", "))
}

func variable(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// consoleDir returns the directory in which a console starts, with symbolic links resolved. It
// must be inside the workspace, which includes worktrees, or inside a linked repository on this
// machine.
func (c Operations) consoleDir(given string) (string, error) {
	roots, err := c.consoleRoots()
	if err != nil {
		return "", err
	}
	if given == "" {
		if len(roots) == 2 { // the workspace and the only repository
			return roots[1], nil
		}
		return roots[0], nil
	}
	if !filepath.IsAbs(given) {
		given = filepath.Join(c.Path(), given)
	}
	dir, err := filepath.EvalSymlinks(given)
	if err != nil {
		return "", fault.New(fault.NotADirectory, "cwd is no directory")
	}
	inside := slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, dir)
		return err == nil && filepath.IsLocal(rel)
	})
	if !inside {
		return "", fault.New(fault.PathOutsideRoot, "cwd is outside the workspace and its repositories")
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", fault.New(fault.NotADirectory, "cwd is no directory")
	}
	return dir, nil
}

// consoleRoots returns the workspace and the roots of linked repositories, with symbolic links
// resolved.
func (c Operations) consoleRoots() ([]string, error) {
	machine, err := c.Workspace().Machine()
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	home, err := filepath.EvalSymlinks(c.Path())
	if err != nil {
		return nil, fault.New(fault.IO, "%w", err)
	}
	roots := []string{home}
	projects, err := c.Workspace().Projects()
	if err != nil {
		return nil, err
	}
	for _, project := range projects {
		links, err := c.Workspace().RepoLinks(project.ID)
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			root, err := worktree.Root(machine, link.RepoID)
			if err != nil {
				continue // not on this machine
			}
			if root, err = filepath.EvalSymlinks(root); err == nil && !slices.Contains(roots, root) {
				roots = append(roots, root)
			}
		}
	}
	return roots, nil
}

var consoleName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Limits of environment variables that a caller adds: their number, and their total size in
// bytes.
const (
	maxConsoleNames = 64
	maxConsoleEnv   = 32 << 10
)

func checkConsoleEnv(env map[string]string) (issues []fault.Issue) {
	size := 0
	refuse := func(message string, path ...any) {
		issues = append(issues, fault.Issue{Path: path, Code: "custom", Message: message})
	}
	for name, value := range env {
		size += len(name) + len(value)
		if !consoleName().MatchString(name) || strings.ContainsRune(value, 0) {
			refuse("must be a name of letters, digits and _ and a value without NUL", "env", name)
		}
	}
	if len(env) > maxConsoleNames || size > maxConsoleEnv {
		refuse("must be at most 64 variables of 32 KiB in all", "env")
	}
	return issues
}

// consoleEnviron returns the environment of a shell. It is the environment of the process without
// ac's own variables, plus what a terminal needs and what the caller added.
func consoleEnviron(environ []string, added map[string]string, cwd string) []string {
	set := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor", "PWD": cwd}
	for name, value := range added {
		set[name] = value
	}
	kept := []string{}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, over := set[name]; !over && !strings.HasPrefix(name, "AC_") {
			kept = append(kept, entry)
		}
	}
	for name, value := range set {
		kept = append(kept, name+"="+value)
	}
	return kept
}
