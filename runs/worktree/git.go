package worktree

// Running the git program.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ac/internal/lazyregexp"
	"ac/internal/proc"
)

// Time limits of git commands. lookLimit is for reading a repository. writeLimit is for checking
// out or deleting files, which is slow in a large repository.
const (
	lookLimit  = time.Minute
	writeLimit = 10 * time.Minute
	// endAfter is the grace period between SIGTERM and SIGKILL.
	endAfter = 5 * time.Second
)

// Limits of git's output, in bytes.
const (
	maxText   = 64 << 10
	maxPatch  = 16 << 20
	maxStderr = 4 << 10
)

// git is a git program with its working directory and environment.
type git struct {
	program string
	dir     string
	env     []string
	stdin   []byte
	// from and into are open files that replace stdin and stdout, nil for none.
	from, into *os.File
	// shared is an open file that the program inherits, nil for none. said is a file that
	// receives stderr, while stdout is discarded. A command that must outlive this process needs
	// it, because a pipe breaks when its reader dies. nil for pipes.
	shared, stderrFile *os.File
}

// newGit finds git in the PATH of environ. git inherits environ without the variables that
// redirect it or make it prompt.
func newGit(environ []string, dir string) (*git, error) {
	g := &git{dir: dir}
	var search []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "PATH":
			// Git would resolve a relative entry in the repository.
			search = slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
			entry = "PATH=" + strings.Join(search, string(os.PathListSeparator))
		case strings.HasPrefix(name, "GIT_") || strings.HasPrefix(name, "SSH_ASKPASS") || name == "LC_ALL" || name == "LANGUAGE":
			continue
		}
		g.env = append(g.env, entry)
	}
	var err error
	if g.program, err = proc.LookPath("git", strings.Join(search, string(os.PathListSeparator)), dir); err != nil {
		g.program, err = exec.LookPath("git")
	}
	if err != nil {
		return nil, fmt.Errorf("git is needed: %w", err)
	}
	g.env = append(g.env, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "GIT_OPTIONAL_LOCKS=0")
	return g, nil
}

// newReadOnlyGit returns a git for read-only commands. It allows no transport and runs no filter that
// the repository's own configuration defines.
func newReadOnlyGit(ctx context.Context, environ []string, dir string) (*git, error) {
	g, err := newGit(environ, dir)
	if err != nil {
		return nil, err
	}
	g.env = append(g.env, "GIT_ALLOW_PROTOCOL=")
	drivers, err := g.ownFilters(ctx)
	if err != nil {
		return nil, err
	}
	var off [][2]string
	for _, driver := range drivers {
		for _, set := range [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}} {
			off = append(off, [2]string{"filter." + driver + "." + set[0], set[1]})
		}
	}
	g.configure(off)
	return g, nil
}

// configure sets configuration for all commands of g. Call it at most once.
func (g *git) configure(settings [][2]string) {
	for i, set := range settings {
		at := strconv.Itoa(i)
		g.env = append(g.env, "GIT_CONFIG_KEY_"+at+"="+set[0], "GIT_CONFIG_VALUE_"+at+"="+set[1])
	}
	g.env = append(g.env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)))
}

// ownFilters lists the filter drivers in the repository's own configuration. Those of the user
// and of the system are as trusted as git itself.
func (g *git) ownFilters(ctx context.Context) ([]string, error) {
	text, err := g.run(ctx, lookLimit, maxText, "config", "--null", "--show-scope", "--get-regexp", `^filter\.`)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok && failed.ExitCode() == 1 {
		return nil, nil // none
	}
	if err != nil {
		return nil, err
	}
	var drivers []string
	fields := strings.Split(string(text), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, _, _ := strings.Cut(fields[i+1], "\n")
		key = strings.TrimPrefix(key, "filter.")
		end := strings.LastIndexByte(key, '.')
		if end < 0 || fields[i] == "system" || fields[i] == "global" {
			continue
		}
		if driver := key[:end]; !slices.Contains(drivers, driver) {
			drivers = append(drivers, driver)
		}
	}
	return drivers, nil
}

// errTooLong reports output that exceeds its limit.
var errTooLong = errors.New("the output is too long")

// run executes one git command and returns its stdout. An error contains git's message. If the
// command exits with a nonzero status, run returns its output as well. run retries a command
// that encounters a worktree which another process is just creating.
func (g *git) run(ctx context.Context, limit time.Duration, maxOut int, args ...string) ([]byte, error) {
	for tries := 1; ; tries++ {
		out, err := g.once(ctx, limit, maxOut, args...)
		if g.from != nil || g.into != nil || !retryIncompleteWorktree(ctx, err, tries) {
			return out, err
		}
	}
}

// incompleteWorktree matches git's error for a worktree that another process is just creating. Git reads
// the files of all worktrees of a repository, and creates them in several steps.
var incompleteWorktree = lazyregexp.New(`failed to read \S*worktrees/\S+/commondir`)

// The number of attempts for such a command, and the delay between them.
const (
	maxIncompleteTries      = 40
	incompleteRetryInterval = 50 * time.Millisecond
)

// retryIncompleteWorktree reports whether to retry after such an error. It waits for the delay first.
func retryIncompleteWorktree(ctx context.Context, err error, tries int) bool {
	if err == nil || tries == maxIncompleteTries || !incompleteWorktree().MatchString(err.Error()) {
		return false
	}
	timer := time.NewTimer(incompleteRetryInterval)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once is run without retries.
func (g *git) once(ctx context.Context, limit time.Duration, maxOut int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("gave up after %s", limit))
	defer cancel()
	fixed := []string{
		"--no-pager", "-c", "protocol.ext.allow=never", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false",
		"-c", "core.ignoreStat=false", "-c", "color.ui=false", "-c", "submodule.recurse=false",
		"-c", "core.fsync=committed,loose-object", "-c", "core.fsyncMethod=batch", // results are durable
	}
	cmd := exec.CommandContext(ctx, g.program, slices.Concat(fixed, args)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	if g.stdin != nil {
		cmd.Stdin = bytes.NewReader(g.stdin)
	}
	if g.from != nil {
		cmd.Stdin = g.from
	}
	cmd.SysProcAttr = proc.NewSession() // no terminal for prompts, and a process group to kill
	cmd.Cancel = func() error {
		if err := proc.SignalGroup(cmd.Process.Pid, syscall.SIGTERM); err == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = endAfter
	out, said := &bounded{limit: maxOut, strict: true}, &bounded{limit: maxStderr}
	cmd.Stdout, cmd.Stderr = out, said
	if g.into != nil {
		cmd.Stdout = g.into
	}
	if g.stderrFile != nil {
		cmd.Stdout, cmd.Stderr = nil, g.stderrFile
	}
	if g.shared != nil {
		cmd.ExtraFiles = []*os.File{g.shared}
	}
	err := cmd.Run()
	if g.stderrFile != nil {
		g.readStderr(said)
	}
	switch {
	case out.over:
		return out.text.Bytes(), fmt.Errorf("git %s: %w", args[0], errTooLong)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	case err != nil:
		text := plainLines(strings.ToValidUTF8(said.text.String(), "\uFFFD"))
		if text == "" {
			return out.text.Bytes(), fmt.Errorf("git %s: %w", args[0], err)
		}
		return out.text.Bytes(), fmt.Errorf("git %s: %s (%w)", args[0], text, err)
	}
	return out.text.Bytes(), nil
}

// plainLines trims the lines of a text and drops blank ones. Git indents names with tabs.
func plainLines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// readStderr appends git's stderr from g.said to said.
func (g *git) readStderr(said *bounded) {
	text := make([]byte, maxStderr)
	n, _ := g.stderrFile.ReadAt(text, 0) // io.EOF is expected; without output there is no message
	said.text.Write(text[:n])
}

// line is run for commands that print a single line.
func (g *git) line(ctx context.Context, args ...string) (string, error) {
	text, err := g.run(ctx, lookLimit, maxText, args...)
	return strings.TrimSuffix(string(text), "\n"), err
}

// changed reports whether a working tree has uncommitted or untracked files, even if its
// configuration hides them.
func (g *git) changed(ctx context.Context) (bool, error) {
	text, err := g.run(ctx, lookLimit, maxText, "status", "--porcelain=v1", "--untracked-files=normal", "--ignore-submodules=none")
	if errors.Is(err, errTooLong) {
		return true, nil
	}
	return len(text) > 0, err
}

// bounded retains the first limit bytes of a stream. If strict, it fails the write that exceeds
// the limit.
type bounded struct {
	text   bytes.Buffer
	limit  int
	strict bool
	over   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.limit - b.text.Len()
	b.over = b.over || len(p) > room
	b.text.Write(p[:min(len(p), max(room, 0))])
	if b.over && b.strict {
		return 0, errTooLong
	}
	return len(p), nil
}
