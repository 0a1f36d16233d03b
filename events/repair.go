package events

// Torn tails: unfinished last lines that killed writers leave behind. Appends step over them.
// Only a repair, which keeps a copy, truncates them.

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

// Torn is a torn tail: text after a log's last LF that is not JSON.
type Torn struct {
	Offset int64
	Text   []byte
}

// FindTorn searches for a torn tail, without a lock. It returns nil if the log is missing or its
// last line is complete, even without LF.
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

// CutTorn truncates a torn tail under the log's lock. keep must first make a copy durable. If it
// fails, the log is unchanged. CutTorn returns what it removed, nil if there is no torn tail.
func CutTorn(ctx context.Context, fsys durable.FS, name string, keep func(Torn) error) (torn *Torn, err error) {
	file, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("the log is locked by another process"))
	defer cancel()
	if err := lock.File(ctx, file); err != nil {
		return nil, err // lock.File has closed the file
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
