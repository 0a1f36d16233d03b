package audit

// Sealing a workspace.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// lockPatience is how long to wait for another seal of the same workspace.
const lockPatience = time.Minute

// SealResult is the result of a seal.
type SealResult struct {
	Checkpoint *Checkpoint `json:"checkpoint"` // the newest; nil if the workspace has no logs
	File       string      `json:"file,omitempty"`
	Added      int         `json:"records_added"`
	// Refused are logs that no longer match their records. They get no new record, so the
	// checkpoint's statement about them remains valid.
	Refused []Finding `json:"refused"`
}

// Seal adds a record for each log that has grown and signs a checkpoint over all records. The
// seal is durable on return. If no log has grown, Seal is a no-op. It reads what is new since
// this machine's last seal, or everything if that is unknown. If the history is incomplete or
// does not match its newest checkpoint, the error is fault.Conflict.
func Seal(ctx context.Context, w *workspace.Workspace, key Key) (SealResult, error) {
	return sealLocked(ctx, w, key, false)
}

// SealAnew is Seal for a history that cannot be continued. It moves the remains of that history
// to superseded/, and records this in the first record of the new history. If the history can be
// continued, the error is fault.Conflict.
func SealAnew(ctx context.Context, w *workspace.Workspace, key Key) (SealResult, error) {
	return sealLocked(ctx, w, key, true)
}

func sealLocked(ctx context.Context, w *workspace.Workspace, key Key, restart bool) (SealResult, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, lockPatience, errors.New("another process is sealing"))
	defer cancel()
	held, err := lock.Wait(waiting, w.FS, lockFile)
	if err != nil {
		return SealResult{}, err
	}
	sealed, err := seal(ctx, w, key, restart)
	return sealed, errors.Join(err, held.Release())
}

func seal(ctx context.Context, w *workspace.Workspace, key Key, restart bool) (s SealResult, err error) {
	s.Refused = []Finding{}
	h, err := historyOf(w, restart)
	if err != nil {
		return s, err
	}
	if s.Checkpoint = h.newest; h.newest != nil {
		s.File = checkpointFile(h.newest.Size)
	}
	before := h.tree.size()
	if err := addGrown(ctx, w, h, &s); err != nil {
		return s, err
	}
	if s.Added = int(h.tree.size() - before); s.Added == 0 {
		return s, h.complete(w, key, s.File)
	}
	c := Checkpoint{Size: h.tree.size(), SealedAt: clock.Stamp(w.Env.Clock.Now())}
	if c.Origin, err = originOf(w); err != nil {
		return s, err
	}
	if c.Root, err = tlog.TreeHash(c.Size, h.tree); err != nil {
		return s, err
	}
	signed, err := note.Sign(&note.Note{Text: c.text()}, key.signer)
	if err != nil {
		return s, err
	}
	s.Checkpoint, s.File = &c, checkpointFile(c.Size)
	return s, h.write(w, key, s.File, signed)
}

// history is the sealed history and the records being added to it.
type history struct {
	tree   *grown
	state  *state
	newest *Checkpoint // nil before the first checkpoint
}

// historyOf returns the history to continue, either from the cached state or from the records.
func historyOf(w *workspace.Workspace, restart bool) (*history, error) {
	if st := loadState(w); st != nil && !restart {
		if tree, newest := st.resume(w); tree != nil {
			return &history{tree, st, newest}, nil
		}
	}
	t, newest, err := loadSealed(w)
	switch {
	case restart && err == nil:
		return nil, fault.New(fault.Conflict, "the sealed history can be continued: seal without --restart")
	case restart && fault.Is(err, fault.Conflict):
		if t, err = supersede(w, err); err != nil {
			return nil, err
		}
		newest = nil
	case err != nil:
		return nil, err
	}
	st := &state{Logs: make(map[string]sealedLog)}
	for log, r := range t.last() {
		st.Logs[log] = sealedLog{Record: r}
	}
	return &history{&grown{lines: t.lines, hashes: t.hashes}, st, newest}, nil
}

// write makes a seal durable: first the records, then the signed checkpoint, then the key file.
// If it is interrupted before the checkpoint, only records remain, and the next seal repeats it.
// Therefore a key next to records without a checkpoint proves that a checkpoint was removed.
func (h *history) write(w *workspace.Workspace, key Key, file string, signed []byte) error {
	if err := h.records(w); err != nil {
		return err
	}
	if err := w.Replace(file, signed, 0o644); err != nil {
		return err
	}
	if err := announce(w, key, signed); err != nil {
		return err
	}
	h.keep(w, file)
	return nil
}

// records appends the new records, or writes all records if the sealed ones are not cached.
func (h *history) records(w *workspace.Workspace) error {
	if h.tree.sealed > 0 {
		return appendRecords(w, h.tree.lines)
	}
	var text []byte
	for _, line := range h.tree.lines {
		text = append(append(text, line...), '\n')
	}
	return w.Replace(recordsFile, text, 0o644)
}

// keep writes the cache for the next seal, best effort.
func (h *history) keep(w *workspace.Workspace, checkpoint string) {
	if err := writeTiles(w, h.tree, h.tree.sealed, h.tree.size()); err == nil {
		h.state.keep(w, checkpoint)
	}
}

// announce adds the key to the public keys, and stores a copy of the newest checkpoint on this
// machine.
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

// complete finishes a first seal that was interrupted after its checkpoint, and writes a missing
// cache.
func (h *history) complete(w *workspace.Workspace, key Key, file string) error {
	if file == "" {
		return nil
	}
	if !w.Exists(KeyFile) {
		signed, err := w.Read(file)
		if err == nil {
			err = announce(w, key, signed)
		}
		if err != nil {
			return err
		}
	}
	if h.tree.sealed > 0 {
		return nil
	}
	if err := h.records(w); err != nil { // drop records that an interrupted seal left behind
		return err
	}
	h.keep(w, file)
	return nil
}

// supersede moves the remains of a history away and starts a new one, whose first record says so.
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

// loadSealed returns the history up to its newest checkpoint, which the records must match. It
// drops later records, which an interrupted seal left behind.
func loadSealed(w *workspace.Workspace) (*tree, *Checkpoint, error) {
	t, err := readTree(w)
	if err != nil {
		return nil, nil, err
	}
	names, err := checkpoints(w)
	if err != nil {
		return nil, nil, err
	}
	if len(names) == 0 {
		return &tree{}, nil, checkNeverSealed(w, t)
	}
	file := names[len(names)-1]
	text, err := w.Read(file)
	if err != nil {
		return nil, nil, err
	}
	// Verify checks the signature; here only the text matters.
	body, _, _ := strings.Cut(string(text), "\n\n")
	newest, err := parseCheckpoint(file, body+"\n")
	if err != nil {
		return nil, nil, err
	}
	if problem := t.mismatch(newest); problem != "" {
		return nil, nil, restartable(fmt.Sprintf("the sealed history does not match %s: %s", file, problem))
	}
	if err := checkNewest(w, newest); err != nil {
		return nil, nil, err
	}
	cut, err := t.first(newest.Size)
	return cut, &newest, err
}

// checkNeverSealed refuses to start a history where there was one before.
func checkNeverSealed(w *workspace.Workspace, t *tree) error {
	switch {
	case w.Exists(standbyFile):
		return restartable("this workspace was sealed on this machine, but its checkpoints are missing")
	case t.size() > 0 && w.Exists(KeyFile): // a seal interrupted before its checkpoint leaves no key
		return restartable(fmt.Sprintf("there are %d records without a checkpoint", t.size()))
	}
	return nil
}

// checkNewest refuses to continue a history if this machine knows a later state of it.
func checkNewest(w *workspace.Workspace, newest Checkpoint) error {
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
		return restartable(fmt.Sprintf("%d records were sealed at %s, but the newest checkpoint covers %d", c.Size, c.SealedAt, newest.Size))
	}
	return nil // a broken copy proves nothing
}

func restartable(why string) error {
	return fault.New(fault.Conflict, "%s (see: ac audit:verify; to start a new history, which is recorded: ac audit:seal --restart)", why)
}

// mismatch returns why a tree does not match a checkpoint, "" if it does.
func (t *tree) mismatch(c Checkpoint) string {
	if c.Size > t.size() {
		return fmt.Sprintf("it covers %d records, but there are %d", c.Size, t.size())
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

// first returns the tree of the first size records.
func (t *tree) first(size int64) (*tree, error) {
	cut := &tree{}
	for i := range size {
		if err := cut.add(t.records[i], t.lines[i]); err != nil {
			return nil, err
		}
	}
	return cut, nil
}

// addGrown adds a record for each log that has grown since its last record.
func addGrown(ctx context.Context, w *workspace.Workspace, h *history, s *SealResult) error {
	there, err := logs(w)
	if err != nil {
		return err
	}
	gone := maps.Clone(h.state.Logs)
	for _, at := range there {
		old := h.state.Logs[at.name]
		delete(gone, at.name)
		if old.Record.Bytes > 0 && old.unchanged(at.version) {
			continue
		}
		l, finding, err := recordOf(ctx, w, at.name, old)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			finding = &Finding{Log: at.name, Code: Unreadable, Message: err.Error()}
		}
		if finding != nil {
			s.Refused = append(s.Refused, *finding)
		}
		if l == nil || l.Record.Bytes == 0 {
			continue
		}
		l.Place = at.version.ID
		if l.Record.Bytes > old.Record.Bytes {
			line, err := json.Marshal(l.Record)
			if err == nil {
				err = h.tree.add(line)
			}
			if err != nil {
				return err
			}
		} else {
			l.Record = old.Record // nothing new: keep the old record
		}
		h.state.Logs[at.name] = *l
	}
	for name := range gone {
		s.Refused = append(s.Refused, Finding{Log: name, Code: Removed, Message: "the log is missing"})
	}
	slices.SortFunc(s.Refused, func(a, b Finding) int { return strings.Compare(a.Log, b.Log) })
	return nil
}

// last returns the newest record of each log.
func (t *tree) last() map[string]Record {
	last := make(map[string]Record)
	for _, r := range t.records {
		if r.Restart == nil {
			last[r.Log] = r
		}
	}
	return last
}

// recordOf records the current state of a log, or returns a finding if the log no longer matches
// its older record.
func recordOf(ctx context.Context, w *workspace.Workspace, name string, old sealedLog) (l *sealedLog, f *Finding, err error) {
	log, err := open(w, name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	sealed := old.Record.Bytes
	if log.size < sealed {
		return nil, &Finding{Log: name, Code: Shortened, Message: fmt.Sprintf("%d bytes were sealed, but it has %d", sealed, log.size)}, nil
	}
	if l, err := old.resume(ctx, w, log); l != nil || err != nil {
		return l, nil, err
	}
	if sealed > 0 {
		sum, err := log.hashTo(ctx, sealed)
		if err != nil {
			return nil, nil, err
		}
		if sum != old.Record.SHA256 {
			return nil, &Finding{Log: name, Code: Changed, Message: fmt.Sprintf("one of the first %d bytes was changed", sealed)}, nil
		}
	}
	l, err = log.record(ctx, w, name)
	return l, nil, err
}
