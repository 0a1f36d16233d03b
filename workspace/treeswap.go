package workspace

// Tree swaps: building a whole tree beside its target and moving it there in one step, so
// that the target is always the old tree or the new one.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
)

// TreeSwap is a directory under construction beside its target. It is not safe for concurrent
// use. The caller must Close it, whether placed or not.
type TreeSwap struct {
	env    Env
	target string // the absolute target path
	base   string // its last component
	above  string // the parent directory of both target and stage
	stage  string // the name of the directory under construction
	made   string // the topmost parent directory that was created, "" for none
	parent durable.FS
	held   *lock.Hold // shows other processes that this one is alive
}

// longestBase leaves room for the suffix of the stage's name.
const longestBase = 190

// NewTreeSwap creates an empty directory beside dir, and the missing parents of dir. It
// removes what killed processes left there. dir must be absolute.
func NewTreeSwap(env Env, dir string) (*TreeSwap, error) {
	s := &TreeSwap{env: env, target: dir, base: filepath.Base(dir), above: filepath.Dir(dir)}
	if s.above == dir {
		return nil, fault.New(fault.Conflict, "%s cannot be replaced", dir)
	}
	if err := s.open(); err != nil {
		return nil, fault.New(fault.IO, "cannot create a directory next to %s: %w", dir, errors.Join(err, s.clear()))
	}
	return s, nil
}

func (s *TreeSwap) open() (err error) {
	if s.made, err = makeAbove(s.above); err != nil {
		return err
	}
	if s.parent, err = s.env.FS(s.above); err != nil {
		return err
	}
	prefix := s.base[:min(len(s.base), longestBase)] + ".tmp-"
	if err := s.clearAbandoned(prefix); err != nil {
		return err
	}
	s.stage = prefix + fmt.Sprintf("%d-%s", s.env.PID, s.env.IDs.Hex(6))
	if s.held, err = lock.Try(s.parent, s.stage+lockSuffix); err != nil {
		return err
	}
	return s.parent.Mkdir(s.stage, 0o755)
}

// makeAbove creates a directory and its parents. It returns the topmost one that it created,
// "" for none.
func makeAbove(dir string) (made string, err error) {
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(at)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		made = at
	}
	if made == "" {
		return "", nil
	}
	return made, makeDurable(made, dir)
}

// clearAbandoned removes the trees of dead builders.
func (s *TreeSwap) clearAbandoned(prefix string) error {
	entries, err := s.parent.ReadDir(".")
	if err != nil {
		return err
	}
	ours := regexp.MustCompile(`^[0-9]+-[0-9a-f]{12}` + regexp.QuoteMeta(lockSuffix) + `$`)
	for _, entry := range entries {
		name := entry.Name()
		if rest, found := strings.CutPrefix(name, prefix); !found || !ours.MatchString(rest) {
			continue
		}
		held, tryErr := lock.Try(s.parent, name)
		if errors.Is(tryErr, lock.ErrBusy) {
			continue
		}
		if tryErr == nil {
			tryErr = errors.Join(s.parent.RemoveAll(strings.TrimSuffix(name, lockSuffix)), held.RemoveAndRelease())
		}
		err = errors.Join(err, tryErr)
	}
	return err
}

// Dir returns the directory in which the tree is built.
func (s *TreeSwap) Dir() string { return filepath.Join(s.above, s.stage) }

// Place moves the tree to its target, which must be missing or an empty directory. The tree's
// content must already be durable. After a failure the target is as before.
func (s *TreeSwap) Place() error {
	before, statErr := s.parent.Lstat(s.base)
	err := s.step(s.intoFree, s.base, s.stage)
	if err != nil && statErr == nil && before.IsDir() {
		err = errors.Join(err, ignoreExisting(s.parent.Mkdir(s.base, before.Mode().Perm())))
	}
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.NotEmpty, "%s is not empty; nothing was changed", s.target)
	}
	return err
}

// intoFree renames to a free name, or to an empty directory. It removes that first where a
// rename cannot replace it.
func (s *TreeSwap) intoFree(from, to string) error {
	err := s.parent.Rename(from, to)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if st, statErr := s.parent.Lstat(to); statErr != nil || !st.IsDir() {
		return err
	}
	if err := s.parent.Remove(to); err != nil { // fails if the directory is not empty
		return err
	}
	return s.parent.Rename(from, to)
}

func ignoreExisting(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// Replace exchanges the tree with the one at the target. Close then removes the old tree.
// After a failure the target is as before.
func (s *TreeSwap) Replace() error {
	swap := func(from, to string) error { return exchange(s.parent, to, from) }
	return s.step(swap, s.base, s.stage)
}

// step durably moves the tree to its target. On failure it checks whether the move happened
// anyway, and undoes it.
func (s *TreeSwap) step(move func(from, to string) error, base, stage string) error {
	st, err := s.parent.Lstat(stage)
	if err != nil {
		return fault.New(fault.IO, "cannot put %s in place: %w", s.target, err)
	}
	if err = move(stage, base); err == nil {
		if err = s.sync(); err == nil {
			return nil
		}
	}
	if now, statErr := s.parent.Lstat(base); statErr == nil && durable.IdentityOf(now) == durable.IdentityOf(st) {
		err = errors.Join(err, move(base, stage))
	}
	return fault.New(fault.IO, "cannot put %s in place: %w", s.target, err)
}

// sync makes the names durable, from the target up to the topmost directory created for it.
func (s *TreeSwap) sync() error {
	if err := s.parent.SyncDir("."); err != nil || s.made == "" {
		return err
	}
	return syncNames(s.env, s.made, s.above)
}

// Close removes whatever is not in place: the new tree or the one it replaced, and parent
// directories that stayed empty.
func (s *TreeSwap) Close() error { return s.clear() }

func (s *TreeSwap) clear() error {
	var err error
	if s.stage != "" {
		// By path, since Close must work even if the tree cannot be opened.
		err = removeTree(s.Dir())
	}
	if s.stage != "" {
		err = errors.Join(err, ignoreMissing(os.Remove(s.Dir()+lockSuffix)))
	}
	if s.held != nil {
		err = errors.Join(err, s.held.Release())
	}
	if s.parent != nil {
		err = errors.Join(err, s.parent.Close())
	}
	for at := s.above; s.made != ""; at = filepath.Dir(at) {
		if os.Remove(at) != nil || at == s.made {
			break // in use, or already gone
		}
	}
	return err
}

// removeTree removes a tree, even one with read-only directories.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && os.Chmod(name, 0o700) != nil { //nolint:gosec // directories are entered
			return err
		}
		return nil // RemoveAll below reports what cannot be removed
	})
	return os.RemoveAll(dir)
}
