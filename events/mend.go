package events

// The unfinished last line that a killed writer left. Appends step over it; only
// a repair that keeps a copy cuts it off.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"ac/internal/durable"
	"ac/internal/lock"
)

// Torn is the unfinished last line of a log: what stands behind its last LF and
// is no JSON.
type Torn struct {
	Offset int64
	Text   []byte
}

// FindTorn looks at the end of a log, without a lock. It gives nil for a log
// whose end is whole, even where that lacks its LF, and for a missing log.
func FindTorn(fsys durable.FS, name string) (*Torn, error) {
	file, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	torn, err := tornEnd(file)
	return torn, errors.Join(err, file.Close())
}

// CutTorn cuts the unfinished last line off, under the log's lock. keep makes a
// copy durable first; when it fails the log stays as it is. It gives what was
// cut off, nil when the log's end is whole.
func CutTorn(ctx context.Context, fsys durable.FS, name string, keep func(Torn) error) (torn *Torn, err error) {
	file, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("the log is locked by another process"))
	defer cancel()
	if err := lock.File(ctx, file); err != nil {
		return nil, err // it is closed, or will be
	}
	defer func() { err = errors.Join(err, lock.Close(file)) }()
	mine, err := file.Stat()
	if err != nil {
		return nil, err
	}
	there, err := fsys.Stat(name)
	if err != nil {
		return nil, err
	}
	if !durable.SameFile(mine, there) {
		return nil, fmt.Errorf("%s was replaced meanwhile", name)
	}
	if torn, err = tornEnd(file); torn == nil || err != nil {
		return nil, err
	}
	if err := keep(*torn); err != nil {
		return nil, err
	}
	if err := file.Truncate(torn.Offset); err != nil {
		return nil, err
	}
	return torn, file.SyncData()
}

func tornEnd(file durable.File) (*Torn, error) {
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var text []byte // the file from start on
	start := st.Size()
	for start > 0 && bytes.IndexByte(text, '\n') < 0 {
		if len(text) > MaxLine {
			return nil, fmt.Errorf("the last line has more than %d bytes", MaxLine)
		}
		from := max(0, start-max(tailBlock, int64(len(text))))
		more := make([]byte, start-from, start-from+int64(len(text)))
		if _, err := file.ReadAt(more, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		text, start = append(more, text...), from
	}
	cut := bytes.LastIndexByte(text, '\n') + 1
	line := text[cut:]
	if len(bytes.TrimSpace(line)) == 0 || json.Valid(line) {
		return nil, nil
	}
	return &Torn{Offset: start + int64(cut), Text: bytes.Clone(line)}, nil
}
