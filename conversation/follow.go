package conversation

// Following the log of a conversation.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ac/internal/durable"
	"ac/internal/watch"
	"ac/workspace"
	"ac/workspace/doc"
)

// pollInterval is the polling interval if changes cannot be watched: a watch may be refused, and
// watches do not work on network file systems.
const pollInterval = 2 * time.Second

// Follow calls told with the newest messages of a conversation, and then with each new one in log
// order, until ctx ends or told fails. For an unknown conversation the error is fault.NotFound.
func Follow(ctx context.Context, w *workspace.Workspace, p Space, id string, newest int, told func(doc.Message) error) error {
	if _, err := Get(w, p, id); err != nil {
		return err
	}
	f := follower{w: w, space: p, id: id, deliver: told}
	if err := f.begin(newest); err != nil {
		return err
	}
	folder := watch.Folder{Dir: filepath.Join(w.Dir(), filepath.FromSlash(p.Dir(id))), PollUnwatched: pollInterval, PollWatched: pollInterval}
	var err error
	folder.Until(ctx, func() bool {
		err = f.read()
		return err != nil
	})
	return err
}

// follower is a cursor in a log.
type follower struct {
	w       *workspace.Workspace
	space   Space
	id      string
	deliver func(doc.Message) error

	at   int64       // offset after the last complete line read
	file os.FileInfo // log file of the cursor; nil before the first read
}

// open opens the log. It returns nil if there is none. If the log was replaced or truncated, open
// moves the cursor to its beginning.
func (f *follower) open() (file durable.File, size int64, err error) {
	file, err = f.w.FS.OpenFile(f.space.messages(f.id), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	if f.file != nil && (!durable.SameFile(f.file, st) || st.Size() < f.at) {
		f.at = 0
	}
	f.file = st
	return file, st.Size(), nil
}

// begin delivers the newest messages and sets the cursor after them.
func (f *follower) begin(newest int) (err error) {
	file, size, err := f.open()
	if file == nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if f.at, err = durable.WholeLines(file, size); err != nil {
		return err
	}
	messages, err := f.space.newest(file, f.at, f.id, newest)
	for _, m := range messages {
		if err := f.deliver(m); err != nil {
			return err
		}
	}
	return err
}

// read delivers the messages added since the last call.
func (f *follower) read() (err error) {
	file, size, err := f.open()
	if file == nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewReader(io.NewSectionReader(file, f.at, size-f.at))
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // the rest is being written
		}
		if err != nil {
			return err
		}
		f.at += int64(len(line))
		if m, ok := f.space.message(f.id, line[:len(line)-1]); ok {
			if err := f.deliver(m); err != nil {
				return err
			}
		}
	}
}
