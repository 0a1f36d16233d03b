package parcel

// Mirrors: bare repositories from which a worker creates worktrees.

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/lock"
	"ac/runs/worktree"
)

// Mirrors are the mirrors in one directory. Methods are safe for concurrent use, even by several
// processes.
type Mirrors struct {
	FS      durable.FS
	Dir     string // absolute directory of FS
	Environ []string
}

// keptBases is how many base commits of a repository Keep protects: those with the newest commit
// dates.
const keptBases = 64

// Ref prefixes of a mirror: base commits of sessions, and branches of the remote.
const (
	basePrefix   = "refs/ac/base/"
	remotePrefix = "refs/ac/remote/"
)

func mirrorName(repo string) string {
	sum := sha256.Sum256([]byte(repo))
	return hex.EncodeToString(sum[:16]) + ".git"
}

// Path returns the directory of a repository's mirror.
func (m Mirrors) Path(repo string) string { return filepath.Join(m.Dir, mirrorName(repo)) }

// open locks the mirror of a repository. If the mirror is missing, open first creates it, with
// the object format of the given commit.
func (m Mirrors) open(ctx context.Context, repo, commit string) (*lock.Hold, error) {
	hold, err := lock.Wait(ctx, m.FS, mirrorName(repo)+".lock")
	if err != nil || durable.Exists(m.FS, mirrorName(repo)+"/HEAD") {
		return hold, err
	}
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	store, err := worktree.NewRemoteStore(m.Environ, m.Dir)
	if err == nil {
		_, err = store.Run(ctx, worktree.Call{Args: []string{"init", "--quiet", "--bare", "--template=", "--object-format=" + format, "--", m.Path(repo)}})
	}
	if err != nil {
		return nil, errors.Join(err, hold.Release())
	}
	return hold, nil
}

// Has reports whether a repository has a mirror that contains a commit.
func (m Mirrors) Has(ctx context.Context, repo, commit string) (bool, error) {
	if !durable.Exists(m.FS, mirrorName(repo)+"/HEAD") {
		return false, nil
	}
	return HasCommit(ctx, m.Environ, m.Path(repo), commit)
}

// FromBundle imports the commits of a bundle from the hub into the mirror.
func (m Mirrors) FromBundle(ctx context.Context, repo string, file *os.File) (err error) {
	b, err := readBundle(file)
	if err != nil {
		return err
	}
	if len(b.heads) == 0 {
		return fmt.Errorf("%w: the bundle has no ref", ErrRefused)
	}
	hold, err := m.open(ctx, repo, b.heads[0].Commit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	store, err := worktree.NewStore(ctx, m.Environ, m.Path(repo))
	if err != nil {
		return err
	}
	return unpackObjects(ctx, store, file, b, false) // not strict: an old repository may contain malformed objects
}

// FromRemote fetches a commit from a remote, with the credentials of the user's own git. It
// fetches the remote's branches first, and then the commit itself if they do not contain it.
func (m Mirrors) FromRemote(ctx context.Context, repo, remote, commit string) (err error) {
	if remote == "" || strings.HasPrefix(remote, "-") {
		return errors.New("the repository has no remote")
	}
	hold, err := m.open(ctx, repo, commit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	store, err := worktree.NewRemoteStore(m.Environ, m.Path(repo))
	if err != nil {
		return err
	}
	var failed error
	for _, spec := range []string{"+refs/heads/*:" + remotePrefix + "*", commit} {
		args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--end-of-options", remote, spec}
		_, err := store.Run(ctx, worktree.Call{Args: args})
		failed = errors.Join(failed, err)
		if found, err := HasCommit(ctx, m.Environ, m.Path(repo), commit); err != nil || found {
			return err
		}
	}
	return errors.Join(failed, fmt.Errorf("%s does not have commit %s", remote, commit))
}

// Keep protects a commit from git's garbage collection. It releases other base commits beyond
// keptBases, those with the oldest commit dates.
func (m Mirrors) Keep(ctx context.Context, repo, commit string) (err error) {
	hold, err := m.open(ctx, repo, commit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hold.Release()) }()
	store, err := worktree.NewStore(ctx, m.Environ, m.Path(repo))
	if err != nil {
		return err
	}
	if _, err := store.Line(ctx, "update-ref", "--end-of-options", basePrefix+commit, commit); err != nil {
		return err
	}
	text, err := store.Run(ctx, worktree.Call{Args: []string{"for-each-ref", "--sort=-committerdate", "--format=%(refname)", basePrefix}, Limit: maxObjectIDs})
	var drop bytes.Buffer
	kept := 0
	for line := range strings.Lines(string(text)) {
		ref := strings.TrimSpace(line)
		if kept++; kept > keptBases && ref != basePrefix+commit {
			fmt.Fprintf(&drop, "delete %s\n", ref)
		}
	}
	if err != nil || drop.Len() == 0 {
		return err
	}
	_, err = store.Run(ctx, worktree.Call{Args: []string{"update-ref", "--stdin"}, Input: drop.Bytes()})
	return err
}

// Tips lists up to 64 commits that a repository's mirror has together with their history.
func (m Mirrors) Tips(ctx context.Context, repo string) ([]string, error) {
	if !durable.Exists(m.FS, mirrorName(repo)+"/HEAD") {
		return nil, nil
	}
	store, err := worktree.NewStore(ctx, m.Environ, m.Path(repo))
	if err != nil {
		return nil, err
	}
	text, err := store.Run(ctx, worktree.Call{
		Args: []string{"for-each-ref", "--sort=-committerdate", "--count=64", "--format=%(objectname)", basePrefix, remotePrefix}, Limit: maxObjectIDs,
	})
	if err != nil {
		return nil, err
	}
	var tips []string
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		tips = append(tips, lines.Text())
	}
	slices.Sort(tips)
	return slices.Compact(tips), lines.Err()
}
