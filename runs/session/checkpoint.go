package session

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"

	"ac/events"
	"ac/workspace"
)

// CountedLog is the number of lines in a log up to an offset at a line's end. With it, the end of
// a long log is counted without reading the whole log under the write lock.
type CountedLog struct {
	offset int64
	Lines  int64
}

// Count continues counting, up to the last complete line.
func (c CountedLog) Count(w *workspace.Workspace, log string) (CountedLog, error) {
	f, err := w.FS.OpenFile(log, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return CountedLog{}, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return c, err
	}
	if st.Size() < c.offset {
		c = CountedLog{} // another file than the one counted before
	}
	lines, torn, err := events.CountLines(io.NewSectionReader(f, c.offset, st.Size()-c.offset))
	if err != nil || torn {
		return c, err
	}
	return CountedLog{offset: st.Size(), Lines: c.Lines + lines}, nil
}

// checkpoint returns the checkpoint of the current log, for the run's record.
func (c CountedLog) checkpoint(w *workspace.Workspace, log string) (*events.Checkpoint, error) {
	f, err := w.FS.OpenFile(log, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < c.offset {
		c = CountedLog{}
	}
	lines, _, err := events.CountLines(io.NewSectionReader(f, c.offset, st.Size()-c.offset))
	if err != nil {
		return nil, err
	}
	tail, err := events.ReadTail(f, st.Size())
	if err != nil {
		return nil, err
	}
	return &events.Checkpoint{Count: c.Lines + lines, Head: tail.Head}, nil
}

// digest returns a short name for something whose own name may be too long for a file name.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
