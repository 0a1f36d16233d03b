package parcel

// Writing bundles: commits of a repository without those that the receiver has. The file is
// not written by git bundle, which needs a ref for each commit: that would change a person's
// repository.

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"ac/runs/worktree"
)

// Head is a commit and the ref that it stands under in a bundle.
type Head struct{ Ref, Commit string }

// maxObjectIDs bounds what git answers about a list of commits.
const maxObjectIDs = 1 << 20

// isObjectID reports whether a text is the id of an object, in full.
func isObjectID(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && (len(raw) == 20 || len(raw) == 32) && text == strings.ToLower(text)
}

// WriteBundle writes commits of a repository to an open file, without what can be reached
// from the commits of without. Of those it ignores the ones that the repository does not
// have. environ is what git inherits.
func WriteBundle(ctx context.Context, environ []string, repo string, heads []Head, without []string, to *os.File) error {
	store, err := worktree.NewStore(ctx, environ, repo)
	if err != nil {
		return err
	}
	known, err := commits(ctx, store, without)
	if err != nil {
		return err
	}
	var head, revs bytes.Buffer
	format, err := store.Line(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	if head.WriteString("# v2 git bundle\n"); format != "sha1" {
		head.Reset()
		fmt.Fprintf(&head, "# v3 git bundle\n@object-format=%s\n", format)
	}
	for _, commit := range known {
		fmt.Fprintf(&head, "-%s\n", commit)
		fmt.Fprintf(&revs, "^%s\n", commit)
	}
	for _, h := range heads {
		if !isObjectID(h.Commit) {
			return fmt.Errorf("%.100q is no commit", h.Commit)
		}
		fmt.Fprintf(&head, "%s %s\n", h.Commit, h.Ref)
		fmt.Fprintf(&revs, "%s\n", h.Commit)
	}
	head.WriteByte('\n')
	if _, err := to.Write(head.Bytes()); err != nil {
		return err
	}
	_, err = store.Run(ctx, worktree.Call{
		Args: []string{"pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q"}, Input: revs.Bytes(), Into: to,
	})
	return err
}

// commits are those of a list that a repository has, each once and in order.
func commits(ctx context.Context, store *worktree.Store, list []string) (known []string, err error) {
	list = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(list))), func(id string) bool { return !isObjectID(id) })
	if len(list) == 0 {
		return nil, nil
	}
	text, err := store.Run(ctx, worktree.Call{
		Args: []string{"cat-file", "--batch-check=%(objectname) %(objecttype)"}, Input: []byte(strings.Join(list, "\n") + "\n"), Limit: maxObjectIDs,
	})
	for line := range strings.Lines(string(text)) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "commit" {
			known = append(known, id)
		}
	}
	return known, err
}

// HasCommit reports whether a repository has a commit with all objects that it refers to.
func HasCommit(ctx context.Context, environ []string, repo, commit string) (bool, error) {
	store, err := worktree.NewStore(ctx, environ, repo)
	if err != nil {
		return false, err
	}
	known, err := commits(ctx, store, []string{commit})
	return len(known) == 1, err
}
