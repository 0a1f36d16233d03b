package audit

// Sealing.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/workspace"
)

// lockPatience bounds the wait for another seal of the same workspace.
const lockPatience = time.Minute

// Sealed is what a seal did.
type Sealed struct {
	Checkpoint *Checkpoint `json:"checkpoint"` // the newest; nil in a workspace without logs
	File       string      `json:"file,omitempty"`
	Added      int         `json:"records_added"`
	// Refused are logs that are not what was sealed of them. They get no new
	// record: what a checkpoint said of them stands.
	Refused []Finding `json:"refused"`
}

// Seal adds a record for each log that has grown and signs a checkpoint over
// them all. It is durable when it returns. When nothing has grown, nothing is
// written. A history that does not fit its newest checkpoint, or of which only
// traces are left, is not sealed further: fault.Conflict.
func Seal(ctx context.Context, w *workspace.Workspace, key Key) (Sealed, error) {
	return sealLocked(ctx, w, key, false)
}

// SealAnew is Seal over a history that cannot be gone on with: what is left of that
// is moved to superseded/, and the first record of the new one says so. A history
// that can be gone on with is: fault.Conflict.
func SealAnew(ctx context.Context, w *workspace.Workspace, key Key) (Sealed, error) {
	return sealLocked(ctx, w, key, true)
}

func sealLocked(ctx context.Context, w *workspace.Workspace, key Key, restart bool) (Sealed, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("another seal holds the lock"))
	defer cancel()
	held, err := lock.Wait(waiting, w.FS, lockFile)
	if err != nil {
		return Sealed{}, err
	}
	sealed, err := seal(ctx, w, key, restart)
	return sealed, errors.Join(err, held.Release())
}

func seal(ctx context.Context, w *workspace.Workspace, key Key, restart bool) (s Sealed, err error) {
	s.Refused = []Finding{}
	t, newest, err := standing(w)
	switch {
	case restart && err == nil:
		return s, fault.New(fault.Conflict, "the sealed history can be gone on with: seal without --restart")
	case restart && fault.Is(err, fault.Conflict):
		if t, err = supersede(w, err); err != nil {
			return s, err
		}
		newest = nil
	case err != nil:
		return s, err
	}
	s.Checkpoint = newest
	if newest != nil {
		s.File = checkpointFile(newest.Size)
	}
	before := t.size()
	if err := addGrown(ctx, w, t, &s); err != nil {
		return s, err
	}
	if s.Added = int(t.size() - before); s.Added == 0 {
		return s, complete(w, key, s.File)
	}
	c := Checkpoint{Size: t.size(), SealedAt: clock.Stamp(w.Env.Clock.Now())}
	if c.Origin, err = originOf(w); err != nil {
		return s, err
	}
	if c.Root, err = tlog.TreeHash(c.Size, t); err != nil {
		return s, err
	}
	signed, err := note.Sign(&note.Note{Text: c.text()}, key.signer)
	if err != nil {
		return s, err
	}
	s.Checkpoint, s.File = &c, checkpointFile(c.Size)
	return s, write(w, t, key, s.File, signed)
}

// write makes a seal durable: records, then what signs them, then what tells that
// there is a seal. One that was interrupted before its checkpoint left records alone
// and is made again; the key beside records without a checkpoint is the trace of one
// that was removed.
func write(w *workspace.Workspace, t *tree, key Key, file string, signed []byte) error {
	var records []byte
	for _, line := range t.lines {
		records = append(append(records, line...), '\n')
	}
	if err := w.Replace(recordsFile, records, 0o644); err != nil {
		return err
	}
	if err := w.Replace(file, signed, 0o644); err != nil {
		return err
	}
	return announce(w, key, signed)
}

// announce names the key beside the seals, and keeps a copy of the newest checkpoint
// on this machine.
func announce(w *workspace.Workspace, key Key, signed []byte) error {
	public, err := w.Read(KeyFile)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if !slices.Contains(strings.Split(string(public), "\n"), key.Public) {
		if err := w.Replace(KeyFile, append(public, key.Public+"\n"...), 0o644); err != nil {
			return err
		}
	}
	if err := durable.MkdirAll(w.FS, path.Dir(standbyFile), 0o755); err != nil {
		return err
	}
	return w.Replace(standbyFile, signed, 0o644)
}

// complete finishes a first seal that was interrupted behind its checkpoint.
func complete(w *workspace.Workspace, key Key, file string) error {
	if file == "" || w.Exists(KeyFile) {
		return nil
	}
	signed, err := w.Read(file)
	if err != nil {
		return err
	}
	return announce(w, key, signed)
}

// supersede moves what is left of a history aside and begins a new one with a
// record of that.
func supersede(w *workspace.Workspace, why error) (*tree, error) {
	restart := Restart{At: clock.Stamp(w.Env.Clock.Now()), Reason: why.Error()}
	if text, err := w.Read(standbyFile); err == nil {
		body, _, _ := strings.Cut(string(text), "\n\n")
		if c, err := parseCheckpoint(standbyFile, body+"\n"); err == nil {
			restart.Size, restart.Root = c.Size, c.Root.String()
		}
	}
	older, err := workspace.Dirs(w.FS, supersededDir)
	if err != nil {
		return nil, err
	}
	into := path.Join(supersededDir, strconv.Itoa(len(older)+1))
	if err := durable.MkdirAll(w.FS, into, 0o755); err != nil {
		return nil, err
	}
	for _, name := range []string{recordsFile, checkpointsDir} {
		if err := w.FS.Rename(name, path.Join(into, path.Base(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := errors.Join(w.FS.SyncDir(into), w.FS.SyncDir(Dir)); err != nil {
		return nil, err
	}
	t, r := &tree{}, Record{SealedAt: restart.At, Restart: &restart}
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return t, t.add(r, line)
}

// standing is the history up to its newest checkpoint, which it must fit. What
// lies behind was left by a seal that was interrupted.
func standing(w *workspace.Workspace) (*tree, *Checkpoint, error) {
	t, err := readTree(w)
	if err != nil {
		return nil, nil, err
	}
	names, err := checkpoints(w)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return &tree{}, nil, untouched(w, t)
	}
	file := names[len(names)-1]
	text, err := w.Read(file)
	if err != nil {
		return nil, nil, err
	}
	// Whose signature it carries is for those who verify; here the text counts.
	body, _, _ := strings.Cut(string(text), "\n\n")
	newest, err := parseCheckpoint(file, body+"\n")
	if err != nil {
		return nil, nil, err
	}
	if problem := t.fits(newest); problem != "" {
		return nil, nil, restartable(fmt.Sprintf("the sealed history does not fit %s: %s", file, problem))
	}
	if err := behind(w, newest); err != nil {
		return nil, nil, err
	}
	cut, err := t.first(newest.Size)
	return cut, &newest, err
}

// untouched refuses to begin a history where there was one.
func untouched(w *workspace.Workspace, t *tree) error {
	switch {
	case w.Exists(standbyFile):
		return restartable("this workspace was sealed on this machine, and its checkpoints are gone")
	case t.size() > 0 && w.Exists(KeyFile): // a seal that was interrupted before its checkpoint has neither
		return restartable(fmt.Sprintf("there are %d records and no checkpoint over them", t.size()))
	}
	return nil
}

// behind refuses to go on with a history of which this machine knows a later state.
func behind(w *workspace.Workspace, newest Checkpoint) error {
	text, err := w.Read(standbyFile)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	body, _, _ := strings.Cut(string(text), "\n\n")
	c, err := parseCheckpoint(standbyFile, body+"\n")
	if err == nil && c.Size > newest.Size {
		return restartable(fmt.Sprintf("%d records were sealed at %s, and the newest checkpoint covers %d", c.Size, c.SealedAt, newest.Size))
	}
	return nil // a copy that is broken says nothing
}

func restartable(why string) error {
	return fault.New(fault.Conflict, "%s. See: ac audit:verify. To begin a new history over it, which is recorded: ac audit:seal --restart", why)
}

// fits says why a tree is not the one of a checkpoint, or "".
func (t *tree) fits(c Checkpoint) string {
	if c.Size > t.size() {
		return fmt.Sprintf("it covers %d records and there are %d", c.Size, t.size())
	}
	root, err := tlog.TreeHash(c.Size, t)
	if err != nil {
		return err.Error()
	}
	if root != c.Root {
		return fmt.Sprintf("one of the first %d records was changed", c.Size)
	}
	return ""
}

// first is the tree of the first records.
func (t *tree) first(size int64) (*tree, error) {
	cut := &tree{}
	for i := range size {
		if err := cut.add(t.records[i], t.lines[i]); err != nil {
			return nil, err
		}
	}
	return cut, nil
}

// addGrown adds a record for each log that is longer than its last one says.
func addGrown(ctx context.Context, w *workspace.Workspace, t *tree, s *Sealed) error {
	names, err := logs(w)
	if err != nil {
		return err
	}
	last := t.last()
	for _, name := range names {
		old, known := last[name]
		delete(last, name)
		r, finding, err := recordOf(ctx, w, name, old)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			finding = &Finding{Log: name, Code: Unreadable, Message: err.Error()}
		}
		switch {
		case finding != nil:
			s.Refused = append(s.Refused, *finding)
		case r.Bytes > old.Bytes || !known && r.Bytes > 0:
			line, err := json.Marshal(r)
			if err == nil {
				err = t.add(r, line)
			}
			if err != nil {
				return err
			}
		}
	}
	for name := range last {
		s.Refused = append(s.Refused, Finding{Log: name, Code: Removed, Message: "the log is gone"})
	}
	slices.SortFunc(s.Refused, func(a, b Finding) int { return strings.Compare(a.Log, b.Log) })
	return nil
}

// last is the newest record of each log.
func (t *tree) last() map[string]Record {
	last := make(map[string]Record)
	for _, r := range t.records {
		if r.Restart == nil {
			last[r.Log] = r
		}
	}
	return last
}

// recordOf records a log as it is now, or finds that it is no longer what an
// older record says.
func recordOf(ctx context.Context, w *workspace.Workspace, name string, old Record) (r Record, f *Finding, err error) {
	log, err := open(w, name)
	if err != nil {
		return r, nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if log.size < old.Bytes {
		return r, &Finding{Log: name, Code: Shortened, Message: fmt.Sprintf("%d bytes were sealed and %d are there", old.Bytes, log.size)}, nil
	}
	end, err := durable.WholeLines(log.file, log.size)
	if err != nil || end <= old.Bytes {
		return r, nil, err
	}
	if old.Bytes > 0 {
		sum, err := log.to(ctx, old.Bytes)
		if err != nil {
			return r, nil, err
		}
		if sum != old.SHA256 {
			return r, &Finding{Log: name, Code: Changed, Message: fmt.Sprintf("one of the first %d bytes was changed", old.Bytes)}, nil
		}
	}
	r = Record{Log: name, Bytes: end, SealedAt: clock.Stamp(w.Env.Clock.Now())}
	r.SHA256, err = log.to(ctx, end)
	r.Lines = log.lines
	return r, nil, err
}
