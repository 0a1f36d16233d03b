package heartbeat

// Waking workers: one job for each, and the wait for these jobs.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// answerWithin bounds the wait for all jobs of a tick together, counted from the last
	// submission.
	answerWithin = 120 * time.Second
	// Bounds on the context in a prompt.
	maxTasksTold = 20
	maxStuckTold = 10
	maxProjects  = 50
)

// The default actor of ticks.
const (
	coordinator     = "heartbeat_coordinator"
	coordinatorRole = "manager"
)

// jitter returns a uniformly random delay in whole seconds.
func (t *tick) jitter() int {
	n, err := strconv.ParseUint(t.w.Env.IDs.Hex(8), 16, 64)
	if err != nil {
		panic(err) // Hex returns only hexadecimal digits
	}
	return int(n % uint64(t.Config.JitterMaxSeconds+1))
}

// jitters returns n random delays.
func (t *tick) jitters(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = t.jitter()
	}
	return all
}

// wake submits the jobs, waits for them and evaluates their reports. It returns the function that
// consumes the news at the end of the tick. If a job could not be created, that function is a
// no-op, so the news stays unconsumed.
func (t *tick) wake(ctx context.Context, m moment, project string, chosen []Candidate, consume func(*doc.HeartbeatState)) (func(*doc.HeartbeatState), error) {
	whole := true
	for _, group := range t.groups(chosen) {
		if err := t.pause(ctx, m.Now, group.after); err != nil {
			return nil, err
		}
		used := consume
		if !group.last || !whole {
			used = nil
		}
		if err := t.submit(ctx, m, project, group.chosen, used); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			t.notice(err)
			whole = false
		}
	}
	if !whole {
		consume = func(*doc.HeartbeatState) {}
	}
	return consume, t.answers(ctx)
}

// group is a set of workers to wake at the same delay after the triage.
type group struct {
	after  time.Duration
	chosen []wakeable
	last   bool
}

type wakeable struct {
	Candidate

	jitter  int
	project string // "" for the common project
}

// groups schedules the workers by their jitter. In a requested tick, all wake at once.
func (t *tick) groups(chosen []Candidate) []group {
	all := make([]wakeable, len(chosen))
	for i, c := range chosen {
		all[i] = wakeable{c, t.WokenWorkers[i].JitterSeconds, t.WokenWorkers[i].ProjectID}
	}
	if !t.interval {
		return []group{{chosen: all, last: true}}
	}
	slices.SortStableFunc(all, func(a, b wakeable) int { return a.jitter - b.jitter })
	groups := make([]group, len(all))
	for i, c := range all {
		groups[i] = group{time.Duration(c.jitter) * time.Second, []wakeable{c}, i == len(all)-1}
	}
	return groups
}

// pause waits until after has passed since the triage.
func (t *tick) pause(ctx context.Context, since time.Time, after time.Duration) error {
	wait := after - t.w.Env.Clock.Since(since)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// submit creates the jobs of a group and records what they consume, in one unit. Then it starts
// them.
func (t *tick) submit(ctx context.Context, m moment, project string, chosen []wakeable, consume func(*doc.HeartbeatState)) error {
	var made []SubmittedJob
	var starts []func(context.Context) error
	err := t.w.Update(ctx, func(u *workspace.Unit) error {
		made, starts = nil, nil
		for _, c := range chosen {
			target := cmp.Or(c.project, project)
			id, start, err := t.jobs.Enqueue(u, t.spec(m, target, c.Candidate))
			if err != nil {
				return err
			}
			made, starts = append(made, SubmittedJob{c.WorkerAgentID, target, id, c.jitter}), append(starts, start)
		}
		damaged, err := t.seen.change(u, func(state *doc.HeartbeatState) { t.recordWakes(state, chosen, consume) })
		if err != nil {
			return err
		}
		t.notice(damaged)
		return changePending(u, func(list []pendingJob) []pendingJob {
			for _, s := range made {
				list = append(list, pendingJob{JobID: s.JobID, ProjectID: s.ProjectID, WorkerAgentID: s.WorkerAgentID, TickID: t.TickID})
			}
			return list
		})
	})
	if err != nil {
		return err
	}
	t.JobsSubmitted = append(t.JobsSubmitted, made...)
	t.start(ctx, starts)
	return nil
}

// recordWakes records in the state who was woken.
func (t *tick) recordWakes(state *doc.HeartbeatState, chosen []wakeable, consume func(*doc.HeartbeatState)) {
	for _, c := range chosen {
		known := state.WorkerState[c.WorkerAgentID]
		known.LastWakeAt, known.LastContextHash = t.StartedAt, c.ContextHash
		state.WorkerState[c.WorkerAgentID] = known
	}
	state.Stats.WorkersWokenTotal += int64(len(chosen))
	if consume != nil {
		consume(state)
	}
}

// start starts the runners concurrently. A job whose runner does not start ends without a report.
func (t *tick) start(ctx context.Context, starts []func(context.Context) error) {
	failed := make([]error, len(starts))
	var wg sync.WaitGroup
	for i, start := range starts {
		wg.Go(func() { failed[i] = start(ctx) })
	}
	wg.Wait()
	for _, err := range failed {
		t.notice(err)
	}
}

// answers waits for the jobs of this tick and evaluates the finished ones in submission order. It
// leaves the others to a later tick.
func (t *tick) answers(ctx context.Context) error {
	limit, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range t.JobsSubmitted {
		// The record has the job's status, however the wait ends.
		wg.Go(func() { _, _ = t.jobs.Await(limit, t.w, s.ProjectID, s.JobID) })
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	list, err := pending(t.w)
	if err != nil {
		return err
	}
	for _, s := range t.JobsSubmitted {
		i := slices.IndexFunc(list, func(p pendingJob) bool { return p.is(s.ProjectID, s.JobID) })
		if i < 0 {
			continue
		}
		if err := t.evaluate(ctx, list[i]); err != nil {
			return err
		}
	}
	return nil
}

// spec returns the job that wakes a worker.
func (t *tick) spec(m moment, project string, c Candidate) doc.JobSpec {
	note := func(text string) doc.ContextRef { return doc.ContextRef{Kind: "note", Value: text} }
	refs := []doc.ContextRef{note(fmt.Sprintf("signals=%d, due=%d, overdue=%d, stuck=%d, score=%d",
		c.Counts.NewSignals, c.Counts.DueTasks, c.Counts.Overdue, c.Counts.StuckJobs, c.Score))}
	if t.Config.Enterprise() {
		refs = append(refs, note("target_role="+c.role))
	}
	told := 0
	for _, kind := range []struct {
		word  string
		tasks []Task
	}{{"overdue", c.overdue}, {"due", c.due}} {
		for _, task := range kind.tasks {
			if told++; told > maxTasksTold {
				break
			}
			refs = append(refs, note(fmt.Sprintf("%s task %s of project %s, planned end %s: %s", kind.word, task.TaskID, task.ProjectID, task.PlannedEnd, oneLine(task.Title))))
		}
	}
	if len(c.stuck) > 0 {
		refs = append(refs, note("stuck jobs: "+strings.Join(c.stuck[:min(len(c.stuck), maxStuckTold)], ", ")))
	}
	var active []string
	for _, p := range m.projects {
		if p.Status == "active" && len(active) < maxProjects {
			active = append(active, p.ID)
		}
	}
	refs = append(refs, note("active projects: "+strings.Join(active, ", ")))
	return doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: doc.JobHeartbeat, WorkerKind: c.kind, WorkspaceDir: t.w.Dir(), ProjectID: project,
		Goal: "Answer the heartbeat of worker " + c.WorkerAgentID + " at " + clock.Stamp(m.Now) + ": say what you should do next, if anything.",
		Constraints: []string{
			"Use the heartbeat_worker_report contract.",
			"Answer HEARTBEAT_OK only when nothing is to be done.",
		},
		Deliverables: []string{"The report as JSON"}, PermissionLevel: "read-only", ContextRefs: refs,
		WorkerAgentID: c.WorkerAgentID, ManagerActorID: executiveActor(t.Config).ID, ManagerRole: coordinatorRole,
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
