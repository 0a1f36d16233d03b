package worktree

// Commits and refs that travel between machines.

import (
	"context"
	"os"
	"slices"
	"strings"
)

// Store runs git commands that write objects and refs. It runs no hook and no filter that the
// repository's own configuration defines. It is safe for concurrent use.
type Store struct{ g *git }

// NewStore returns a Store for a repository, with or without a working tree. environ is the
// environment of git. The Store uses no transport.
func NewStore(ctx context.Context, environ []string, dir string) (*Store, error) {
	g, err := newReadOnlyGit(ctx, environ, dir)
	if err != nil {
		return nil, err
	}
	return &Store{g}, nil
}

// transports are the protocols for fetching from other machines.
const transports = "file:git:http:https:ssh"

// NewRemoteStore is NewStore for commands that fetch from other machines, with the credentials
// of the user's own git. Git never prompts for credentials.
func NewRemoteStore(environ []string, dir string) (*Store, error) {
	g, err := newGit(environ, dir)
	if err != nil {
		return nil, err
	}
	g.env = append(g.env, "GIT_ALLOW_PROTOCOL="+transports)
	g.configure([][2]string{{"gc.auto", "0"}, {"maintenance.auto", "false"}})
	return &Store{g}, nil
}

// Call holds the parameters of one git command.
type Call struct {
	Args []string
	// Input is its stdin. If From is not nil, its stdin is that file instead, from the current
	// offset.
	Input []byte
	From  *os.File
	// Into receives its stdout. If nil, Run returns stdout.
	Into *os.File
	// Limit bounds the returned output, in bytes; 0 means 64 KiB.
	Limit int
}

// Run executes one command, for at most 10 minutes, and returns its stdout. Everything that the
// command wrote to the repository is durable on return.
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

// Line is Run for a command that prints a single line. Its limit is one minute.
func (s *Store) Line(ctx context.Context, args ...string) (string, error) {
	return s.g.line(ctx, args...)
}

// CheckedOut lists the refs that are checked out in the repository's working trees.
func (s *Store) CheckedOut(ctx context.Context) (refs []string, err error) {
	text, err := s.g.run(ctx, lookLimit, maxLanding, "worktree", "list", "--porcelain", "-z")
	for _, line := range fields(text) {
		if ref, ok := strings.CutPrefix(line, "branch "); ok {
			refs = append(refs, ref)
		}
	}
	return refs, err
}
