package governance

// Deciding on memory deltas: previewing, approving and denying them.

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/internal/patch"
	"ac/internal/redact"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

// delta is a memory delta that can be decided on.
type delta struct {
	doc.MemoryDelta
	target target
}

// openDelta reads a delta and checks it against the rules of its type, of its target and of its
// patch file.
func openDelta(w *workspace.Workspace, r Reader, item Item) (delta, error) {
	if err := mustExist(w, item.ProjectID); err != nil {
		return delta{}, err
	}
	record, err := ReadArtifact(r, item.ProjectID, item.ArtifactID)
	if err != nil {
		return delta{}, err
	}
	head, err := DecodeItem(record, doc.MemoryDeltaCodec)
	if err != nil {
		return delta{}, err
	}
	if head.Type != "memory_delta" {
		return delta{}, fault.New(fault.InvalidFile, "%s is a %s, not a memory_delta", record.Name, head.Type)
	}
	if err := record.InProject(item.ProjectID); err != nil {
		return delta{}, err
	}
	d := delta{MemoryDelta: head}
	if d.target, err = findTarget(w, head.TargetFile); err != nil {
		return d, err
	}
	d.PatchFile = path.Clean(head.PatchFile)
	if path.Dir(d.PatchFile) != workspace.ArtifactsDir(item.ProjectID) || !strings.HasSuffix(d.PatchFile, ".patch") {
		return d, fault.New(fault.InvalidFile, "%s: patch_file must be a .patch in %s", record.Name, workspace.ArtifactsDir(item.ProjectID))
	}
	return d, nil
}

// deltaQuestion returns the question to the policy that must precede a decision on a delta.
func deltaQuestion(base Base, version int, actor policy.Actor) policy.Question {
	q := policy.Question{
		Action: policy.Approve, Actor: actor, RunID: base.RunID,
		Resource: policy.Resource{ID: base.ID, Kind: KindMemoryDelta, Visibility: base.Visibility},
	}
	if version == doc.DeltaVersion2 {
		q.Resource.Approvers = policy.DirectorsApprove
	}
	return q
}

// checkNotes rejects secrets in the notes on a version 2 delta.
func checkNotes(version int, notes string) error {
	if version != doc.DeltaVersion2 {
		return nil
	}
	return redact.CheckNoSecret("review.notes", notes)
}

// change is a delta with the texts it works on.
type change struct {
	before, patch []byte
	result        patch.Result
}

// change applies the delta's patch to the current target. Even on a conflict, it returns the
// texts as far as it could read them.
func (d delta) change(r Reader) (c change, err error) {
	if c.before, err = r.Read(d.target.resolved); err != nil {
		return c, err
	}
	if c.patch, err = r.Read(d.PatchFile); err != nil {
		return c, err
	}
	p, err := patch.Read(string(c.patch))
	if err != nil {
		return c, fault.New(fault.InvalidFile, "%s: %w", d.PatchFile, err)
	}
	c.result, err = p.Apply(string(c.before))
	if errors.Is(err, patch.ErrConflict) {
		return c, fault.New(fault.Conflict, "%s does not fit %s any more; it stays pending", d.PatchFile, d.target.name)
	}
	return c, err
}

// hash covers exactly what a preview shows: the current target, the changed target, and the
// patch.
func (c change) hash() string {
	sum := sha256.New()
	for _, part := range [][]byte{c.before, []byte(c.result.Text), c.patch} {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hashOf returns the SHA-256 of a text, in hexadecimal.
func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ApproveDelta changes the target of a delta and writes the review. A patch that does not apply
// leaves the item pending.
func (g *PolicyUnit) ApproveDelta(r Ruling) (reviewID string, err error) {
	w := g.Workspace()
	d, err := openDelta(w, g, r.Item)
	if err != nil {
		return "", err
	}
	if err := checkNotes(d.SchemaVersion, r.Notes); err != nil {
		return "", err
	}
	verdict, err := g.Enforce(r.ProjectID, deltaQuestion(Base{d.ID, d.Visibility, d.RunID}, d.SchemaVersion, r.Actor))
	if err != nil {
		return "", err
	}
	if _, err := g.CheckUndecided(r, KindMemoryDelta); err != nil {
		return "", err
	}
	c, err := d.change(g)
	if err != nil {
		return "", err
	}
	if r.ExpectHash != "" && r.ExpectHash != c.hash() {
		return "", fault.New(fault.PreviewChanged, "%s is not what it was when it was looked at; look again", d.target.name)
	}
	st, err := w.FS.Stat(d.target.resolved)
	if err != nil {
		return "", err
	}
	if err := g.Write(d.target.resolved, []byte(c.result.Text), st.Mode().Perm()); err != nil {
		return "", err
	}
	return g.Review(r, verdict, DecisionResult{
		SubjectKind: KindMemoryDelta, ArtifactID: d.ID, TargetFile: d.target.name, PatchFile: d.PatchFile,
		DeltaScope: d.DeltaScope,
	})
}

// Base has the fields common to all items, which are readable even if the item's own fields are
// invalid.
type Base struct{ ID, Visibility, RunID string }

// Base returns the fields that a denial needs, so that malformed items can be denied. The id must
// match the file name, the visibility must be valid, and a project_id must be that of project.
func (r Record) Base(project string) (Base, error) {
	b := Base{r.String("id"), r.String("visibility"), r.String("run_id")}
	if err := workspace.CheckID(r.Name, strings.TrimSuffix(path.Base(r.Name), ".md"), b.ID); err != nil {
		return b, err
	}
	if !slices.Contains(doc.Visibilities(), b.Visibility) {
		return b, fault.New(fault.InvalidFile, "%s: visibility: must be one of %s", r.Name, strings.Join(doc.Visibilities(), ", "))
	}
	if r.Fields.Get("project_id").Kind != shape.Absent {
		return b, r.InProject(project)
	}
	return b, nil
}

// DenyDelta writes a denying review. If the delta was denied before, it returns the first denial
// instead. Even a malformed delta can be denied: unreadable fields are left out.
func (g *PolicyUnit) DenyDelta(r Ruling) (reviewID string, err error) {
	if err := mustExist(g.Workspace(), r.ProjectID); err != nil {
		return "", err
	}
	record, err := ReadArtifact(g, r.ProjectID, r.ArtifactID)
	if err != nil {
		return "", err
	}
	if kind := record.String("type"); kind != "memory_delta" {
		return "", fault.New(fault.InvalidFile, "%s is a %q, not a memory_delta", record.Name, kind)
	}
	base, err := record.Base(r.ProjectID)
	if err != nil {
		return "", err
	}
	version := record.version()
	if err := checkNotes(version, r.Notes); err != nil {
		return "", err
	}
	verdict, err := g.Enforce(r.ProjectID, deltaQuestion(base, version, r.Actor))
	if err != nil {
		return "", err
	}
	if standing, err := g.CheckUndecided(r, KindMemoryDelta); err != nil || standing != "" {
		return standing, err
	}
	about := DecisionResult{
		SubjectKind: KindMemoryDelta, ArtifactID: base.ID, TargetFile: record.String("target_file"), PatchFile: record.String("patch_file"),
	}
	if version == doc.DeltaVersion2 {
		about.DeltaScope = doc.DeltaScope{
			ScopeKind: record.String("scope_kind"), ScopeRef: record.String("scope_ref"),
			Sensitivity: record.String("sensitivity"), Rationale: record.String("rationale"),
		}
	}
	return g.Review(r, verdict, about)
}

// version returns the schema_version of a record, 0 if there is none.
func (r Record) version() int {
	if v := r.Fields.Get("schema_version"); v.Kind == shape.Number {
		return int(v.Num)
	}
	return 0
}

// DecideDelta approves or denies a delta in one unit. The review is durable on return.
func DecideDelta(ctx context.Context, w *workspace.Workspace, r Ruling) (reviewID string, err error) {
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		if r.Decision == Approved {
			reviewID, err = g.ApproveDelta(r)
		} else {
			reviewID, err = g.DenyDelta(r)
		}
		return err
	})
	return reviewID, err
}

// States of a preview: how a delta would apply.
const (
	Fits       = "fits"
	Reanchored = "reanchored"
	Conflicts  = "conflict"
)

// Pending is the state of an item before any decision. Afterwards it is Approved or Denied.
const Pending = "pending"

// Preview is what approving a delta would do now. If State is Conflicts, Conflict is the reason,
// Diff is the unchanged patch, and Hash is empty. An approved delta counts as a conflict.
type Preview struct {
	Head       doc.MemoryDelta
	TargetFile string
	Diff       string
	State      string
	Conflict   string
	Hash       string
	// Before and After are hashes of the current and the changed target, "" for a conflict.
	Before, After string
	Decision      string // Pending, Approved or Denied
	ReviewID      string // of the decision
}

// PreviewDelta returns what approving a delta would do now. It writes nothing.
func PreviewDelta(w *workspace.Workspace, item Item) (Preview, error) {
	d, err := openDelta(w, w, item)
	if err != nil {
		return Preview{}, err
	}
	seen := Preview{Head: d.MemoryDelta, TargetFile: d.target.name, State: Fits, Decision: Pending}
	switch state, err := StateOf(w, item, KindMemoryDelta); {
	case err != nil:
		return seen, err
	case state.Approval != nil:
		seen.Decision, seen.ReviewID = Approved, state.Approval.ID
	case state.Denial != nil:
		seen.Decision, seen.ReviewID = Denied, state.Denial.ID
	}
	c, err := d.change(w)
	if err == nil && seen.Decision == Approved {
		err = fault.New(fault.Conflict, "%s was approved already (%s)", d.ID, seen.ReviewID)
	}
	if err != nil {
		seen.State, seen.Conflict, seen.Diff = Conflicts, err.Error(), string(c.patch)
		return seen, nil //nolint:nilerr // why it does not apply is the answer
	}
	if c.result.Reanchored {
		seen.State = Reanchored
	}
	seen.Hash, seen.Before, seen.After = c.hash(), hashOf(c.before), hashOf([]byte(c.result.Text))
	seen.Diff, err = c.result.Diff(d.target.name)
	return seen, err
}
