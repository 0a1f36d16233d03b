package workspace

// The write-ahead redo journal of units. An intent is one file in
// .local/journal: a line of JSON with the operations and a hash over them. It
// is durable before the first operation touches the workspace, and it is
// removed after the last.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
)

// intent is the journal entry of one unit.
type intent struct {
	Version int             `json:"version"`
	Ops     json.RawMessage `json:"ops"`
	Hash    string          `json:"hash"` // of Ops
}

// draftRecord is a draft in the journal.
type draftRecord struct {
	ID          string `json:"id"`
	AtMS        int64  `json:"at_ms"`
	MonotonicMS int64  `json:"monotonic_ms"`
	RunID       string `json:"run_id"`
	SessionRef  string `json:"session_ref"`
	Actor       string `json:"actor"`
	Visibility  string `json:"visibility"`
	Type        string `json:"type"`
	Payload     []byte `json:"payload"` // base64, since its exact bytes are hashed
	Correlation string `json:"correlation,omitempty"`
	Causation   string `json:"causation,omitempty"`
}

func recordOf(d events.Draft) draftRecord {
	return draftRecord{
		ID: d.ID, AtMS: d.At.UnixMilli(), MonotonicMS: d.MonotonicMS, RunID: d.RunID, SessionRef: d.SessionRef, Actor: d.Actor,
		Visibility: d.Visibility, Type: d.Type, Payload: d.Payload, Correlation: d.Correlation, Causation: d.Causation,
	}
}

func (r draftRecord) draft() events.Draft {
	return events.Draft{
		ID: r.ID, At: time.UnixMilli(r.AtMS), MonotonicMS: r.MonotonicMS, RunID: r.RunID, SessionRef: r.SessionRef, Actor: r.Actor,
		Visibility: r.Visibility, Type: r.Type, Payload: r.Payload, Correlation: r.Correlation, Causation: r.Causation,
	}
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// commit carries the operations out. A single one needs no intent, since it is
// atomic by itself.
func (u *Unit) commit(ctx context.Context) (logs []string, err error) {
	if len(u.ops) == 0 {
		return nil, nil
	}
	name := ""
	if len(u.ops) > 1 {
		if name, err = u.writeIntent(); err != nil {
			return nil, err
		}
	}
	for i := range u.ops {
		if err := u.w.apply(ctx, &u.ops[i]); err != nil {
			if u.ops[i].Spare {
				continue
			}
			return logs, u.undo(i, name, err)
		}
		if err := amend(&u.ops[i], u.ops[i+1:]); err != nil {
			return logs, u.undo(i, name, err)
		}
		if u.ops[i].Kind == opAppend {
			logs = append(logs, u.ops[i].Name)
		}
	}
	if name != "" {
		// If a power failure undoes the removal, the next writer finds the
		// intent done and drops it.
		if err := u.w.dropIntent(name); err != nil {
			return logs, err
		}
	}
	return logs, nil
}

// dropIntent removes the intent of a finished unit. If the journal's directory
// was itself exchanged, the intent is already gone.
func (w *Workspace) dropIntent(name string) error { return ignoreMissing(w.FS.Remove(name)) }

func (u *Unit) writeIntent() (name string, err error) {
	ops, err := json.Marshal(u.ops)
	if err != nil {
		return "", fmt.Errorf("write the journal: %w", err)
	}
	text, err := json.Marshal(intent{Version: 1, Ops: ops, Hash: hashOf(ops)})
	if err != nil {
		return "", fmt.Errorf("write the journal: %w", err)
	}
	fsys := u.w.FS
	if err := durable.MkdirAll(fsys, JournalDir, 0o700); err != nil {
		return "", err
	}
	name = path.Join(JournalDir, u.w.Env.IDs.New("unit")+".json")
	err = durable.WriteNew(fsys, name, append(text, '\n'), 0o600)
	if err == nil {
		err = fsys.SyncDir(JournalDir)
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("write the journal: %w", err), ignoreMissing(fsys.Remove(name)))
	}
	return name, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (w *Workspace) apply(ctx context.Context, op *operation) error {
	switch op.Kind {
	case opWrite:
		return w.namer.Write(w.FS, op.Name, op.Content, op.Perm)
	case opRemove:
		if err := ignoreMissing(w.FS.Remove(op.Name)); err != nil {
			return err
		}
		return w.FS.SyncDir(path.Dir(op.Name))
	case opRename:
		if err := w.FS.Rename(op.From, op.Name); err != nil {
			return err
		}
		return w.FS.SyncDir(path.Dir(op.Name))
	case opExchange:
		return w.exchange(op)
	case opFiles:
		return w.writeFiles(ctx, op)
	}
	drafts := make([]events.Draft, len(op.Drafts))
	for i, record := range op.Drafts {
		drafts[i] = record.draft()
	}
	log := events.OpenLog(w.FS, op.Name)
	return errors.Join(log.Append(ctx, drafts...), log.Close())
}

// undo rolls back what was applied before operation i failed. Where that is
// impossible, because events were written or the disk refuses, the intent stays
// and the next writer finishes the unit.
func (u *Unit) undo(i int, intentName string, cause error) error {
	for j := i; j >= 0; j-- {
		if err := u.w.takeBack(&u.ops[j], j < i); err != nil {
			if intentName == "" {
				return cause
			}
			u.staged = nil // the next writer needs the staged trees
			return fmt.Errorf("%w (interrupted; the next writer finishes it: %w)", cause, err)
		}
	}
	if intentName == "" {
		return cause
	}
	return errors.Join(cause, ignoreMissing(u.w.FS.Remove(intentName)))
}

var errAppended = errors.New("events were appended")

func (w *Workspace) takeBack(op *operation, applied bool) error {
	switch op.Kind {
	case opWrite:
		now, err := readDocument(w.FS, op.Name)
		if fault.Is(err, fault.NotFound) && op.before == nil {
			return nil
		}
		if err == nil && op.before != nil && bytes.Equal(now, op.before) {
			return nil
		}
		if op.before == nil {
			return w.FS.Remove(op.Name)
		}
		return w.namer.Write(w.FS, op.Name, op.before, op.Perm)
	case opRemove:
		if durable.Exists(w.FS, op.Name) {
			return nil
		}
		return w.namer.Write(w.FS, op.Name, op.before, 0o644)
	case opFiles:
		return w.takeBackFiles(op)
	case opRename:
		if op.Keep || !durable.Exists(w.FS, op.Name) || durable.Exists(w.FS, op.From) {
			return nil
		}
		return w.FS.Rename(op.Name, op.From)
	case opExchange:
		if w.identity(op.Name) != op.Identity {
			return nil
		}
		return w.exchange(op)
	}
	if op.Spare {
		return nil
	}
	if applied {
		return errAppended
	}
	left, err := w.missing(op)
	if err == nil && len(left) < len(op.Drafts) {
		err = errAppended
	}
	return err
}

// recoverJournal finishes or drops all intents, in the order of their creation.
func (w *Workspace) recoverJournal(ctx context.Context) (logs []string, err error) {
	entries, err := w.listed(JournalDir, "unit_")
	if err != nil {
		return nil, fmt.Errorf("read the journal: %w", err)
	}
	for _, name := range entries {
		ops, err := w.readIntent(name)
		if err != nil {
			return logs, err
		}
		written, err := w.finish(ctx, ops)
		logs = append(logs, written...)
		if err != nil {
			return logs, fmt.Errorf("finish the interrupted write %s: %w", name, err)
		}
		if err := w.dropIntent(name); err != nil {
			return logs, err
		}
	}
	return logs, w.clearStaging()
}

// clearStaging removes what killed writers had staged. Only the holder of the
// write lock stages there, after the journal was recovered, except for stages
// with locks of their own.
func (w *Workspace) clearStaging() error {
	entries, err := w.listed(TempDir, "stage_")
	for _, name := range entries {
		err = errors.Join(err, w.FS.RemoveAll(name))
	}
	return errors.Join(err, w.clearStages())
}

// listed returns the entries of one of our directories whose names have a
// prefix. A missing directory has none.
func (w *Workspace) listed(dir, prefix string) (names []string, err error) {
	entries, err := w.FS.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) {
			names = append(names, path.Join(dir, entry.Name()))
		}
	}
	return names, nil
}

// readIntent returns no operations for an intent that was never durable (a torn
// write): none of them can have been applied.
func (w *Workspace) readIntent(name string) ([]operation, error) {
	f, err := w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var in intent
	var ops []operation
	if json.Unmarshal(text, &in) != nil || hashOf(in.Ops) != in.Hash || json.Unmarshal(in.Ops, &ops) != nil {
		return nil, nil //nolint:nilerr // see above
	}
	return ops, nil
}

// finish carries out what is left of a unit. If another program changed a
// document before anything of the unit was applied, the unit never happened.
// Otherwise foreign changes are left alone.
func (w *Workspace) finish(ctx context.Context, ops []operation) (logs []string, err error) {
	states := make([]opState, len(ops))
	for i := range ops {
		if states[i], err = w.state(&ops[i]); err != nil && !ops[i].Spare {
			return nil, err
		}
	}
	if !slices.Contains(states, done) && !slices.Contains(states, begun) && slices.Contains(states, foreign) {
		return nil, nil
	}
	for i := range ops {
		if states[i] != due && states[i] != begun {
			if err := amend(&ops[i], ops[i+1:]); err != nil {
				return logs, err
			}
			continue
		}
		if ops[i].Kind == opAppend {
			if ops[i].Drafts, err = w.missing(&ops[i]); err != nil {
				return logs, err
			}
		}
		if err := w.apply(ctx, &ops[i]); err != nil {
			if ops[i].Spare {
				continue
			}
			return logs, err
		}
		if err := amend(&ops[i], ops[i+1:]); err != nil {
			return logs, err
		}
		if ops[i].Kind == opAppend {
			logs = append(logs, ops[i].Name)
		}
	}
	return logs, nil
}

type opState int

const (
	due   opState = iota
	begun         // some events of an append are in the log
	done
	foreign
)

func (w *Workspace) state(op *operation) (opState, error) {
	switch op.Kind {
	case opWrite:
		now, err := readDocument(w.FS, op.Name)
		hash := hashOf(now)
		if fault.Is(err, fault.NotFound) {
			hash = ""
		} else if err != nil {
			return foreign, err
		}
		switch hash {
		case op.After:
			return done, nil
		case op.Before:
			return due, nil
		}
		return foreign, nil
	case opRemove:
		now, err := readDocument(w.FS, op.Name)
		switch {
		case fault.Is(err, fault.NotFound):
			return done, nil
		case err != nil:
			return foreign, err
		case hashOf(now) == op.Before:
			return due, nil
		}
		return foreign, nil
	case opRename:
		switch {
		case !durable.Exists(w.FS, op.From):
			if durable.Exists(w.FS, op.Name) {
				return done, nil
			}
			return foreign, nil
		case durable.Exists(w.FS, op.Name):
			return foreign, nil
		}
		return due, nil
	case opExchange:
		switch op.Identity {
		case w.identity(op.Name):
			return done, nil
		case w.identity(op.From):
			return due, nil
		}
		return foreign, nil
	case opFiles:
		return w.filesState(op)
	}
	left, err := w.missing(op)
	if err != nil {
		return foreign, err
	}
	switch {
	case len(left) == 0:
		return done, nil
	case !durable.Exists(w.FS, path.Dir(op.Name)) || w.irregular(op.Name):
		return foreign, nil
	case len(left) < len(op.Drafts):
		return begun, nil
	}
	return due, nil
}

// irregular reports whether a name exists but is not a regular file.
func (w *Workspace) irregular(name string) bool {
	st, err := w.FS.Stat(name)
	return err == nil && !st.Mode().IsRegular()
}

// missing returns the drafts of an append that are not in its log, searching
// beyond the log's end at the time of the unit, or the whole log if it was
// rewritten. A write may have been carried out in part.
func (w *Workspace) missing(op *operation) ([]draftRecord, error) {
	f, err := w.FS.OpenFile(op.Name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrIrregular) {
		return op.Drafts, nil // what is not a file holds no events
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() >= op.Size {
		if _, err := f.Seek(op.Size, io.SeekStart); err != nil {
			return nil, err
		}
	}
	there := map[string]bool{}
	for scanner := events.NewScanner(f, 0, 0); ; {
		line, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return slices.DeleteFunc(slices.Clone(op.Drafts), func(d draftRecord) bool { return there[d.ID] }), nil
		}
		if err != nil {
			return nil, err
		}
		there[events.Text(line.Raw, "event_id")] = true
	}
}
