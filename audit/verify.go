package audit

// Verification: it needs only the public key, no network and no server.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ac/internal/fault"
	"ac/workspace"
)

// Codes of findings.
const (
	Changed      = "changed"       // a log's bytes differ from the sealed ones
	Shortened    = "shortened"     // a log has fewer bytes than were sealed
	Removed      = "removed"       // a sealed log is missing
	BadSignature = "bad_signature" // a checkpoint is not signed by the key
	BadHistory   = "bad_history"   // the records differ from those that a checkpoint covers
	RolledBack   = "rolled_back"   // a checkpoint kept elsewhere is from a later or another history
	Unsealed     = "unsealed"      // nothing is sealed, although a key or a checkpoint was given
	Unreadable   = "unreadable"    // a log cannot be read as a file
)

// Finding is a deviation from the sealed state.
type Finding struct {
	Log     string `json:"log,omitempty"`
	File    string `json:"file,omitempty"` // of a checkpoint or the key
	Code    string `json:"code"`
	Message string `json:"message"`
	// From and To are the range of the first different bytes of a changed log.
	From int64 `json:"from,omitempty"`
	To   int64 `json:"to,omitempty"`
}

// LogReport describes how much of a log is sealed.
type LogReport struct {
	Log         string `json:"log"`
	Bytes       int64  `json:"bytes"`        // current length
	SealedBytes int64  `json:"sealed_bytes"` // 0 if the log was never sealed
	SealedLines int64  `json:"sealed_lines"`
	SealedAt    string `json:"sealed_at,omitempty"`
	OK          bool   `json:"ok"` // the sealed bytes are unchanged
}

// Report is the result of a verification. Findings are in the order of sealing, oldest first.
type Report struct {
	OK          bool        `json:"ok"`
	Key         string      `json:"key"`
	Newest      *Checkpoint `json:"newest"` // newest that matches the history, even if kept elsewhere; nil for none
	Checkpoints int         `json:"checkpoints"`
	Records     int64       `json:"records"`
	Logs        []LogReport `json:"logs"`
	Findings    []Finding   `json:"findings"`
	// Restarts are the times at which a new history replaced an older one. Nothing is proved
	// about what was sealed before.
	Restarts []Restart `json:"restarts,omitempty"`
}

// Options select the evidence for a verification.
type Options struct {
	// Key is the public key, or a file that contains it. If it is empty, the workspace's own keys
	// count. Those prove nothing against someone who could write there.
	Key string
	// Kept are files of checkpoints that were kept elsewhere.
	Kept []string
}

// Verify verifies the logs of a workspace against the records, and the records against every
// checkpoint. It also verifies the checkpoints against each other and against those kept
// elsewhere. Everything that the latest of these covers must exist, even if a checkpoint of the
// workspace was removed. Verify does not write.
func Verify(ctx context.Context, w *workspace.Workspace, opts Options) (Report, error) {
	v := verification{w: w, report: Report{Logs: []LogReport{}, Findings: []Finding{}}}
	keys, err := v.keys(opts)
	if err != nil {
		return v.report, err
	}
	if v.tree, err = readTree(w); err != nil {
		return v.report, err
	}
	v.report.Records = v.tree.size()
	if err := v.checkpoints(keys); err != nil {
		return v.report, err
	}
	if err := v.checkKept(opts.Kept, keys); err != nil {
		return v.report, err
	}
	if err := v.standby(keys); err != nil {
		return v.report, err
	}
	if v.report.Newest == nil && (opts.Key != "" || len(opts.Kept) > 0) {
		v.addFinding(Finding{File: checkpointsDir, Code: Unsealed, Message: "nothing is sealed here, but a key or a checkpoint was given"})
	}
	v.restarts()
	if err := v.logs(ctx); err != nil {
		return v.report, err
	}
	v.report.OK = len(v.report.Findings) == 0
	return v.report, nil
}

type verification struct {
	w      *workspace.Workspace
	tree   *tree
	report Report
}

func (v *verification) addFinding(f Finding) { v.report.Findings = append(v.report.Findings, f) }

// keys returns the accepted keys.
func (v *verification) keys(opts Options) (keys []note.Verifier, err error) {
	if opts.Key != "" {
		key, err := verifierOf(opts.Key)
		if err != nil {
			return nil, err
		}
		v.report.Key = fmt.Sprintf("%s+%08x", key.Name(), key.KeyHash())
		return []note.Verifier{key}, nil
	}
	text, err := v.w.Read(KeyFile)
	if fault.Is(err, fault.NotFound) && (len(opts.Kept) > 0 || v.w.Exists(standbyFile)) {
		v.addFinding(Finding{File: KeyFile, Code: Removed, Message: "the workspace was sealed, but its public key is missing"})
		return nil, nil
	}
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "nothing is sealed here yet: there is no %s (see: ac audit:seal)", KeyFile)
	}
	if err != nil {
		return nil, err
	}
	for line := range lines(text) {
		key, err := parseKey(KeyFile, line)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	v.report.Key = KeyFile
	return keys, nil
}

// checkpoints verifies the records against every checkpoint of the workspace. It proves that each
// checkpoint continues the history of the previous one.
func (v *verification) checkpoints(keys []note.Verifier) error {
	names, err := checkpoints(v.w)
	if err != nil {
		return err
	}
	v.report.Checkpoints = len(names)
	var before *Checkpoint
	for _, name := range names {
		text, err := v.w.Read(name)
		if err != nil {
			return err
		}
		c, err := readCheckpoint(name, text, keys...)
		if err == nil && path.Base(checkpointFile(c.Size)) != path.Base(name) {
			err = fault.New(fault.InvalidFile, "%s is the checkpoint of %d records", name, c.Size)
		}
		if err != nil {
			v.addFinding(Finding{File: name, Code: BadSignature, Message: err.Error()})
			continue
		}
		if problem := v.tree.mismatch(c); problem != "" {
			v.addFinding(Finding{File: name, Code: BadHistory, Message: problem})
			continue
		}
		if err := v.consistent(before, c); err != nil {
			v.addFinding(Finding{File: name, Code: BadHistory, Message: err.Error()})
		}
		before = &c
	}
	v.report.Newest = before
	return nil
}

// consistent proves that before is an earlier state of c's history.
func (v *verification) consistent(before *Checkpoint, c Checkpoint) error {
	if before == nil {
		return nil
	}
	if before.Origin != c.Origin {
		return fmt.Errorf("it is for %s, not for %s", c.Origin, before.Origin)
	}
	proof, err := tlog.ProveTree(c.Size, before.Size, v.tree)
	if err != nil {
		return err
	}
	return tlog.CheckTree(proof, c.Size, c.Root, before.Size, before.Root)
}

// checkKept verifies the history against checkpoints kept elsewhere.
func (v *verification) checkKept(files []string, keys []note.Verifier) error {
	origin, err := originOf(v.w)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return fault.New(fault.NotFound, "%s: %w", file, err)
		}
		c, err := readCheckpoint(file, text, keys...)
		switch {
		case err != nil:
			v.addFinding(Finding{File: file, Code: BadSignature, Message: err.Error()})
		case c.Origin != origin:
			v.addFinding(Finding{File: file, Code: RolledBack, Message: fmt.Sprintf("it is for %s, but this is %s", c.Origin, origin)})
		default:
			v.checkTrusted(file, c)
		}
	}
	return nil
}

// checkTrusted verifies the history against a trusted checkpoint from elsewhere. Everything that this
// checkpoint covers must exist.
func (v *verification) checkTrusted(file string, c Checkpoint) {
	if problem := v.tree.mismatch(c); problem != "" {
		v.addFinding(Finding{File: file, Code: RolledBack, Message: problem})
		return
	}
	if v.report.Newest == nil || v.report.Newest.Size < c.Size {
		v.report.Newest = &c
	}
}

// standby verifies the history against this machine's copy of the newest checkpoint.
func (v *verification) standby(keys []note.Verifier) error {
	text, err := v.w.Read(standbyFile)
	if fault.Is(err, fault.NotFound) || len(keys) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := readCheckpoint(standbyFile, text, keys...)
	if err != nil {
		return nil //nolint:nilerr // signed by another key than the given one: it proves nothing
	}
	if v.report.Newest == nil || v.report.Newest.Size < c.Size {
		v.checkTrusted(standbyFile, c)
	}
	return nil
}

// restarts lists the restarts in the covered history.
func (v *verification) restarts() {
	if v.report.Newest == nil {
		return
	}
	for _, r := range v.tree.records[:v.report.Newest.Size] {
		if r.Restart != nil {
			v.report.Restarts = append(v.report.Restarts, *r.Restart)
		}
	}
}

// logs verifies every log against its records. It reads each log once.
func (v *verification) logs(ctx context.Context) error {
	there, err := logs(v.w)
	if err != nil {
		return err
	}
	covered := int64(0)
	if v.report.Newest != nil {
		covered = v.report.Newest.Size
	}
	sealed := map[string][]Record{}
	var order []string
	for _, r := range v.tree.records[:covered] {
		if r.Restart != nil {
			continue
		}
		if sealed[r.Log] == nil {
			order = append(order, r.Log)
		}
		sealed[r.Log] = append(sealed[r.Log], r)
	}
	for _, log := range there {
		if sealed[log.name] == nil {
			order = append(order, log.name)
		}
	}
	for _, name := range order {
		if err := v.log(ctx, name, sealed[name]); err != nil {
			if ctx.Err() != nil {
				return err
			}
			v.addFinding(Finding{Log: name, Code: Unreadable, Message: err.Error()})
		}
	}
	return nil
}

func (v *verification) log(ctx context.Context, name string, records []Record) (err error) {
	report := LogReport{Log: name, OK: true}
	if len(records) > 0 {
		newest := records[len(records)-1]
		report.SealedBytes, report.SealedLines, report.SealedAt = newest.Bytes, newest.Lines, newest.SealedAt
	}
	log, err := open(v.w, name)
	if errors.Is(err, fs.ErrNotExist) {
		report.OK = false
		v.addFinding(Finding{Log: name, Code: Removed, Message: "it was sealed and is missing"})
		v.report.Logs = append(v.report.Logs, report)
		return nil
	}
	if err != nil {
		report.OK = false
		v.report.Logs = append(v.report.Logs, report)
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	report.Bytes = log.size
	f, err := log.against(ctx, name, records)
	if f != nil {
		report.OK = false
		v.addFinding(*f)
	}
	v.report.Logs = append(v.report.Logs, report)
	return err
}

// against returns a finding for the first record that a log does not match.
func (r *reading) against(ctx context.Context, name string, records []Record) (*Finding, error) {
	slices.SortStableFunc(records, func(a, b Record) int { return int(min(1, max(-1, a.Bytes-b.Bytes))) })
	for _, record := range records {
		from := r.bytes
		if record.Bytes > r.size {
			return &Finding{Log: name, Code: Shortened, Message: fmt.Sprintf("%d bytes were sealed at %s, but it has %d", record.Bytes, record.SealedAt, r.size)}, nil
		}
		sum, err := r.hashTo(ctx, record.Bytes)
		if err != nil {
			return nil, err
		}
		if sum != record.SHA256 {
			return &Finding{
				Log: name, Code: Changed, From: from, To: record.Bytes,
				Message: fmt.Sprintf("bytes between %d and %d differ from those sealed at %s", from, record.Bytes, record.SealedAt),
			}, nil
		}
	}
	return nil, nil
}
