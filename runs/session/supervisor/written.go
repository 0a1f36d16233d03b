package supervisor

// Files that the provider writes into the outputs itself. Their secrets are masked as soon as the
// provider can write no more.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"

	"ac/internal/redact"
	"ac/runs/session/output"
)

// maxMasked bounds the total size, in bytes, of the files searched. A provider that left more
// must not delay its session's end.
const maxMasked = 256 << 20

// maskWritten masks the output files, at any depth, that the recorder did not write. It skips
// symbolic links, which may point anywhere.
func (s *supervisor) maskWritten() error {
	left := int64(maxMasked)
	return s.maskFolder(s.outDir, &left)
}

// maskFolder masks the files in an output folder. left is how many bytes may still be searched.
func (s *supervisor) maskFolder(dir string, left *int64) error {
	entries, err := s.w.FS.ReadDir(dir)
	for _, entry := range entries {
		name := path.Join(dir, entry.Name())
		st, statErr := s.w.FS.Lstat(name)
		switch {
		case statErr != nil || dir == s.outDir && slices.Contains([]string{"stdout.txt", "stderr.txt", "stdin.txt", "prompt.txt"}, entry.Name()):
		case st.IsDir():
			err = errors.Join(err, s.maskFolder(name, left))
		case st.Mode().IsRegular() && st.Size() <= *left:
			*left -= st.Size()
			if maskErr := s.maskFile(name); maskErr != nil {
				err = errors.Join(err, fmt.Errorf("search %s for secrets: %w", name, maskErr))
			}
		}
	}
	return err
}

// maskFile replaces a file if it contains a secret.
func (s *supervisor) maskFile(name string) error {
	from, err := s.w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer from.Close()
	st, err := from.Stat()
	if err != nil {
		return err
	}
	if found, err := copyMasked(io.Discard, from, s.secrets); err != nil || !found {
		return err
	}
	temp := s.w.TempName(name)
	to, err := s.w.FS.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, st.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = copyMasked(to, io.NewSectionReader(from, 0, st.Size()), s.secrets)
	if err = errors.Join(err, to.SyncData(), to.Close()); err == nil {
		err = s.w.FS.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, s.w.FS.Remove(temp))
	}
	return s.w.FS.SyncDir(path.Dir(name))
}

// copyMasked copies a text with its secrets masked, and reports whether it found any.
func copyMasked(to io.Writer, from io.Reader, secrets *redact.Values) (found bool, err error) {
	mask, block := secrets.Stream(), make([]byte, output.ReadBlock)
	for {
		n, err := from.Read(block)
		if _, writeErr := to.Write(mask.Next(block[:n])); writeErr != nil {
			return false, writeErr
		}
		if errors.Is(err, io.EOF) {
			_, err := to.Write(mask.Flush())
			return mask.Found(), err
		}
		if err != nil {
			return false, err
		}
	}
}
