package files

// Merging the changes of a person and an agent in one file.

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"

	"ac/runs/worktree"
)

// merge is a three-way merge: the base, the current text, and the proposed text.
type merge struct{ from, now, fresh []byte }

// mergeKey identifies a merge by its texts.
type mergeKey [3][sha256.Size]byte

func (m merge) key() mergeKey {
	return mergeKey{sha256.Sum256(m.from), sha256.Sum256(m.now), sha256.Sum256(m.fresh)}
}

// mergeResult is the outcome of a merge.
type mergeResult struct {
	text  []byte
	clean bool
}

// mergeAll performs the merges that decisions wait for. It starts programs, so it must not run
// inside a unit.
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

// make merges with git, in a temporary directory.
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
	case code > 0 && code < 128: // number of conflicts
		return mergeResult{}, nil
	}
	return result, err
}
