package job

// Submitting jobs.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// maxSpec bounds a spec, in bytes, so that its record stays readable.
const maxSpec = 1 << 20

// Submit creates a job and starts its runner. The record is durable on return. If a job with that
// id is active, Submit leaves it alone and returns its record. It returns fault.Conflict if the
// specs or orders differ. A finished job with that id starts over: its files move into its history.
// The caller has checked the spec and its order, nil for none, by the rules of their types. Submit
// replaces a blank id by a new one. It returns fault.Unsupported, fault.PlaceNotFound or
// fault.Denied for an order that cannot be granted.
func Submit(ctx context.Context, w *workspace.Workspace, starter *Starter, spec doc.JobSpec, order *doc.JobOrder) (doc.Job, error) {
	if strings.TrimSpace(spec.JobID) == "" {
		spec.JobID = w.Env.IDs.New("job")
	}
	if why := CheckID(spec.JobID); why != "" {
		return doc.Job{}, refuseField("job_id", why)
	}
	if spec.ContextRefs == nil {
		spec.ContextRefs = []doc.ContextRef{}
	}
	spec, err := addPlannedContext(w, spec)
	if err != nil {
		return doc.Job{}, err
	}
	if text, err := doc.JobSpecCodec.Encode(spec); err != nil || len(text) > maxSpec {
		return doc.Job{}, errors.Join(refuseField("goal", "the job exceeds 1 MiB"), err)
	}
	if err := errors.Join(checkOrder(w, spec, order), checkPlacement(ctx, w, starter.Environ, order)); err != nil {
		return doc.Job{}, err
	}
	order = orderFor(spec, order)
	p := jobRef{spec.ProjectID, spec.JobID}
	for {
		if _, err := current(ctx, w, starter, p); err != nil && !fault.Is(err, fault.NotFound) {
			return doc.Job{}, err
		}
		record, made, err := p.submit(ctx, w, spec, order)
		if errors.Is(err, errOwnerless) {
			continue // its runner died before we held the lock
		}
		if err != nil || !made {
			return record, err
		}
		if err := starter.start(ctx, w, p); err != nil {
			return p.unstarted(ctx, w, err)
		}
		return record, nil
	}
}

func refuseField(field, why string) error {
	return fault.Invalid(fault.Issue{Path: []any{"job", field}, Code: "custom", Message: why})
}

// errOwnerless means that an active job has lost its owner.
var errOwnerless = errors.New("the job lost its owner")

// Enqueue queues a new job in a unit and returns its id. start starts its runner: call it when the
// unit is durable and the workspace is unlocked. If it is never called, the job is later taken up
// like one whose runner died. Enter checks the spec by the rules of its type, and replaces an empty
// id by a new one. order may be nil.
func Enqueue(u *workspace.Unit, starter *Starter, spec doc.JobSpec, order *doc.JobOrder) (id string, start func(context.Context) error, err error) {
	if err := checkOrder(u.Workspace(), spec, order); err != nil {
		return "", nil, err
	}
	return enqueue(u, starter, spec, order)
}

func enqueue(u *workspace.Unit, starter *Starter, spec doc.JobSpec, order *doc.JobOrder) (id string, start func(context.Context) error, err error) {
	w := u.Workspace()
	if spec.JobID == "" {
		spec.JobID = w.Env.IDs.New("job")
	}
	text, err := doc.JobSpecCodec.Encode(spec)
	if err != nil {
		return "", nil, err
	}
	if len(text) > maxSpec {
		return "", nil, fault.New(fault.InvalidFile, "the job exceeds 1 MiB")
	}
	if spec, err = workspace.Decode(doc.JobSpecCodec, "the job", text); err != nil {
		return "", nil, err
	}
	p := jobRef{spec.ProjectID, spec.JobID}
	if _, _, err := p.enqueue(u, spec, orderFor(spec, order)); err != nil {
		return "", nil, err
	}
	return p.id, func(ctx context.Context) error {
		if err := starter.start(ctx, w, p); err != nil {
			_, err = p.unstarted(ctx, w, err)
			return err
		}
		return nil
	}, nil
}

// Start starts the runner of a job that another process enqueued (Enqueue) but may not start, because
// the runner would end with that process. It is a no-op if the job is over or has a runner.
func Start(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) error {
	p := jobRef{project, id}
	if !workspace.SafeID(id) || !workspace.SafeID(project) {
		return fault.New(fault.NotFound, "job %s does not exist in project %s", id, project)
	}
	record, err := p.load(w)
	if err != nil || record.Over() || p.running(w) {
		return err
	}
	return starter.start(ctx, w, p)
}

// submit runs enter in a unit of its own.
func (p jobRef) submit(ctx context.Context, w *workspace.Workspace, spec doc.JobSpec, order *doc.JobOrder) (record doc.Job, made bool, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		record, made, err = p.enqueue(u, spec, order)
		return err
	})
	return record, made, err
}

// enqueue queues the record, its order and the owner file. made is false if the job is already
// active.
func (p jobRef) enqueue(u *workspace.Unit, spec doc.JobSpec, order *doc.JobOrder) (record doc.Job, made bool, err error) {
	w := u.Workspace()
	project, err := w.Project(p.project)
	if err != nil {
		return record, false, err
	}
	old, err := p.loadIn(u)
	switch {
	case err == nil && !old.Over():
		if alive, recorded := p.owned(w); !alive && recorded {
			return old, false, errOwnerless
		}
		if err := sameSpec(old.Job, spec); err != nil {
			return old, false, err
		}
		return old, false, sameOrder(p.id, old.Order, order)
	case err != nil && !fault.Is(err, fault.NotFound):
		return record, false, err
	}
	if err := p.retire(u); err != nil {
		return record, false, err
	}
	now := clock.Stamp(w.Env.Clock.Now())
	spec.ProjectID = project.ID
	record = doc.Job{
		SchemaVersion: doc.Version, Type: "job_record", Job: spec, CreatedAt: now, UpdatedAt: now,
		Status: doc.JobQueued, Attempts: []doc.JobAttempt{}, Order: order,
	}
	owner, err := ownerText(w, true)
	if err != nil {
		return record, false, err
	}
	if err := u.Write(p.owner(), owner, 0o600); err != nil {
		return record, false, err
	}
	if order != nil {
		text, err := indented(order)
		if err != nil {
			return record, false, err
		}
		if err := u.Write(p.order(), text, 0o644); err != nil {
			return record, false, err
		}
	}
	return record, true, p.put(u, record)
}

// sameSpec refuses a spec that differs from that of the active job: fault.Conflict. It ignores how
// the workspace is spelled.
func sameSpec(stored, given doc.JobSpec) error {
	given.WorkspaceDir, given.ProjectID = stored.WorkspaceDir, stored.ProjectID
	if stored.ContextMode == doc.ContextAuto {
		given.ContextRefs = stored.ContextRefs // each submission plans them again
	}
	a, err := doc.JobSpecCodec.Encode(stored)
	if err != nil {
		return err
	}
	b, err := doc.JobSpecCodec.Encode(given)
	if err == nil && !bytes.Equal(a, b) {
		err = fault.New(fault.Conflict, "job %s is active with another spec", stored.JobID)
	}
	return err
}

// retire moves the files of an earlier execution of the job into its history.
func (p jobRef) retire(u *workspace.Unit) error {
	var life workspace.Tree
	for _, name := range []string{p.record(), p.result(), p.digest(), p.report(), p.order(), p.answer()} {
		text, err := durable.ReadFile(u.Workspace().FS, name, maxStored)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fault.New(fault.InvalidFile, "%s cannot be read: %w", name, err)
		}
		life.Files = append(life.Files, workspace.TreeFile{Name: path.Base(name), Content: text})
	}
	if len(life.Files) == 0 {
		return nil
	}
	lives, err := workspace.Dirs(u.Workspace().FS, p.history())
	if err != nil {
		return err
	}
	last := 0
	for _, name := range lives {
		if n, err := strconv.Atoi(name); err == nil {
			last = max(last, n)
		}
	}
	if err := u.Create(path.Join(p.history(), strconv.Itoa(last+1)), life); err != nil {
		return err
	}
	for _, file := range life.Files {
		if name := p.file(file.Name); name != p.record() {
			if err := u.Remove(name); err != nil {
				return err
			}
		}
	}
	return nil
}

// unstarted ends a job whose runner could not be started, so that the job does not wait forever.
func (p jobRef) unstarted(ctx context.Context, w *workspace.Workspace, cause error) (doc.Job, error) {
	if ctx.Err() != nil {
		return doc.Job{}, cause // the runner is starting, or a later read finds the job without an owner
	}
	if alive := p.running(w); alive {
		return p.load(w) // it owns the job after all
	}
	return finish(ctx, w, p, runnerFailed(cause))
}
