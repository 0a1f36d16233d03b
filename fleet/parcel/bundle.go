package parcel

// Writing bundles. A bundle contains commits of a repository without those that the receiver has.
// git bundle is no option: it needs a ref for each commit, which would change the user's
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

// Head is a commit and its ref in a bundle.
type Head struct{ Ref, Commit string }

// maxObjectIDs is the maximum size of git's output about a list of commits, in bytes.
const maxObjectIDs = 1 << 20

// isObjectID reports whether a text is a full object id.
func isObjectID(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && (len(raw) == 20 || len(raw) == 32) && text == strings.ToLower(text)
}

// WriteBundle writes commits of a repository to an open file, without those reachable from the
// commits in without. It ignores commits in without that the repository does not have. environ is
// the environment of git.
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

// commits returns the commits of a list that a repository has, sorted and without duplicates.
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

// HasCommit reports whether a repository has a commit. It does not check the objects that the
// commit refers to.
func HasCommit(ctx context.Context, environ []string, repo, commit string) (bool, error) {
	store, err := worktree.NewStore(ctx, environ, repo)
	if err != nil {
		return false, err
	}
	known, err := commits(ctx, store, []string{commit})
	return len(known) == 1, err
}
