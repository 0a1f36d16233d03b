package workspace

// The write-ahead redo journal of units. An intent is one file in .local/journal: a line of
// JSON with the operations and their hash. It is durable before the first operation touches
// the workspace, and removed after the last.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
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
	Payload     []byte `json:"payload"` // base64, since the exact bytes are hashed
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

// commit applies the operations and returns the logs it appended to. A single operation is
// atomic by itself and needs no intent.
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
			if u.ops[i].BestEffort {
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
		// If a power failure undoes the removal, the next writer finds that the unit is done
		// and drops the intent.
		if err := u.w.dropIntent(name); err != nil {
			return logs, err
		}
	}
	return logs, nil
}

// dropIntent removes the intent of a finished unit. The intent is already gone if the unit
// exchanged the journal's own directory.
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

// undo rolls back what was applied up to operation i, which failed. If it cannot, because
// events were appended or a write fails, the intent stays and the next writer finishes the
// unit.
func (u *Unit) undo(i int, intentName string, cause error) error {
	for j := i; j >= 0; j-- {
		if err := u.w.rollBack(&u.ops[j], j < i); err != nil {
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

func (w *Workspace) rollBack(op *operation, applied bool) error {
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
		return w.namer.Write(w.FS, op.Name, op.before, op.Perm)
	case opFiles:
		return w.rollBackFiles(op)
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
	if op.BestEffort {
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

const (
	statePending opState = iota
	statePartial         // some events of an append are in the log
	stateDone
	stateForeign
)
