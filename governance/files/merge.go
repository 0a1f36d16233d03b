package files

// Merging what a person and an agent changed in one file.

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"

	"ac/runs/worktree"
)

// merge is two changes of one text.
type merge struct{ from, now, fresh []byte }

// mergeKey tells merges apart.
type mergeKey [3][sha256.Size]byte

func (m merge) key() mergeKey {
	return mergeKey{sha256.Sum256(m.from), sha256.Sum256(m.now), sha256.Sum256(m.fresh)}
}

// mergeResult is how a merge came out.
type mergeResult struct {
	text  []byte
	clean bool
}

// mergeAll makes the merges that decisions wait for. Programs are started, so that it is
// no part of a unit.
func mergeAll(ctx context.Context, environ []string, decisions []decision, made map[mergeKey]mergeResult) error {
	for _, d := range decisions {
		if d.due == nil {
			continue
		}
		result, err := d.due.make(ctx, environ)
		if err != nil {
			return err
		}
		made[d.due.key()] = result
	}
	return nil
}

// make merges three ways by git, in a directory of its own.
func (m merge) make(ctx context.Context, environ []string) (result mergeResult, err error) {
	dir, err := os.MkdirTemp("", "ac-merge-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for name, text := range map[string][]byte{"from": m.from, "now": m.now, "fresh": m.fresh} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return result, err
		}
	}
	git, err := worktree.NewReader(ctx, environ, dir)
	if err != nil {
		return result, err
	}
	text, err := git.Output(ctx, 8*MaxFile, nil, "merge-file", "--stdout", "--quiet", "now", "from", "fresh")
	switch code := worktree.ExitCode(err); {
	case err == nil:
		return mergeResult{append([]byte{}, text...), true}, nil
	case code > 0 && code < 128: // the number of conflicts
		return mergeResult{}, nil
	}
	return result, err
}
