package checkpoint

// One file of a checkpoint: write the new bytes beside its place, put them there in one step,
// then inspect the displaced file. Unexpected bytes go back to their place.

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"ac/internal/durable"
)

// change is the planned change of one file.
type change struct {
	path string // for messages
	dir  durable.FS
	name string
	temp string
	// Hashes of the expected content and the wanted content, "" for absent.
	base, want string
	content    []byte
	// mode is the wanted mode, 0 for the default. exact sets it regardless of the umask.
	mode  fs.FileMode
	exact bool
	// skipForeign is set if the change may skip a file with neither the expected nor the wanted
	// content: this checkpoint never touched it.
	skipForeign bool
}

// irregular stands in for the hash of anything that is not a regular file.
const irregular = "irregular"

// fileState is the file found at a name.
type fileState struct {
	hash string // "" if there is none
	mode fs.FileMode
}

func readFileState(fsys durable.FS, name string) (fileState, error) {
	st, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, err
	}
	if !st.Mode().IsRegular() {
		return fileState{hash: irregular}, nil
	}
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return fileState{}, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return fileState{hex.EncodeToString(sum.Sum(nil)), st.Mode().Perm()}, errors.Join(err, f.Close())
}

// is reports whether a file already has the wanted content and mode.
func (c *change) is(f fileState) bool {
	return f.hash == c.want && (c.want == "" || c.mode == 0 || !c.exact || f.mode == c.mode)
}

// conflictError reports that a file does not have the expected content.
type conflictError struct {
	path, found, base string
}

func (e *conflictError) Error() string {
	name := func(hash string) string {
		switch hash {
		case "":
			return "absent"
		case irregular:
			return "no regular file"
		}
		return hash
	}
	return fmt.Sprintf("the file changed: expected %s, found %s", name(e.base), name(e.found))
}

func (c *change) conflict(f fileState) error { return &conflictError{c.path, f.hash, c.base} }

// errNoChange reports that a file needs no change.
var errNoChange = errors.New("nothing is to be done")

// begin checks the file and writes the wanted bytes beside it.
func (c *change) begin() error {
	if c == nil {
		return errNoChange
	}
	now, err := readFileState(c.dir, c.name)
	switch {
	case err != nil:
		return err
	case c.is(now) || now.hash != c.base && c.skipForeign:
		return errNoChange
	case now.hash != c.base:
		return c.conflict(now)
	}
	return c.stage()
}

// stage writes the wanted bytes beside the file. They are durable on return.
func (c *change) stage() error {
	if c.want == "" || c.want == c.base {
		return nil
	}
	perm := c.mode
	if perm == 0 {
		perm = 0o644
	}
	f, err := c.dir.OpenFile(c.temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = durable.WriteAll(f, c.content)
	if err == nil && c.exact {
		err = c.dir.Chmod(c.temp, perm)
	}
	if err == nil {
		err = f.SyncData()
	}
	return errors.Join(err, f.Close())
}

// put puts the wanted content in place. After a *conflictError the file is as it was found.
func (c *change) put() error {
	switch {
	case c.want == "":
		return c.remove()
	case c.base == "":
		return c.create()
	case c.base == c.want:
		return c.chmod()
	}
	err := c.dir.Exchange(c.temp, c.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.Join(c.conflict(fileState{}), c.drop())
	case errors.Is(err, durable.ErrNoExchange):
		now, err := readFileState(c.dir, c.name)
		if err == nil && now.hash != c.base {
			return errors.Join(c.conflict(now), c.drop())
		}
		if err != nil {
			return err
		}
		return c.dir.Rename(c.temp, c.name)
	case err != nil:
		return err
	}
	return c.displaced(func() error { return c.dir.Exchange(c.temp, c.name) })
}

// chmod changes the mode only.
func (c *change) chmod() error {
	now, err := readFileState(c.dir, c.name)
	if err == nil && now.hash != c.base {
		err = c.conflict(now)
	}
	if err != nil {
		return err
	}
	return c.dir.Chmod(c.name, c.mode)
}

// create hard-links the new bytes to a name that must be free.
func (c *change) create() error {
	err := c.dir.Link(c.temp, c.name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// The file system does not support hard links, or refuses them.
		if _, statErr := c.dir.Lstat(c.name); errors.Is(statErr, fs.ErrNotExist) {
			return c.dir.Rename(c.temp, c.name)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		now, lookErr := readFileState(c.dir, c.name)
		if lookErr != nil {
			return lookErr
		}
		err = nil
		if !c.is(now) {
			err = c.conflict(now)
		}
	}
	return errors.Join(err, c.drop())
}

// remove first renames the file away, so that the check sees exactly what was removed.
func (c *change) remove() error {
	err := c.dir.Rename(c.name, c.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.displaced(func() error { return c.putBack() })
}

// putBack restores the name of displaced bytes, unless a newer file has it.
func (c *change) putBack() error {
	if err := c.dir.Link(c.temp, c.name); err == nil {
		return c.dir.Remove(c.temp)
	}
	if _, err := c.dir.Lstat(c.name); !errors.Is(err, fs.ErrNotExist) {
		return errors.New("there is another file by now")
	}
	return c.dir.Rename(c.temp, c.name)
}

// displaced checks the bytes that put or remove displaced. If they are not the expected ones,
// it calls back to restore them.
func (c *change) displaced(back func() error) error {
	was, err := readFileState(c.dir, c.temp)
	if err != nil {
		return err
	}
	if was.hash == c.base {
		return c.drop()
	}
	err = c.conflict(was)
	if failed := back(); failed != nil {
		err = errors.Join(err, fmt.Errorf("what lay there is kept as %s: %w", c.temp, failed))
	}
	if now, lookErr := readFileState(c.dir, c.temp); lookErr == nil && now.hash == c.want && c.want != "" {
		err = errors.Join(err, c.drop())
	}
	return err
}

// drop removes the temporary file.
func (c *change) drop() error {
	if err := c.dir.Remove(c.temp); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// tidy clears what an earlier writer left beside the file. If that writer had staged all
// files, a leftover with neither the old nor the new bytes was displaced from the place, and
// goes back there. Otherwise the leftover can only be a partially staged file.
func (c *change) tidy(staged bool) error {
	left, err := readFileState(c.dir, c.temp)
	if err != nil || left.hash == "" {
		return err
	}
	if !staged || left.hash == c.base || left.hash == c.want {
		return c.drop()
	}
	now, err := readFileState(c.dir, c.name)
	if err != nil {
		return err
	}
	err = c.conflict(left)
	switch now.hash {
	case "":
		return errors.Join(err, c.putBack())
	case c.want:
		return errors.Join(err, c.dir.Exchange(c.temp, c.name), c.drop())
	case left.hash: // already put back, or written again
		return errors.Join(err, c.drop())
	}
	return errors.Join(err, fmt.Errorf("what lay there is kept as %s", c.temp))
}
