// Package audit seals the history of a workspace with a signed checkpoint over all its logs.
// Later, the public key alone suffices to prove that no sealed log was changed, truncated or
// removed.
//
// Files in company/audit:
//
//	records.jsonl            one line per log, whenever a seal finds that the log grew
//	checkpoints/<size>.txt   a signed note over the first <size> records
//	tile/8/                  the hashes of the records, in tiles
//	key.pub                  the public keys of those who sealed here
//	superseded/<n>/          an older history that a new one replaced
//
// The records are the leaves of a Merkle tree, as in certificate transparency logs (RFC 6962). A
// checkpoint is a signed note over the size and the root of the tree. The formats of both and of
// the proofs are those of golang.org/x/mod/sumdb.
//
// A record contains the length of a log and the SHA-256 of its bytes. Records are append-only, so
// anyone who keeps one checkpoint can verify the whole history before it.
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

// Files and directories of a sealed history.
const (
	Dir            = "company/audit"
	recordsFile    = Dir + "/records.jsonl"
	checkpointsDir = Dir + "/checkpoints"
	// KeyFile holds the public keys of those who sealed the workspace.
	KeyFile  = Dir + "/key.pub"
	lockFile = workspace.LocksDir + "/audit.lock"
	// standbyFile is a copy of the newest checkpoint outside of Dir. It lets the machine that
	// sealed a history notice if all of Dir was removed.
	standbyFile = workspace.AuditDir + "/newest.txt"
	// supersededDir contains the histories that restarts replaced.
	supersededDir = Dir + "/superseded"
)

// maxRecords is the maximum size of recordsFile in bytes: about four million records.
const maxRecords = 1 << 30

// Record is the state of one log at one time. It is a leaf of the tree.
type Record struct {
	Log      string `json:"log"`    // relative to the workspace
	Bytes    int64  `json:"bytes"`  // length of the log in bytes, up to the end of a line
	Lines    int64  `json:"lines"`  // the number of LF in these bytes
	SHA256   string `json:"sha256"` // of these bytes, in hexadecimal
	SealedAt string `json:"sealed_at"`
	// Restart is set in the first record of a history that replaced an older one. Such a record
	// describes no log.
	Restart *Restart `json:"restart,omitempty"`
}

// Restart records that a new history replaced an older one.
type Restart struct {
	At     string `json:"at"`
	Reason string `json:"reason"` // why the older one could not be continued
	// Size and Root are from the newest known checkpoint of the older history; 0 and "" if there
	// was none.
	Size int64  `json:"size"`
	Root string `json:"root,omitempty"`
}

// tree contains the records of a workspace and the hashes over them.
type tree struct {
	records []Record
	lines   [][]byte    // of each record, without its LF: the leaves
	hashes  []tlog.Hash // as tlog stores them
}

// ReadHashes implements tlog.HashReader.
func (t *tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		if at >= int64(len(t.hashes)) {
			return nil, errors.New("a hash outside the tree")
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

// readTree reads the records. It ignores lines after the last complete and valid one: an
// interrupted seal left them, and no checkpoint covers them.
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

// logFile is a log file with its version.
type logFile struct {
	name    string
	version durable.Version // zero if it is not a file
}

// logs lists the logs of a workspace: those of its runs, and the log of policy decisions without
// a run. It also lists unreadable entries, which become findings.
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
		version, kind, err := dir.Lstat(run + "/" + path.Base(name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_, err = w.FS.Lstat(name) // the run's directory may be a symlink
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

// reading is the state of reading a log: the offset and the hash of the bytes so far.
type reading struct {
	file  durable.File
	id    durable.Identity
	size  int64
	hash  hash.Hash
	bytes int64
	lines int64
}

// open opens a log at its current size.
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

// hashTo reads up to an offset and returns the hash of all bytes before that offset.
func (r *reading) hashTo(ctx context.Context, end int64) (sum string, err error) {
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

// lines iterates over the non-blank lines of a text.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(line) {
				return
			}
		}
	}
}

// checkpointFile returns the file of a tree's checkpoint. Names sort by size.
func checkpointFile(size int64) string {
	return path.Join(checkpointsDir, fmt.Sprintf("%012d.txt", size))
}

// sizeOf parses the size of the tree from a checkpoint's name.
func sizeOf(name string) (size int64, ok bool) {
	size, err := strconv.ParseInt(strings.TrimSuffix(name, ".txt"), 10, 64)
	return size, err == nil && path.Base(checkpointFile(size)) == name
}
