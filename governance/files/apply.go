package files

// Applying proposed files: judged under the locks, written as a checkpoint, told by an
// event, all in one unit.

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

// Kind is the kind of resource that the policy is asked about.
const Kind = "file_artifact"

// Order is to apply files.
type Order struct {
	ProjectID string
	Wanted    Wanted
	// Expect is which versions the caller decided on, by path; "" for an absent file.
	Expect map[string]string
	// Skip leaves files with a problem out; otherwise one of them refuses the whole.
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
	// CheckpointID is null when nothing was written.
	CheckpointID *string `json:"checkpoint_id"`
}

// Refused are the data of fault.FilesRefused and fault.WriteFailed: the files that are
// the reason.
type Refused struct {
	Errors []checkpoint.Problem `json:"errors"`
}

// Apply applies files. What it wrote is durable when it returns, together with its
// checkpoint and its event. The errors are fault.Denied, fault.FilesRefused with nothing
// written, fault.WriteFailed with everything put back, and those of finding files and
// target.
func (s *Service) Apply(ctx context.Context, o Order) (Result, error) {
	b, err := s.batch(ctx, o.ProjectID, o.Wanted)
	if err != nil {
		return Result{}, err
	}
	return s.apply(ctx, o, b, "")
}

// apply applies a batch; reverts is the checkpoint that this takes back, "" for none.
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

// run carries the application out.
func (a *application) run(ctx context.Context) (Result, error) {
	s, o := a.s, a.o
	if o.DryRun {
		if _, err := governance.Enforce(ctx, s.Workspace, o.ProjectID, a.question()); err != nil {
			return Result{}, err
		}
		decisions, err := s.look(ctx, a.b)
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
	return Result{}, restless(a.b.place)
}

// errMergeDue says that files changed so that they have to be merged first, outside of
// the locks.
var errMergeDue = errors.New("a merge is due")

// application is one order that is being carried out.
type application struct {
	s       *Service
	o       Order
	b       batch
	reverts string
	merges  map[mergeKey]mergeResult
	// ruling is the decision that this carries out, nil where applying is one itself.
	ruling *governance.Ruling
	review string

	decisions []decision
	outcome   *checkpoint.Outcome
}

// source is what all files come from, the caller where they come from several.
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

// try is one unit.
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
		a.decisions = newGround(root.FS, a.b.place.dir).judge(a.b.artifacts, a.b.seen, a.merges)
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

// result is what the decisions come to.
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

// write asks for the checkpoint and its event.
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

// tell asks for the event, in the log of the run that the files come from.
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

// answer makes the answer of what came of the unit.
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

// amended is an answer with the files that were found changed when they were written.
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

// refLife is how long a client_ref stands for what was answered to it.
const refLife = 24 * time.Hour

// before is the answer that the same request got before.
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
			continue // what cannot be read is nobody's answer
		}
		if at, ok := clock.Parse(plan.At); !ok || w.Env.Clock.Now().Sub(at) > refLife {
			break
		}
		outcome, ended, err := checkpoint.Ended(w.FS, dir)
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

// contentHash tells requests apart that have the same client_ref.
func (a *application) contentHash() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%+v\x00%v\x00%s\x00", a.b.place.Target, a.o.Skip, a.reverts)
	for _, artifact := range a.b.artifacts {
		fmt.Fprintf(&text, "%q %v %o %s\x00", artifact.Path, artifact.Delete, artifact.Mode, checkpoint.Hash(artifact.Content))
	}
	return checkpoint.Hash([]byte(text.String()))
}
