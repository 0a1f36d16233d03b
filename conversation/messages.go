package conversation

// The append-only log of a conversation: one message per line.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
	"ac/workspace/doc"
)

// MaxBody is the maximum length of a message's text, in bytes of UTF-8.
const MaxBody = 1 << 20

// longestLine exceeds any line that Send writes; an escape takes up to six bytes.
// Longer lines are not messages.
const longestLine = 8 << 20

// Draft is a message to send. An empty Visibility means that of the conversation.
type Draft struct {
	AuthorID, AuthorRole string
	Body                 string
	Kind                 string
	Visibility           string
	Mentions             []string
}

// Send appends a message, which is durable on return. If the author may not write
// to the conversation, the error is fault.Denied. Send locks only the log.
func Send(ctx context.Context, w *workspace.Workspace, p Space, id string, d Draft) (doc.Conversation, doc.Message, error) {
	var none doc.Message
	c, err := Get(w, p, id)
	if err != nil {
		return c, none, cmp.Or(p.exists(w), err)
	}
	body := Body(d.Body)
	if body == "" {
		return c, none, fault.New(fault.Blank, "the message is blank")
	}
	actor, err := author(w, d.AuthorID, d.AuthorRole)
	if err != nil {
		return c, none, err
	}
	if !Admits(c, actor) {
		return c, none, fault.New(fault.Denied, "%s (%s) is not a participant of the conversation %s", actor.ID, actor.Role, c.Name)
	}
	m := doc.Message{
		SchemaVersion: doc.Version, Type: "message", ID: w.Env.IDs.New("msg"), ConversationID: c.ID, ProjectID: p.Project,
		CreatedAt: clock.Stamp(w.Env.Clock.Now()), AuthorID: d.AuthorID, AuthorRole: d.AuthorRole, Kind: d.Kind,
		Visibility: cmp.Or(d.Visibility, c.Visibility), Body: body, Mentions: unique(d.Mentions),
	}
	line, err := m.Line()
	if err != nil {
		return c, none, err
	}
	return c, m, appendLine(ctx, w.FS, p.messages(id), line)
}

// appendLine appends a line in one write. If the log ends in a torn line, it first terminates
// that line. It syncs after it released the lock.
func appendLine(ctx context.Context, fsys durable.FS, name string, line []byte) (err error) {
	file, err := openLocked(ctx, fsys, name)
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = writeLine(fsys, name, file, line)
	if err = errors.Join(err, lock.Unlock(file)); err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	return file.SyncData()
}

// openLocked opens and locks the file that currently has the name.
func openLocked(ctx context.Context, fsys durable.FS, name string) (durable.File, error) {
	for {
		file, err := fsys.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := lock.File(ctx, file); err != nil {
			return nil, err
		}
		mine, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		there, err := fsys.Stat(name)
		if err == nil && durable.SameFile(mine, there) {
			return file, nil
		}
		if closeErr := file.Close(); closeErr != nil {
			return nil, closeErr
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

func writeLine(fsys durable.FS, name string, file durable.File, line []byte) error {
	st, err := file.Stat()
	if err != nil {
		return err
	}
	if st.Size() == 0 {
		// The file may be new.
		if err := fsys.SyncDir(path.Dir(name)); err != nil {
			return err
		}
		return durable.WriteAll(file, line)
	}
	last := make([]byte, 1)
	if _, err := file.ReadAt(last, st.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	return durable.WriteAll(file, line)
}

// overlap is how many more messages than requested are read, so that messages from writers with
// slightly different clocks are still sorted by time.
const overlap = 64

// Newest returns up to limit of the newest messages of a conversation, oldest first. It skips
// lines that are not messages. Its cost depends on the result, not on the size of the log. An
// unknown project has no messages.
func Newest(w *workspace.Workspace, p Space, id string, limit int) ([]doc.Message, error) {
	if p.Project != "" {
		if known, err := w.HasProject(p.Project); !known {
			return []doc.Message{}, err
		}
	}
	file, err := w.FS.OpenFile(p.messages(id), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return []doc.Message{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return p.newest(file, st.Size(), id, limit)
}

// newest returns the newest messages before an offset of the log.
func (p Space) newest(file io.ReaderAt, end int64, id string, limit int) ([]doc.Message, error) {
	found := []doc.Message{}
	err := backwards(file, end, func(line []byte) bool {
		if m, ok := p.message(id, line); ok {
			found = append(found, m)
		}
		return len(found) < limit+overlap
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.messages(id), err)
	}
	slices.Reverse(found)
	slices.SortStableFunc(found, func(a, b doc.Message) int {
		at, _ := clock.Parse(a.CreatedAt)
		bt, _ := clock.Parse(b.CreatedAt)
		return at.Compare(bt)
	})
	return found[max(0, len(found)-limit):], nil
}

// message parses a line of a conversation's log. ok is false if the line is not a message of this
// conversation. A message without a project belongs to the project of its log.
func (p Space) message(id string, line []byte) (m doc.Message, ok bool) {
	m, err := doc.DecodeMessage(line)
	return m, err == nil && m.ConversationID == id && (m.ProjectID == "" || m.ProjectID == p.Project)
}

// Read sizes: block at first, and more for longer lines, up to longestStep.
const (
	block       = 64 << 10
	longestStep = 4 << 20
)

// backwards calls more with the lines of a file, last line first, until more returns false. A
// last line without LF counts, since it may be complete. Lines that are too long are skipped in
// bounded memory.
func backwards(r io.ReaderAt, size int64, more func(line []byte) bool) error {
	var text []byte // bytes from start to the end of the current line
	skipping := false
	step := int64(block)
	for start := size; start > 0; {
		from := max(0, start-step)
		step = min(2*step, longestStep) // so that a long line is not copied too often
		read := make([]byte, start-from, start-from+int64(len(text)))
		if _, err := r.ReadAt(read, from); err != nil {
			return err
		}
		text, start = append(read, text...), from
		for {
			i := bytes.LastIndexByte(text, '\n')
			if i < 0 {
				break
			}
			line := text[i+1:]
			if !skipping && len(line) > 0 && !more(line) {
				return nil
			}
			text, skipping, step = text[:i], false, block
		}
		if skipping || len(text) > longestLine {
			text, skipping = nil, true
		}
	}
	if !skipping && len(text) > 0 {
		more(text)
	}
	return nil
}
