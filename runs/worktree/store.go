package worktree

// Commits and refs of repositories that travel between machines.

import (
	"context"
	"os"
	"slices"
	"strings"
)

// Store is git in a repository for commands that write objects and refs: no hook and no
// filter that the repository's own configuration names is run. It is safe for concurrent
// use.
type Store struct{ g *git }

// NewStore is git in a repository, with or without a working tree. environ is what git
// inherits. No command uses a transport.
func NewStore(ctx context.Context, environ []string, dir string) (*Store, error) {
	g, err := looking(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	return &Store{g}, nil
}

// transports are the protocols by which repositories are fetched from other machines.
const transports = "file:git:http:https:ssh"

// NewRemoteStore is NewStore for commands that fetch from other machines, with the
// credentials that the user's own git has. git never prompts for one.
func NewRemoteStore(environ []string, dir string) (*Store, error) {
	g, err := newGit(environ, dir)
	if err != nil {
		return nil, err
	}
	g.env = append(g.env, "GIT_ALLOW_PROTOCOL="+transports)
	g.configure([][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}})
	return &Store{g}, nil
}

// Call is one command of git.
type Call struct {
	Args []string
	// Input is its stdin, unless From is an open file, which is read from where it stands.
	Input []byte
	From  *os.File
	// Into takes its stdout, nil to return it.
	Into *os.File
	// Limit bounds the output that is returned, in bytes; 0 for 64 KiB.
	Limit int
}

// Run runs one command, 10 minutes at most, and returns its stdout. What it wrote to the
// repository is durable.
func (s *Store) Run(ctx context.Context, call Call) ([]byte, error) {
	g := *s.g
	g.env = slices.Clip(g.env)
	g.stdin, g.from, g.into = call.Input, call.From, call.Into
	limit := call.Limit
	if limit == 0 {
		limit = maxText
	}
	return g.run(ctx, writeLimit, limit, call.Args...)
}

// Line is Run for a command that answers with one line.
func (s *Store) Line(ctx context.Context, args ...string) (string, error) {
	return s.g.line(ctx, args...)
}

// CheckedOut lists the refs that the working trees of the repository have checked out.
func (s *Store) CheckedOut(ctx context.Context) (refs []string, err error) {
	text, err := s.g.run(ctx, lookLimit, maxLanding, "worktree", "list", "--porcelain", "-z")
	for _, line := range fields(text) {
		if ref, ok := strings.CutPrefix(line, "branch "); ok {
			refs = append(refs, ref)
		}
	}
	return refs, err
}
