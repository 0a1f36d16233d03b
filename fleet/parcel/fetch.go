package parcel

// Fetching from bundles. Bundles are untrusted until git has checked them.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ac/runs/worktree"
)

// Limits of the head of a bundle.
const (
	maxBundleHead  = 256 << 10
	maxBundleLines = 4096
)

// bundle is the head of a bundle, and the offset of its pack.
type bundle struct {
	prerequisites []string
	heads         []Head
	pack          int64
}

// readBundle parses the head of a bundle.
func readBundle(file io.Reader) (b bundle, err error) {
	r := bufio.NewReader(io.LimitReader(file, maxBundleHead))
	refused := func(what string, line string) error {
		return fmt.Errorf("%w: %s of the bundle: %.200q", ErrRefused, what, line)
	}
	for n := range maxBundleLines {
		line, err := r.ReadString('\n')
		if err != nil {
			return b, refused("the head", line)
		}
		b.pack += int64(len(line))
		line = strings.TrimSuffix(line, "\n")
		switch id, ref, isHead := strings.Cut(line, " "); {
		case n == 0:
			if line != "# v2 git bundle" && line != "# v3 git bundle" {
				return b, refused("the first line", line)
			}
		case line == "":
			return b, nil
		case strings.HasPrefix(line, "@"):
			if line != "@object-format=sha1" && line != "@object-format=sha256" {
				return b, refused("a capability", line)
			}
		case strings.HasPrefix(line, "-") && isObjectID(strings.TrimPrefix(id, "-")):
			b.prerequisites = append(b.prerequisites, id[1:])
		case isHead && isObjectID(id):
			b.heads = append(b.heads, Head{Ref: ref, Commit: id})
		default:
			return b, refused("a line", line)
		}
	}
	return b, refused("the head", "too long")
}

// Want is a ref to take from a bundle.
type Want struct {
	Ref string // its name in the bundle
	// To lists refs of the repository in order of preference. The commit is stored in the first
	// one that does not exist or is already there. A ref at an ancestor also qualifies, unless a
	// working tree has it checked out.
	To []string
	// Force overwrites the first ref of To, whatever it points to.
	Force bool
}

// ImportedRef is a ref that ImportBundle set.
type ImportedRef struct {
	Want   string // its name in the bundle
	Ref    string
	Commit string
}

// ImportBundle imports commits and refs from a bundle into a repository. For a bundle with an
// unwanted ref, or with an object that git rejects, it returns ErrRefused and sets no ref. If it
// returns nil, commits and refs are durable.
func ImportBundle(ctx context.Context, environ []string, repo string, file *os.File, want []Want) ([]ImportedRef, error) {
	b, err := readBundle(file)
	if err != nil {
		return nil, err
	}
	for i, head := range b.heads {
		named := func(w Want) bool { return w.Ref == head.Ref }
		again := func(h Head) bool { return h.Ref == head.Ref }
		if !slices.ContainsFunc(want, named) || slices.ContainsFunc(b.heads[:i], again) {
			return nil, fmt.Errorf("%w: the bundle has a ref %.200q", ErrRefused, head.Ref)
		}
	}
	if len(b.heads) == 0 {
		return nil, fmt.Errorf("%w: the bundle has no ref", ErrRefused)
	}
	store, err := worktree.NewStore(ctx, environ, repo)
	if err != nil {
		return nil, err
	}
	if err := unpackObjects(ctx, store, file, b, true); err != nil {
		return nil, err
	}
	var taken []ImportedRef
	for _, head := range b.heads {
		at := slices.IndexFunc(want, func(w Want) bool { return w.Ref == head.Ref })
		ref, err := setRef(ctx, store, want[at], head.Commit)
		if err != nil {
			return taken, err
		}
		taken = append(taken, ImportedRef{head.Ref, ref, head.Commit})
	}
	return taken, nil
}

// unpackObjects imports the pack of a bundle into a repository and checks that nothing is
// missing. If strict, git also checks every object.
func unpackObjects(ctx context.Context, store *worktree.Store, file *os.File, b bundle, strict bool) error {
	needed := slices.Compact(slices.Sorted(slices.Values(b.prerequisites)))
	known, err := commits(ctx, store, needed)
	if err != nil {
		return err
	}
	if len(known) != len(needed) {
		return fmt.Errorf("%w: the bundle needs commits that are not here", ErrRefused)
	}
	if _, err := file.Seek(b.pack, io.SeekStart); err != nil {
		return err
	}
	args := []string{"index-pack", "--stdin", "--fix-thin"}
	if strict {
		args = append(args, "--strict")
	}
	if _, err := store.Run(ctx, worktree.Call{Args: args, From: file}); err != nil {
		return refusal(ctx, err)
	}
	var heads []string
	for _, head := range b.heads {
		heads = append(heads, head.Commit)
	}
	there, err := commits(ctx, store, heads)
	if err != nil {
		return err
	}
	if len(there) != len(slices.Compact(slices.Sorted(slices.Values(heads)))) {
		return fmt.Errorf("%w: a ref of the bundle is at no commit", ErrRefused)
	}
	_, err = store.Run(ctx, worktree.Call{
		Args: []string{"rev-list", "--objects", "--quiet", "--stdin", "--not", "--all"}, Input: []byte(strings.Join(heads, "\n") + "\n"),
	})
	return refusal(ctx, err)
}

// refusal wraps the error of a git process that rejected a bundle. Interruptions stay unwrapped.
func refusal(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || worktree.ExitCode(err) < 0 {
		return err
	}
	return errors.Join(ErrRefused, err)
}

// setRef sets the ref that the caller wants for a commit, and returns its name.
func setRef(ctx context.Context, store *worktree.Store, want Want, commit string) (string, error) {
	busy, err := store.CheckedOut(ctx)
	if err != nil {
		return "", err
	}
	for _, ref := range want.To {
		now, err := store.Line(ctx, "for-each-ref", "--format=%(objectname)", "--", ref)
		if err != nil {
			return "", err
		}
		if now == commit {
			return ref, nil
		}
		if now != "" && !want.Force {
			ahead := slices.Contains(busy, ref)
			if !ahead {
				_, err := store.Line(ctx, "merge-base", "--is-ancestor", now, commit)
				if err != nil && worktree.ExitCode(err) != 1 {
					return "", err
				}
				ahead = err != nil
			}
			if ahead {
				continue
			}
		}
		if now == "" {
			now = strings.Repeat("0", len(commit)) // the ref must not exist
		}
		_, err = store.Line(ctx, "update-ref", "-m", "ac: results of a worker", "--end-of-options", ref, commit, now)
		return ref, err
	}
	return "", fmt.Errorf("the refs %s are at other commits than %s", strings.Join(want.To, ", "), commit)
}
