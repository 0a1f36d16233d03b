package job

// The order: the parts of a job's request that its record has no fields for. Other programs read
// the record, so it gets no new fields.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"

	"ac/governance/policy"
	"ac/heartbeat/answer"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/modelprofile"
	runpolicy "ac/runs/policy"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

func (p jobRef) order() string { return p.file("order.json") }

// withOrder returns a stored record with its order and the true kinds of its workers. It does not
// modify the record that was passed in, which may be shared.
func (p jobRef) withOrder(record doc.Job, text []byte, err error) (doc.Job, error) {
	if errors.Is(err, fs.ErrNotExist) || fault.Is(err, fault.NotFound) {
		return record, nil
	}
	if err != nil {
		return record, fault.New(fault.InvalidFile, "%s cannot be read: %w", p.order(), err)
	}
	value, ok := answer.Parse(string(text))
	if !ok {
		return record, fault.New(fault.InvalidFile, "%s is not JSON", p.order())
	}
	order, err := doc.JobOrderCodec.Bind(&value)
	if err != nil {
		return record, fault.New(fault.InvalidFile, "%s: %w", p.order(), err)
	}
	record.Order = &order
	if order.WorkerKind == "" {
		return record, nil
	}
	record.Job.WorkerKind = order.WorkerKind
	record.Attempts = slices.Clone(record.Attempts)
	for i := range record.Attempts {
		a := &record.Attempts[i]
		a.WorkerKind = doc.AnyWorkerKindOf(a.Provider)
	}
	return record, nil
}

// compatibleRecord returns a record as other programs can read it. They know only worker kinds with a
// driver, so it presents the others as codex.
func compatibleRecord(record doc.Job) doc.Job {
	record.Job.WorkerKind = compatibleKind(record.Job.WorkerKind)
	record.Attempts = slices.Clone(record.Attempts)
	for i := range record.Attempts {
		record.Attempts[i].WorkerKind = compatibleKind(record.Attempts[i].WorkerKind)
	}
	return record
}

func compatibleKind(kind string) string {
	if kind == doc.WorkerACP || kind == doc.WorkerCmd {
		return string(doc.Codex)
	}
	return kind
}

// readOrder reads the order of a job beside its record.
func (p jobRef) readOrder(w *workspace.Workspace) ([]byte, error) {
	return durable.ReadFile(w.FS, p.order(), maxStored)
}

// orderFor returns the order to store for a spec: the given one, plus the worker kind if the record
// cannot express it. It returns nil if there is nothing to store.
func orderFor(spec doc.JobSpec, given *doc.JobOrder) *doc.JobOrder {
	kind := ""
	if compatibleKind(spec.WorkerKind) != spec.WorkerKind {
		kind = spec.WorkerKind
	}
	if given == nil {
		if kind == "" {
			return nil
		}
		given = &doc.JobOrder{}
	}
	order := *given
	order.WorkerKind = kind
	return &order
}

// sameOrder refuses an order that differs from that of the active job: fault.Conflict.
func sameOrder(id string, stored, given *doc.JobOrder) error {
	if (stored == nil) == (given == nil) {
		if stored == nil {
			return nil
		}
		a, err := indented(stored)
		if err != nil {
			return err
		}
		b, err := indented(given)
		if err != nil || bytes.Equal(a, b) {
			return err
		}
	}
	return fault.New(fault.Conflict, "job %s is active with another order", id)
}

// checkOrder refuses an order whose mode, answer or place cannot be granted.
func checkOrder(w *workspace.Workspace, spec doc.JobSpec, order *doc.JobOrder) error {
	if order == nil {
		return nil
	}
	if order.Mode != "" && !runpolicy.Permits(doc.Level(spec.PermissionLevel), order.Mode) {
		return refuseOrder("mode", "is above what permission level "+spec.PermissionLevel+" bears")
	}
	if order.Answer != "" && spec.JobKind == doc.JobHeartbeat {
		return refuseOrder("answer", "a heartbeat job answers with its report")
	}
	if order.Place == nil {
		return nil
	}
	switch order.Place.Isolation {
	case doc.IsolationNone:
		return mayWorkIn(w, spec)
	case doc.IsolationShared:
		return CheckSharable(w, spec.ProjectID, order.Place.BaseRunID)
	}
	return nil
}

// checkPlacement refuses an order whose attempts could not run on another machine, because it depends on
// a place or a stored key of this machine. Placement any must meet the same conditions.
func checkPlacement(ctx context.Context, w *workspace.Workspace, environ []string, order *doc.JobOrder) error {
	if order == nil || order.Placement.Local() {
		return nil
	}
	machine, err := w.Machine()
	if err != nil {
		return err
	}
	var issues []fault.Issue
	refuse := func(why string, path ...any) {
		issues = append(issues, fault.Issue{Path: append([]any{"order"}, path...), Code: "custom", Message: why})
	}
	if order.ModelProfile != "" {
		_, profile, err := modelprofile.Find(machine, order.ModelProfile)
		if err != nil {
			return err
		}
		if modelprofile.Stored(profile) {
			refuse("has a key or a header that is stored here; give it by {env:NAME}, and name a secret of the worker in placement.secret_refs", "model_profile")
		}
	}
	if p := order.Place; p != nil {
		if p.Isolation != doc.IsolationWorktree {
			refuse("a session on another machine works in a worktree of its own", "place", "isolation")
		}
		root, err := worktree.Root(machine, p.RepoID)
		if err != nil || !worktree.IsRepository(ctx, environ, root) {
			refuse("is no git repository of this machine", "place", "repo_id")
		}
		if s := order.Placement.Source; s != nil && s.Ref != "" && p.Base == doc.BaseSnapshot {
			refuse("does not go with base snapshot", "placement", "source", "ref")
		}
	}
	if len(issues) > 0 {
		return fault.Invalid(issues...)
	}
	return nil
}

func refuseOrder(field, why string) error {
	return fault.Invalid(fault.Issue{Path: []any{"order", field}, Code: "custom", Message: why})
}

// mayWorkIn refuses a worker's request for a job that changes a repository without isolation.
func mayWorkIn(w *workspace.Workspace, spec doc.JobSpec) error {
	if spec.PermissionLevel == "read-only" {
		return nil
	}
	actor, err := policy.Effective(w, managerOf(spec))
	if err != nil {
		return err
	}
	if actor.Role == "worker" {
		return fault.New(fault.Denied, "a job with isolation none and permission_level %s needs a manager or a person", spec.PermissionLevel)
	}
	return nil
}

// CheckSharable refuses to share the worktree of a run that has none or whose session is still live.
// Steps of workflows bypass this check: they share the worktree of their workflow's run, and the
// first step that needs it makes it.
func CheckSharable(w *workspace.Workspace, project, run string) error {
	none := func(why string) error {
		return fault.New(fault.PlaceNotFound, "run %s has no worktree to share: %s", run, why)
	}
	record, err := runs.Load(w, project, run)
	_, rel, _ := record.Tree()
	switch {
	case fault.Is(err, fault.NotFound):
		return none("it does not exist in project " + project)
	case err != nil:
		return err
	case rel == "":
		return none("it did not work in one")
	case session.RunAlive(w, project, run):
		return none("its session is not over")
	}
	return nil
}
