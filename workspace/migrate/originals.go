package migrate

// What a migration keeps: the originals of logs whose seals change, pending changes of run
// records, and the migration state of the workspace.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// Dir returns the directory in which a migration keeps originals.
func Dir() string { return workspace.MigrationsDir + "/" + EnvelopeID }

func (l *log) keepDir() string    { return path.Join(Dir(), l.project) }
func (l *log) intentFile() string { return path.Join(l.keepDir(), l.run+".checkpoint.json") }

// rewriting returns the function that writes the log's new text. The function keeps what
// would be lost before the new text replaces the old.
func (l *log) rewriting(last **sealer) events.Rewriting {
	return func(in io.Reader, out io.Writer) (bool, error) {
		s, err := l.sealer()
		if err != nil {
			return false, err
		}
		*last = s
		if err := s.read(in, out); err != nil || s.refused {
			return false, err
		}
		if s.rewritten == 0 && !s.reshaped {
			return false, nil
		}
		if l.opts.Force || s.resealed {
			whole, ok := in.(io.Seeker)
			if !ok {
				return false, errors.New("the log is unreadable")
			}
			if _, err := whole.Seek(0, io.SeekStart); err != nil {
				return false, err
			}
			if err := l.keepOriginal(in); err != nil {
				return false, err
			}
		}
		return true, l.moveCheckpoint(s)
	}
}

// keepOriginal copies the log unchanged. It never overwrites an earlier copy.
func (l *log) keepOriginal(in io.Reader) error {
	fsys := l.w.FS
	name := path.Join(l.keepDir(), l.run+".events.jsonl")
	if err := durable.MkdirAll(fsys, l.keepDir(), 0o755); err != nil {
		return err
	}
	temp := l.w.TempName(name)
	sum, err := copyTo(fsys, temp, in)
	if err != nil {
		return errors.Join(fmt.Errorf("keep the original: %w", err), ignoreMissing(fsys.Remove(temp)))
	}
	for n := 2; durable.Exists(fsys, name); n++ {
		if old, err := sumOf(fsys, name); err == nil && bytes.Equal(old, sum) {
			return fsys.Remove(temp)
		}
		name = path.Join(l.keepDir(), fmt.Sprintf("%s.events-%d.jsonl", l.run, n))
	}
	if err := fsys.Rename(temp, name); err != nil {
		return errors.Join(err, ignoreMissing(fsys.Remove(temp)))
	}
	return fsys.SyncDir(l.keepDir())
}

func copyTo(fsys durable.FS, name string, in io.Reader) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, sum), in)
	if err == nil {
		err = f.SyncData()
	}
	return sum.Sum(nil), errors.Join(err, f.Close())
}

func sumOf(fsys durable.FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), errors.Join(err, f.Close())
}

// checkpointMove is a write-ahead record, durable before the log is replaced. It holds the hash at the
// line of the run's checkpoint, before and after the migration.
type checkpointMove struct {
	Count  int64  `json:"count"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// moveCheckpoint updates the run's checkpoint to match the new log, if it matched the old
// one. If it did not, the mismatch remains.
func (l *log) moveCheckpoint(s *sealer) error {
	c := s.checkpoint
	if c == nil || c.Count == 0 || s.headBefore != c.Head || s.headAfter == c.Head {
		return nil
	}
	text, err := json.Marshal(checkpointMove{Count: c.Count, Before: s.headBefore, After: s.headAfter})
	if err != nil {
		return err
	}
	if err := l.w.Replace(l.intentFile(), append(text, '\n'), 0o644); err != nil {
		return err
	}
	return l.putHead(s.headAfter)
}

// record returns the run's record, or an empty one if it is missing or invalid, which
// validation reports. A record that cannot be read now is an error, since it may hold a
// checkpoint that has to be updated.
func (l *log) record() (run doc.Run, err error) {
	name := workspace.RunFile(l.project, l.run)
	if l.unit != nil {
		run, err = workspace.LoadIn(l.unit, doc.RunCodec, name)
	} else {
		run, err = workspace.Load(l.w, doc.RunCodec, name)
	}
	if _, failed := errors.AsType[*fs.PathError](err); failed && !errors.Is(err, durable.ErrIrregular) && !fault.Is(err, fault.NotFound) {
		return run, err
	}
	if err != nil {
		return doc.Run{}, nil //nolint:nilerr // see above
	}
	return run, nil
}

func (l *log) putHead(head string) error {
	name := workspace.RunFile(l.project, l.run)
	run, err := l.record()
	if err != nil || run.Log == nil {
		return err
	}
	run.Log = &events.Checkpoint{Count: run.Log.Count, Head: head}
	return workspace.Put(l.unit, doc.RunCodec, name, run, 0o644)
}

// finish updates the run's record if an earlier migration replaced the log and died before
// updating the record.
func (l *log) finish() error {
	text, err := l.w.Read(l.intentFile())
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	var m checkpointMove
	if err != nil || json.Unmarshal(text, &m) != nil {
		return err
	}
	run, err := l.record()
	if err != nil || run.Log == nil || run.Log.Count != m.Count || run.Log.Head != m.Before {
		return err
	}
	f, err := l.w.FS.OpenFile(l.name(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	s := &sealer{run: l.run, force: true, checkpoint: run.Log}
	if err := errors.Join(s.read(f, nil), f.Close()); err != nil {
		return err
	}
	if s.headBefore != m.After {
		return nil // the log has not been replaced yet
	}
	return l.putHead(m.After)
}

func (l *log) dropIntent() error { return ignoreMissing(l.w.FS.Remove(l.intentFile())) }

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// state reads the list of applied migrations.
func state(text []byte) ([]doc.Opaque, error) {
	root, err := yamldoc.Parse(text)
	if err != nil {
		return nil, fault.New(fault.InvalidFile, "%s: %w", StateFile, err)
	}
	if list := root.Get("applied"); root.Kind == shape.Map && list.Kind == shape.List {
		return list.Items, nil
	}
	return nil, nil
}

func isThis(entry *doc.Opaque) bool {
	id := entry.Get("id")
	return entry.Kind == shape.Map && id.Kind == shape.String && strings.TrimSpace(id.Text) == EnvelopeID
}

// applied reports whether the migration was already applied.
func applied(w *workspace.Workspace) (bool, error) {
	text, err := w.Read(StateFile)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	entries, err := state(text)
	for i := range entries {
		if isThis(&entries[i]) {
			return true, err
		}
	}
	return false, err
}

// record stores the migration in the list of applied ones.
func record(ctx context.Context, w *workspace.Workspace, c Counts) error {
	return w.Update(ctx, func(u *workspace.Unit) error {
		old, err := u.Read(StateFile)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		entries, err := state(old)
		if err != nil {
			return err
		}
		m := doc.Migrations{SchemaVersion: doc.Version, Type: "workspace_migration_state"}
		for i := range entries {
			if !isThis(&entries[i]) {
				m.Applied = append(m.Applied, entries[i])
			}
		}
		m.Applied = append(m.Applied, entryOf(c, clock.Stamp(w.Env.Clock.Now())))
		text, err := doc.MigrationsCodec.Rewrite(old, m)
		if err != nil {
			return err
		}
		return u.Write(StateFile, text, 0o644)
	})
}

func entryOf(c Counts, at string) doc.Opaque {
	entry := doc.EmptyMap()
	add := func(key string, value shape.Value) {
		entry.Keys, entry.Items = append(entry.Keys, key), append(entry.Items, value)
	}
	add("id", shape.Value{Kind: shape.String, Text: EnvelopeID})
	add("applied_at", shape.Value{Kind: shape.String, Text: at})
	add("dry_run", shape.Value{Kind: shape.Bool})
	for _, count := range []struct {
		key string
		n   int
	}{
		{"files_scanned", c.FilesScanned}, {"files_updated", c.FilesUpdated},
		{"events_rewritten", c.EventsRewritten}, {"parse_errors", c.ParseErrors},
	} {
		add(count.key, shape.Value{Kind: shape.Number, Num: float64(count.n)})
	}
	return entry
}
