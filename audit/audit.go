// Package audit seals the history of a workspace: a signed checkpoint over all
// its logs, from which it can be proved later, with the public key alone, that no
// sealed log was changed, shortened or removed since.
//
// These files lie in company/audit:
//
//	records.jsonl            a line for each log whenever a seal finds it grown
//	checkpoints/<size>.txt   a signed note over the first <size> records
//	tile/8/                  the hashes over the records, in tiles
//	key.pub                  the public key of those who seal here
//	superseded/<n>/          an older history, where a new one was begun over it
//
// The records are the leaves of a Merkle tree as certificate logs use it (RFC
// 6962), a checkpoint is a signed note over the size and the root of the tree.
// Both, and the proofs, are those of golang.org/x/mod/sumdb.
//
// A record says how long a log was and what the SHA-256 of these bytes is.
// Records are only ever added, so that whoever kept one checkpoint can hold the
// whole history before it against it.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"iter"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/durable"
	"ac/workspace"
)

// The places of what is sealed.
const (
	Dir            = "company/audit"
	recordsFile    = Dir + "/records.jsonl"
	checkpointsDir = Dir + "/checkpoints"
	// KeyFile is the public key of those who seal a workspace.
	KeyFile  = Dir + "/key.pub"
	lockFile = workspace.LocksDir + "/audit.lock"
	// standbyFile is a copy of the newest checkpoint outside of Dir, so that a
	// history that was removed as a whole is missed on the machine that sealed it.
	standbyFile = workspace.AuditDir + "/newest.txt"
	// supersededDir keeps what was sealed before a restart.
	supersededDir = Dir + "/superseded"
)

// maxRecords bounds the file of records: some four million of them.
const maxRecords = 1 << 30

// Record is one log at one time: a leaf of the tree.
type Record struct {
	Log      string `json:"log"`    // relative to the workspace
	Bytes    int64  `json:"bytes"`  // how long it was, up to the end of a line
	Lines    int64  `json:"lines"`  // how many of these bytes are LF
	SHA256   string `json:"sha256"` // of these bytes, in hex
	SealedAt string `json:"sealed_at"`
	// Restart stands alone in the first record of a history that was begun over an
	// older one.
	Restart *Restart `json:"restart,omitempty"`
}

// Restart says that a new history was begun although there was one before.
type Restart struct {
	At     string `json:"at"`
	Reason string `json:"reason"` // why the older one could not be gone on with
	// Size and Root are those of the newest checkpoint that was known then, 0 and ""
	// when there was none.
	Size int64  `json:"size"`
	Root string `json:"root,omitempty"`
}

// tree is the records of a workspace and the hashes over them.
type tree struct {
	records []Record
	lines   [][]byte    // of each record, without its LF: the leaves
	hashes  []tlog.Hash // as tlog stores them
}

// ReadHashes makes a tree the source of its own hashes.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at >= int64(len(t.hashes)) {
			return nil, errors.New("a hash beyond the tree")
		}
		out[i] = t.hashes[at]
	}
	return out, nil
}

func (t *tree) size() int64 { return int64(len(t.records)) }

func (t *tree) add(r Record, line []byte) error {
	hashes, err := tlog.StoredHashes(t.size(), line, t)
	if err != nil {
		return err
	}
	t.hashes = append(t.hashes, hashes...)
	t.records, t.lines = append(t.records, r), append(t.lines, line)
	return nil
}

// readTree reads the records. Lines behind the last one that is whole and a
// record are left out: a seal that was interrupted leaves them, and no
// checkpoint covers them.
func readTree(w *workspace.Workspace) (*tree, error) {
	t := &tree{}
	text, err := durable.ReadFile(w.FS, recordsFile, maxRecords)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		var r Record
		if !whole || json.Unmarshal(line, &r) != nil {
			return t, nil //nolint:nilerr // see above
		}
		if err := t.add(r, line); err != nil {
			return nil, err
		}
		text = rest
	}
}

// logFile is where a log lies, and how it looked there.
type logFile struct {
	name    string
	version durable.Version // zero for what is no file
}

// logs lists the logs of a workspace: those of its runs, and that of the policy
// decisions without a run. Whatever has the name of a log is one: what cannot be read as
// one is a finding.
func logs(w *workspace.Workspace) (found []logFile, err error) {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	for _, project := range projects {
		if found, err = logsOf(w, found, project); err != nil {
			return nil, err
		}
	}
	if _, err := w.FS.Lstat(workspace.AuditLog); err == nil {
		found = append(found, logFile{name: workspace.AuditLog})
	}
	return found, nil
}

func logsOf(w *workspace.Workspace, found []logFile, project string) ([]logFile, error) {
	runs, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
	if err != nil || len(runs) == 0 {
		return found, err
	}
	dir, err := durable.OpenDir(w.FS, workspace.RunsDir(project))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for _, run := range runs {
		name := workspace.LogFile(project, run)
		version, kind, err := dir.Look(run + "/" + path.Base(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_, err = w.FS.Lstat(name) // the folder of the run may be a link
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !kind.IsRegular() {
			version = durable.Version{}
		}
		found = append(found, logFile{name, version})
	}
	return found, nil
}

// reading is a log under way: the hash of what was read of it so far.
type reading struct {
	file  durable.File
	id    durable.Identity
	size  int64
	hash  hash.Hash
	bytes int64
	lines int64
}

// open opens a log. Its size is that of this moment.
func open(w *workspace.Workspace, name string) (*reading, error) {
	file, err := w.FS.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &reading{file: file, id: durable.IdentityOf(st), size: st.Size(), hash: sha256.New()}, nil
}

func (r *reading) Close() error { return r.file.Close() }

// to reads on to a place and gives the hash of all bytes before it.
func (r *reading) to(ctx context.Context, end int64) (sum string, err error) {
	block := make([]byte, 256<<10)
	for r.bytes < end {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		read := block[:min(int64(len(block)), end-r.bytes)]
		if _, err := r.file.ReadAt(read, r.bytes); err != nil {
			return "", err
		}
		r.bytes += int64(len(read))
		r.lines += int64(bytes.Count(read, []byte{'\n'}))
		r.hash.Write(read)
	}
	return hex.EncodeToString(r.hash.Sum(nil)), nil
}

// lines are the lines of a text that hold something.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// checkpointFile names the checkpoint of a tree so that names sort by size.
func checkpointFile(size int64) string {
	return path.Join(checkpointsDir, fmt.Sprintf("%012d.txt", size))
}

// sizeOf reads the size of the tree from a checkpoint's name.
func sizeOf(name string) (size int64, ok bool) {
	size, err := strconv.ParseInt(strings.TrimSuffix(name, ".txt"), 10, 64)
	return size, err == nil && path.Base(checkpointFile(size)) == name
}
