package workspace

// Crash recovery of the journal: finish the intents, remove the staged files.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
)

// recoverJournal finishes or drops all intents, oldest first.
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

// clearStaging removes the stages of killed writers. Stages without a lock of their own
// belong to the holder of the write lock, who stages only after the journal was recovered.
func (w *Workspace) clearStaging() error {
	entries, err := w.listed(TempDir, "stage_")
	for _, name := range entries {
		err = errors.Join(err, w.FS.RemoveAll(name))
	}
	return errors.Join(err, w.clearStages())
}

// listed returns the entries of dir whose names have a prefix. A missing directory yields
// none.
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

// readIntent reads an intent. It returns no operations for a torn write: such an intent was
// never durable, so none of its operations was applied.
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

// finish applies the remaining operations of a unit. If another program changed a document
// before any operation was applied, finish drops the unit. Otherwise it applies the rest and
// leaves foreign changes alone. A best-effort append that cannot be done is skipped and never
// drops or fails the unit.
func (w *Workspace) finish(ctx context.Context, ops []operation) (logs []string, err error) {
	states := make([]opState, len(ops))
	applied, changed := false, false
	for i := range ops {
		if states[i], err = w.state(&ops[i]); err != nil && !ops[i].BestEffort {
			return nil, err
		}
		applied = applied || states[i] == stateDone || states[i] == statePartial
		changed = changed || states[i] == stateForeign && !ops[i].BestEffort
	}
	if changed && !applied {
		return nil, nil
	}
	for i := range ops {
		if states[i] != statePending && states[i] != statePartial {
			if err := amend(&ops[i], ops[i+1:]); err != nil {
				return logs, err
			}
			continue
		}
		if err := w.applyRest(ctx, &ops[i]); err != nil {
			if ops[i].BestEffort {
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

// applyRest applies an operation, of an append only what its log lacks.
func (w *Workspace) applyRest(ctx context.Context, op *operation) (err error) {
	if op.Kind == opAppend {
		if op.Drafts, err = w.missing(op); err != nil {
			return err
		}
	}
	return w.apply(ctx, op)
}

type opState int

func (w *Workspace) state(op *operation) (opState, error) {
	switch op.Kind {
	case opWrite:
		now, err := readDocument(w.FS, op.Name)
		hash := hashOf(now)
		if fault.Is(err, fault.NotFound) {
			hash = ""
		} else if err != nil {
			return stateForeign, err
		}
		switch hash {
		case op.After:
			return stateDone, nil
		case op.Before:
			return statePending, nil
		}
		return stateForeign, nil
	case opRemove:
		now, err := readDocument(w.FS, op.Name)
		switch {
		case fault.Is(err, fault.NotFound):
			return stateDone, nil
		case err != nil:
			return stateForeign, err
		case hashOf(now) == op.Before:
			return statePending, nil
		}
		return stateForeign, nil
	case opRename:
		switch {
		case !durable.Exists(w.FS, op.From):
			if durable.Exists(w.FS, op.Name) {
				return stateDone, nil
			}
			return stateForeign, nil
		case durable.Exists(w.FS, op.Name):
			return stateForeign, nil
		}
		return statePending, nil
	case opExchange:
		switch op.Identity {
		case w.identity(op.Name):
			return stateDone, nil
		case w.identity(op.From):
			return statePending, nil
		}
		return stateForeign, nil
	case opFiles:
		return w.filesState(op)
	}
	left, err := w.missing(op)
	if err != nil {
		return stateForeign, err
	}
	switch {
	case len(left) == 0:
		return stateDone, nil
	case !durable.Exists(w.FS, path.Dir(op.Name)) || w.irregular(op.Name):
		return stateForeign, nil
	case len(left) < len(op.Drafts):
		return statePartial, nil
	}
	return statePending, nil
}

// irregular reports whether a name exists but is not a regular file.
func (w *Workspace) irregular(name string) bool {
	st, err := w.FS.Stat(name)
	return err == nil && !st.Mode().IsRegular()
}

// missing returns the drafts of an append that its log lacks, since the append may be torn.
// It searches from the log's length before the unit, or the whole log if it has become
// shorter.
func (w *Workspace) missing(op *operation) ([]draftRecord, error) {
	f, err := w.FS.OpenFile(op.Name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, durable.ErrIrregular) {
		return op.Drafts, nil // a non-file holds no events
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
