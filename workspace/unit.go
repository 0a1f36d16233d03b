package workspace

// Units: read, decide and write as one locked step.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/internal/yamldoc"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// Unit collects the writes of one locked step, a write transaction. Its reads return the
// state that it will leave. Nothing reaches the workspace before the function that received
// the Unit returns nil. Then all operations take effect in the order of the calls, or none
// does. A Unit is not safe for concurrent use.
type Unit struct {
	w       *Workspace
	ops     []operation
	pending map[string][]byte // nil for a removed document
	staged  []string
	// Agents and teams that the unit adds. Their directories do not exist yet.
	agents []doc.Agent
	teams  []doc.Team
}

// operation is one step of a unit, as the journal records it.
type operation struct {
	Kind string `json:"kind"` // write, remove, rename, exchange, append or files
	Name string `json:"name"`

	// For a write: the content, its permissions, and the hashes before and after, "" for
	// absent. For a removal: the hash and the permissions before.
	Content []byte      `json:"content,omitempty"`
	Perm    fs.FileMode `json:"perm,omitempty"`
	Before  string      `json:"before,omitempty"`
	After   string      `json:"after,omitempty"`
	// For a rename or an exchange: where the tree was staged. For files: where their
	// checkpoint was staged.
	From string `json:"from,omitempty"`
	// For a rename: it stays in place when the unit is undone.
	Keep bool `json:"keep,omitempty"`
	// For an exchange: the identity of the new tree, wherever it is.
	Identity durable.Identity `json:"identity,omitzero"`
	// For an append: the events without their chain fields, and the log's length before.
	Drafts []draftRecord `json:"drafts,omitempty"`
	Size   int64         `json:"size,omitempty"`
	// For an append: best effort; its failure does not fail the unit.
	BestEffort bool `json:"spare,omitempty"`

	before []byte // content before a write or removal, for undo; nil if absent

	// For files: the target, while the unit holds its lock; the outcome; and the work under
	// way.
	root    *checkpoint.Root
	outcome *checkpoint.Outcome
	work    *checkpoint.Work
}

const (
	opWrite    = "write"
	opRemove   = "remove"
	opRename   = "rename"
	opExchange = "exchange"
	opAppend   = "append"
	opFiles    = "files"
)

// Update runs fn under the write lock, then makes everything that fn queued durable as one
// atomic unit. The wait for the lock is bounded by Env.LockPatience. If Update cannot get the
// lock, it writes nothing. If fn fails, Update writes nothing and returns the error
// unchanged. fn must not start a process or take another lock of the workspace.
func (w *Workspace) Update(ctx context.Context, fn func(*Unit) error) error {
	unlock, err := w.lock(ctx)
	if err != nil {
		return err
	}
	u := &Unit{w: w, pending: map[string][]byte{}}
	logs, err := u.run(ctx, fn)
	err = errors.Join(err, unlock())
	for _, log := range logs {
		w.NotifyAppend(log)
	}
	return err
}

// NeedsRecovery reports whether the journal has the entry of an interrupted unit. It is
// read-only.
func (w *Workspace) NeedsRecovery() bool {
	entries, err := w.FS.ReadDir(JournalDir)
	return err == nil && len(entries) > 0
}

// Recover finishes or drops interrupted units.
func (w *Workspace) Recover(ctx context.Context) error {
	return w.Update(ctx, func(*Unit) error { return nil })
}

func (w *Workspace) lock(ctx context.Context) (unlock func() error, err error) {
	patience := w.Env.LockPatience
	if patience == 0 {
		patience = defaultLockPatience
	}
	began := w.waitBegan(inflight.ArrivalTime(ctx))
	left := max(patience-w.Env.Clock.Since(began), 10*time.Millisecond)
	busy := errors.New("busy")
	ctx, cancel := context.WithTimeoutCause(ctx, left, busy)
	defer cancel()
	explain := func(err error) error {
		if errors.Is(err, busy) {
			w.gaveUp.Store(w.Env.Clock.Now().UnixNano())
			return fault.New(fault.Locked, "the workspace is being written by %s; gave up after %s (lock file: %s)", w.shared.Holder(), patience, writeLockFile)
		}
		return fmt.Errorf("lock the workspace: %w", err)
	}
	release, err := w.write.Lock(ctx)
	if err != nil {
		return nil, explain(err)
	}
	releaseShared, err := w.shared.Acquire(ctx)
	if err != nil {
		return nil, errors.Join(explain(err), release())
	}
	w.gaveUp.Store(0)
	return func() error { return errors.Join(releaseShared(), release()) }, nil
}

// waitBegan returns when a request's wait for the lock began. A request that arrived before
// another one gave up was waiting alongside it, so its wait counts from its arrival. For all
// others it counts from now, since they did not wait for the lock before.
func (w *Workspace) waitBegan(arrived time.Time) time.Time {
	if gaveUp := w.gaveUp.Load(); !arrived.IsZero() && gaveUp != 0 && arrived.UnixNano() < gaveUp {
		return arrived
	}
	return w.Env.Clock.Now()
}

func (u *Unit) run(ctx context.Context, fn func(*Unit) error) (logs []string, err error) {
	logs, err = u.w.recoverJournal(ctx)
	if err != nil {
		return logs, err
	}
	defer func() {
		for _, dir := range u.staged {
			err = errors.Join(err, u.w.FS.RemoveAll(dir))
		}
	}()
	if err := fn(u); err != nil {
		return logs, err
	}
	written, err := u.commit(ctx)
	err = errors.Join(err, release(u.ops))
	return append(logs, written...), err
}

// Workspace returns the workspace that the unit writes.
func (u *Unit) Workspace() *Workspace { return u.w }

// Read reads a document as the unit will leave it. It returns fault.NotFound if there is
// none.
func (u *Unit) Read(name string) ([]byte, error) {
	if text, ok := u.pending[name]; ok {
		if text == nil {
			return nil, fault.New(fault.NotFound, "%s does not exist", name)
		}
		return text, nil
	}
	return u.w.Read(name)
}

// Exists reports whether a document will exist after the operations queued so far.
func (u *Unit) Exists(name string) bool {
	if text, ok := u.pending[name]; ok {
		return text != nil
	}
	return u.w.Exists(name)
}

// LoadIn reads and decodes a document as the unit will leave it.
func LoadIn[T any](u *Unit, codec yamldoc.Codec[T], name string) (T, error) {
	text, err := u.Read(name)
	if err != nil {
		var none T
		return none, err
	}
	return Decode(codec, name, text)
}

// Write queues the replacement of a document.
func (u *Unit) Write(name string, content []byte, perm fs.FileMode) error {
	op := operation{Kind: opWrite, Name: name, Content: content, Perm: perm, After: hashOf(content)}
	before, err := u.Read(name)
	switch {
	case err == nil:
		op.before, op.Before = before, hashOf(before)
	case !fault.Is(err, fault.NotFound):
		return err
	}
	u.ops = append(u.ops, op)
	if content == nil {
		content = []byte{}
	}
	u.pending[name] = content
	return nil
}

// Remove queues the removal of a document. It is idempotent.
func (u *Unit) Remove(name string) error {
	before, perm, err := u.readMode(name)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	u.ops = append(u.ops, operation{Kind: opRemove, Name: name, Perm: perm, Before: hashOf(before), before: before})
	u.pending[name] = nil
	return nil
}

// readMode is Read with the permissions of the document.
func (u *Unit) readMode(name string) (text []byte, perm fs.FileMode, err error) {
	if _, queued := u.pending[name]; !queued {
		text, st, err := readDocumentInfo(u.w.FS, name)
		if err != nil {
			return nil, 0, err
		}
		return text, st.Mode().Perm(), nil
	}
	for i := range u.ops {
		if u.ops[i].Kind == opWrite && u.ops[i].Name == name {
			perm = u.ops[i].Perm
		}
	}
	text, err = u.Read(name)
	return text, perm, err
}

// Put queues the writing of a document. If the document exists, Put rewrites its text, so
// that unknown keys and comments stay.
func Put[T any](u *Unit, codec yamldoc.Codec[T], name string, document T, perm fs.FileMode) error {
	old, err := u.Read(name)
	var text []byte
	switch {
	case err == nil:
		text, err = codec.Rewrite(old, document)
	case fault.Is(err, fault.NotFound):
		text, err = codec.Encode(document)
	}
	if err != nil {
		return err
	}
	return u.Write(name, text, perm)
}

// Append queues events to be appended to a log.
func (u *Unit) Append(log string, drafts ...events.Draft) { u.append(log, false, drafts) }

// AppendBestEffort is Append for events whose loss is harmless: if appending them fails, the
// rest of the unit still happens.
func (u *Unit) AppendBestEffort(log string, drafts ...events.Draft) { u.append(log, true, drafts) }

func (u *Unit) append(log string, spare bool, drafts []events.Draft) {
	op := operation{Kind: opAppend, Name: log, BestEffort: spare}
	if st, err := u.w.FS.Stat(log); err == nil {
		op.Size = st.Size()
	}
	for _, d := range drafts {
		op.Drafts = append(op.Drafts, recordOf(d))
	}
	u.ops = append(u.ops, op)
}

// Tree is a directory to create: files by relative name, and directories that may be empty.
type Tree struct {
	Files []TreeFile
	Dirs  []string
}

// TreeFile is one file of a Tree.
type TreeFile struct {
	Name    string
	Content []byte
}

// Create queues the creation of a directory, which must not exist. It stages the directory
// first, so that no reader sees a partial one.
func (u *Unit) Create(dir string, tree Tree) error {
	if u.w.Exists(dir) {
		return fault.New(fault.Conflict, "%s exists already", dir)
	}
	stage := path.Join(TempDir, u.w.Env.IDs.New("stage"))
	u.staged = append(u.staged, stage)
	if err := buildTree(u.w.FS, stage, tree); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	if err := durable.MkdirAll(u.w.FS, path.Dir(dir), 0o755); err != nil {
		return err
	}
	u.ops = append(u.ops, operation{Kind: opRename, Name: dir, From: stage})
	return nil
}

// buildTree writes a tree. Names and contents are durable on return, with one sync for each
// directory.
func buildTree(fsys durable.FS, at string, tree Tree) error {
	if err := durable.MkdirAll(fsys, path.Dir(at), 0o755); err != nil {
		return err
	}
	dirs := []string{at}
	mkdir := func(dir string) error {
		err := fsys.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		dirs = append(dirs, dir)
		return err
	}
	if err := fsys.Mkdir(at, 0o755); err != nil {
		return err
	}
	for _, dir := range tree.Dirs {
		if err := mkdir(path.Join(at, dir)); err != nil {
			return err
		}
	}
	for _, file := range tree.Files {
		if parent := path.Dir(file.Name); parent != "." {
			if err := mkdir(path.Join(at, parent)); err != nil {
				return err
			}
		}
	}
	written := durable.Parallel(len(tree.Files), func(i int) error {
		return durable.WriteNew(fsys, path.Join(at, tree.Files[i].Name), tree.Files[i].Content, 0o644)
	})
	if err := errors.Join(written...); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := fsys.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}
