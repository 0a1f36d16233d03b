package audit

// Incremental sealing. A cache in .local/audit contains the state of each log at this machine's
// last seal, so that a seal reads only new bytes. If the cache is missing or invalid, a seal
// reads everything.
//
// A resumed hash continues from the bytes that were sealed, even if the log contains other bytes
// there now. So a log that was changed since never gets a record that matches the change.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/gob"
	"errors"
	"hash"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/workspace"
)

const (
	stateFile = workspace.AuditDir + "/state"
	// stateVersion changes whenever the meaning of the state changes.
	stateVersion = 1
	// maxState is the maximum size of the file in bytes: more than a million logs.
	maxState = 1 << 29
	// tailBytes is how many bytes before the sealed end are compared before a log is resumed.
	tailBytes = 4 << 10
)

// state is the cache that a seal leaves for the next one.
type state struct {
	Version    int
	Records    durable.Version // of records.jsonl
	Checkpoint string          // the newest
	Text       string          // of it
	Logs       map[string]sealedLog
}

// sealedLog is the sealed state of a log.
type sealedLog struct {
	Record Record
	ID     durable.Identity // of the open file
	Place  durable.Identity // as in the directory entry
	Seen   int64            // size when sealed; a torn tail may follow the sealed bytes
	Hash   []byte           // SHA-256 state after the sealed bytes, nil if the log was not read
	Tail   [sha256.Size]byte
}

// loadState reads the state. It returns nil if there is no valid one.
func loadState(w *workspace.Workspace) *state {
	text, err := durable.ReadFile(w.FS, stateFile, maxState)
	if err != nil {
		return nil
	}
	var s state
	if gob.NewDecoder(bytes.NewReader(text)).Decode(&s) != nil || s.Version != stateVersion {
		return nil
	}
	return &s
}

// resume returns the sealed history that matches the state, nil if there is none.
func (s *state) resume(w *workspace.Workspace) (*grown, *Checkpoint) {
	names, err := checkpoints(w)
	if err != nil || len(names) == 0 || names[len(names)-1] != s.Checkpoint || s.Records != recordsVersion(w) {
		return nil, nil
	}
	text, err := w.Read(s.Checkpoint)
	if err != nil || string(text) != s.Text {
		return nil, nil
	}
	body, _, _ := strings.Cut(s.Text, "\n\n")
	newest, err := parseCheckpoint(s.Checkpoint, body+"\n")
	if err != nil || checkNewest(w, newest) != nil {
		return nil, nil
	}
	hashes := tlog.TileHashReader(tlog.Tree{N: newest.Size, Hash: newest.Root}, tiles{w})
	g := &grown{sealed: newest.Size, before: hashes}
	if _, err := tlog.TreeHash(newest.Size, g); err != nil {
		return nil, nil // tiles are missing or do not match
	}
	return g, &newest
}

func recordsVersion(w *workspace.Workspace) durable.Version {
	st, err := w.FS.Lstat(recordsFile)
	if err != nil || !st.Mode().IsRegular() {
		return durable.Version{}
	}
	return durable.VersionOf(st)
}

// keep writes the state of a durable history, best effort. Without it the next seal reads
// everything.
func (s *state) keep(w *workspace.Workspace, checkpoint string) {
	text, err := w.Read(checkpoint)
	if err != nil {
		return
	}
	s.Version, s.Records, s.Checkpoint, s.Text = stateVersion, recordsVersion(w), checkpoint, string(text)
	var encoded bytes.Buffer
	if gob.NewEncoder(&encoded).Encode(s) == nil {
		_ = writeUnsynced(w, stateFile, encoded.Bytes())
	}
}

// appendRecords appends the records of a seal to the file of records, which must be unchanged.
func appendRecords(w *workspace.Workspace, lines [][]byte) error {
	f, err := w.FS.OpenFile(recordsFile, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	text := append(bytes.Join(lines, []byte{'\n'}), '\n')
	return errors.Join(durable.WriteAll(f, text), f.SyncData(), f.Close())
}

// unchanged reports whether a log has nothing new. Without cached state, or for something that is
// not a file, the identity is zero and counts as changed.
func (l sealedLog) unchanged(v durable.Version) bool {
	return l.Place != durable.Identity{} && l.Place == v.ID && l.Seen == v.Size
}

// resume records what is new in a log. It returns nil if the cached state does not allow resuming.
func (l sealedLog) resume(ctx context.Context, w *workspace.Workspace, log *reading) (*sealedLog, error) {
	if l.Hash == nil || l.Record.Bytes == 0 || log.id != l.ID || log.size < l.Record.Bytes {
		return nil, nil
	}
	tail, err := log.tail(l.Record.Bytes)
	if err != nil || tail != l.Tail {
		return nil, err
	}
	resumed, ok := log.hash.(encoding.BinaryUnmarshaler)
	if !ok {
		return nil, nil
	}
	if err := resumed.UnmarshalBinary(l.Hash); err != nil {
		return nil, nil //nolint:nilerr // the state of another release, or none
	}
	log.bytes, log.lines = l.Record.Bytes, l.Record.Lines
	return log.record(ctx, w, l.Record.Log)
}

// record reads up to the end of the last complete line.
func (r *reading) record(ctx context.Context, w *workspace.Workspace, name string) (*sealedLog, error) {
	end, err := durable.WholeLines(r.file, r.size)
	if err != nil {
		return nil, err
	}
	l := &sealedLog{Record: Record{Log: name, Bytes: max(end, r.bytes), SealedAt: clock.Stamp(w.Env.Clock.Now())}, ID: r.id, Seen: r.size}
	if l.Record.SHA256, err = r.hashTo(ctx, l.Record.Bytes); err != nil {
		return nil, err
	}
	l.Record.Lines = r.lines
	if l.Tail, err = r.tail(l.Record.Bytes); err != nil {
		return nil, err
	}
	l.Hash, err = stateOf(r.hash)
	return l, err
}

func stateOf(h hash.Hash) ([]byte, error) {
	m, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return nil, nil
	}
	return m.MarshalBinary()
}

// tail returns the hash of the last bytes before an offset.
func (r *reading) tail(end int64) (sum [sha256.Size]byte, err error) {
	block := make([]byte, min(tailBytes, end))
	if _, err := r.file.ReadAt(block, end-int64(len(block))); err != nil {
		return sum, err
	}
	return sha256.Sum256(block), nil
}
