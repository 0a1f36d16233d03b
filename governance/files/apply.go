package files

// Applying proposed files in one unit: they are judged under the locks, written with a
// checkpoint, and recorded by an event.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// Kind is the resource kind of proposed files in questions to the policy.
const Kind = "file_artifact"

// Order is a request to apply files.
type Order struct {
	ProjectID string
	Wanted    Wanted
	// Expect maps paths to hashes of the files as the caller saw them, "" for absent files.
	Expect map[string]string
	// Skip leaves out files with a problem. Otherwise one such file rejects the whole order.
	Skip      bool
	DryRun    bool
	Actor     policy.Actor
	ClientRef string
}

// Result is what was applied.
type Result struct {
	Applied int                  `json:"applied"`
	Skipped int                  `json:"skipped"`
	Files   []Row                `json:"files"`
	Errors  []checkpoint.Problem `json:"errors"`
	// CheckpointID is null if nothing was written.
	CheckpointID *string `json:"checkpoint_id"`
}

// Refused is the data of fault.FilesRefused and fault.WriteFailed: the files that caused the
// error.
type Refused struct {
	Errors []checkpoint.Problem `json:"errors"`
}

// Apply applies files. What it wrote is durable on return, together with its checkpoint and its
// event. The errors are fault.Denied, fault.FilesRefused with nothing written, fault.WriteFailed
// with everything rolled back, and the errors of finding the files and the target.
func (s *Service) Apply(ctx context.Context, o Order) (Result, error) {
	b, err := s.batch(ctx, o.ProjectID, o.Wanted)
	if err != nil {
		return Result{}, err
	}
	return s.apply(ctx, o, b, "")
}

// apply applies a batch. reverts is the checkpoint that the batch reverts, "" for none.
func (s *Service) apply(ctx context.Context, o Order, b batch, reverts string) (Result, error) {
	b.seen = maps.Clone(b.seen)
	if b.seen == nil {
		b.seen = map[string]expectation{}
	}
	for name, hash := range o.Expect {
		b.seen[path.Clean(name)] = expectation{hash, ChangedSince}
	}
	a := &application{s: s, o: o, b: b, reverts: reverts, merges: map[mergeKey]mergeResult{}}
	if due, err := a.needsApproval(); err != nil || due && !o.DryRun {
		if err == nil {
			err = a.propose(ctx)
		}
		return Result{}, err
	}
	return a.run(ctx)
}

// run carries out the application.
func (a *application) run(ctx context.Context) (Result, error) {
	s, o := a.s, a.o
	if o.DryRun {
		if _, err := governance.Enforce(ctx, s.Workspace, o.ProjectID, a.question()); err != nil {
			return Result{}, err
		}
		decisions, err := s.judgeUnlocked(ctx, a.b)
		return a.result(decisions), err
	}
	for range maxJudgements {
		result, err := a.try(ctx)
		if !errors.Is(err, errMergeDue) {
			return result, err
		}
		if err := mergeAll(ctx, s.Environ, a.decisions, a.merges); err != nil {
			return Result{}, fault.New(fault.GitFailed, "%w", err)
		}
	}
	return Result{}, keepsChangingError(a.b.place)
}

// errMergeDue reports that files changed and must be merged first, outside of the locks.
var errMergeDue = errors.New("a merge is due")

// application is the state of one order in progress.
type application struct {
	s       *Service
	o       Order
	b       batch
	reverts string
	merges  map[mergeKey]mergeResult
	// ruling is the decision that the order carries out. It is nil if applying is itself the
	// decision.
	ruling *governance.Ruling
	review string

	decisions []decision
	outcome   *checkpoint.Outcome
}

// source returns the common source and run of all files. If they have several sources, it returns
// the caller as their source.
func (a *application) source() (source checkpoint.Source, run string) {
	for i, artifact := range a.b.artifacts {
		if i == 0 {
			source, run = artifact.Source, artifact.Run
		} else if artifact.Source != source {
			return checkpoint.Source{Caller: true}, ""
		}
	}
	return source, run
}

func (a *application) question() policy.Question {
	source, run := a.source()
	resource := policy.Resource{ID: source.ID(), Kind: Kind, Visibility: "team"}
	if a.ruling != nil {
		resource.Approvers = policy.HumansApprove
	}
	return policy.Question{Action: policy.Approve, Resource: resource, Actor: a.o.Actor, RunID: run}
}

// try attempts the application in one unit.
func (a *application) try(ctx context.Context) (result Result, err error) {
	w := a.s.Workspace
	var root *checkpoint.Root
	err = governance.Govern(ctx, w, func(g *governance.PolicyUnit) error {
		a.outcome = nil
		verdict, err := g.Enforce(a.o.ProjectID, a.question())
		if err != nil {
			return err
		}
		if err := a.undecided(g); err != nil {
			return err
		}
		before, ok, err := a.before()
		if err != nil || ok {
			result = before
			return err
		}
		if a.reverts != "" && g.Exists(checkpoint.RevertFile(workspace.CheckpointDir(a.o.ProjectID, a.reverts))) {
			return fault.New(fault.RevertedAlready, "checkpoint %s was reverted already", a.reverts)
		}
		if err := a.s.idle(a.o.ProjectID, a.b.place); err != nil {
			return err
		}
		if root, err = w.LockTarget(ctx, a.b.place.dir); err != nil {
			return a.unreachable(err)
		}
		a.decisions = newTargetRoot(root.FS, a.b.place.dir).judge(a.b.artifacts, a.b.seen, a.merges)
		if slices.ContainsFunc(a.decisions, func(d decision) bool { return d.due != nil }) {
			return errMergeDue
		}
		result = a.result(a.decisions)
		if len(result.Errors) > 0 && !a.o.Skip {
			return refused(result.Errors)
		}
		if err := a.write(g, root, &result); err != nil {
			return err
		}
		return a.decide(g, verdict)
	})
	if root != nil {
		err = errors.Join(err, root.Close())
	}
	return a.answer(result, err)
}

func (a *application) unreachable(err error) error {
	if fault.Is(err, fault.TargetBusy) {
		return err
	}
	return fault.New(fault.NoTarget, "%w", err)
}

func refused(problems []checkpoint.Problem) error {
	return fault.New(fault.FilesRefused, "nothing was written: %s: %s", problems[0].Path, problems[0].Message).With(Refused{problems})
}

// result returns the result of the decisions.
func (a *application) result(decisions []decision) Result {
	result := Result{Files: rows(decisions), Errors: []checkpoint.Problem{}}
	for _, d := range decisions {
		switch {
		case d.row.Problem != "":
			result.Errors = append(result.Errors, checkpoint.Problem{Path: d.row.Path, Reason: d.row.Problem, Message: d.row.Message})
		case d.row.Action == Skip:
			result.Skipped++
		default:
			result.Applied++
		}
	}
	return result
}

// write adds the checkpoint and its event to the unit.
func (a *application) write(g *governance.PolicyUnit, root *checkpoint.Root, result *Result) error {
	w := a.s.Workspace
	due := slices.DeleteFunc(slices.Clone(a.decisions), func(d decision) bool { return !d.writes() })
	if len(due) == 0 {
		return nil
	}
	slices.SortFunc(due, func(x, y decision) int { return strings.Compare(x.at.path, y.at.path) })
	source, run := a.source()
	plan := checkpoint.Plan{
		SchemaVersion: 1, Type: "file_checkpoint", ID: w.Env.IDs.New("cp"), ProjectID: a.o.ProjectID, At: clock.Stamp(w.Env.Clock.Now()),
		ActorID: a.o.Actor.ID, Target: a.b.place.Target, Root: a.b.place.dir, Identity: root.Identity, Source: source, Refuse: !a.o.Skip,
		Reverts: a.reverts, ClientRef: a.o.ClientRef, ContentHash: a.contentHash(),
	}
	if a.ruling != nil {
		plan.Proposal = a.ruling.ArtifactID
	}
	result.CheckpointID = &plan.ID
	var before, after [][]byte
	for _, d := range due {
		f := checkpoint.File{
			Path: d.at.path, Action: d.row.Action, Base: d.now.hash, OldMode: d.now.Mode, Place: d.at.place, Parent: d.at.parent,
			Temp: ".ac-" + strings.TrimPrefix(w.Env.IDs.New("file"), "file_") + ".tmp",
		}
		if d.fresh.Exists {
			f.New, f.NewMode = checkpoint.Hash(d.fresh.Content), d.fresh.Mode
		}
		plan.Files = append(plan.Files, f)
		before, after = append(before, d.now.Content), append(after, d.fresh.Content)
	}
	var err error
	if plan.Answer, err = json.Marshal(result); err != nil {
		return err
	}
	if a.reverts != "" {
		mark := checkpoint.RevertFile(workspace.CheckpointDir(a.o.ProjectID, a.reverts))
		if err := g.Write(mark, []byte(plan.ID+"\n"), 0o644); err != nil {
			return err
		}
	}
	if a.outcome, err = g.Checkpoint(plan, before, after, root); err != nil {
		return err
	}
	return a.tell(g, plan, run, result.Errors)
}

// tell adds the event to the unit. The event goes to the log of the run that the files come from,
// otherwise to the log of files.
func (a *application) tell(g *governance.PolicyUnit, plan checkpoint.Plan, run string, problems []checkpoint.Problem) error {
	w := a.s.Workspace
	log := workspace.FilesLog
	if governance.RunExists(w, a.o.ProjectID, run) {
		log = workspace.LogFile(a.o.ProjectID, run)
	} else {
		run = governance.ManualRun
		if err := durable.MkdirAll(w.FS, path.Dir(log), 0o755); err != nil {
			return err
		}
	}
	draft, err := w.Events.Draft(events.Draft{
		RunID: run, SessionRef: "local_" + run, Actor: a.o.Actor.ID, Visibility: events.VisibilityManagers, Type: events.ArtifactApplied,
	}, plan.Event(problems))
	if err == nil {
		g.Append(log, draft)
	}
	return err
}

// answer converts the outcome of the unit to a result or an error.
func (a *application) answer(result Result, err error) (Result, error) {
	if problem, ok := checkpoint.ConflictOf(err); ok {
		problem.Reason = ChangedSince
		if a.reverts != "" {
			problem.Reason = ChangedApply
		}
		return Result{}, refused([]checkpoint.Problem{problem})
	}
	if failed, ok := errors.AsType[*checkpoint.WriteError](err); ok {
		problems := []checkpoint.Problem{{Path: failed.Path, Reason: string(fault.WriteFailed), Message: failed.Cause.Error()}}
		if a.outcome != nil {
			problems = append(problems, a.outcome.Conflicts...)
		}
		return Result{}, fault.New(fault.WriteFailed, "%w", err).With(Refused{problems})
	}
	if err != nil {
		return Result{}, err
	}
	if a.outcome != nil {
		result = amended(result, *a.outcome)
	}
	return result, nil
}

// amended returns a result that accounts for files that turned out to be changed when they were
// written.
func amended(result Result, outcome checkpoint.Outcome) Result {
	result.Applied -= len(outcome.Conflicts)
	result.Errors = append(result.Errors, outcome.Conflicts...)
	for i := range result.Files {
		for _, c := range outcome.Conflicts {
			if c.Path == result.Files[i].Path {
				result.Files[i].Problem, result.Files[i].Message = c.Reason, c.Message
			}
		}
	}
	return result
}

// refLife is how long a client_ref identifies a repeated request.
const refLife = 24 * time.Hour

// before returns the result of an earlier request with the same client_ref and content.
func (a *application) before() (result Result, ok bool, err error) {
	if a.o.ClientRef == "" {
		return result, false, nil
	}
	w := a.s.Workspace
	ids, err := w.Checkpoints(a.o.ProjectID)
	if err != nil {
		return result, false, err
	}
	hash := a.contentHash()
	for _, id := range slices.Backward(ids) {
		dir := workspace.CheckpointDir(a.o.ProjectID, id)
		plan, err := checkpoint.Load(w.FS, dir)
		if err != nil {
			continue // skip unreadable checkpoints
		}
		if at, ok := clock.Parse(plan.At); !ok || w.Env.Clock.Now().Sub(at) > refLife {
			break
		}
		outcome, ended, err := checkpoint.LoadOutcome(w.FS, dir)
		if err != nil || !ended || outcome.State == checkpoint.RolledBack || plan.ClientRef != a.o.ClientRef || plan.ContentHash != hash {
			continue
		}
		if err := json.Unmarshal(plan.Answer, &result); err != nil {
			return result, false, fault.New(fault.InvalidFile, "%s: %w", dir, err)
		}
		return amended(result, outcome), true, nil
	}
	return result, false, nil
}

// contentHash distinguishes requests with the same client_ref.
func (a *application) contentHash() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%+v\x00%v\x00%s\x00", a.b.place.Target, a.o.Skip, a.reverts)
	for _, artifact := range a.b.artifacts {
		fmt.Fprintf(&text, "%q %v %o %s\x00", artifact.Path, artifact.Delete, artifact.Mode, checkpoint.Hash(artifact.Content))
	}
	return checkpoint.Hash([]byte(text.String()))
}
