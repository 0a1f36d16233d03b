package job

// The runner: a process that owns one job and executes it to its end.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/runs"
	"ac/runs/failure"
	"ac/runs/lane"
	"ac/runs/provider"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// lockPatience is how long a runner waits for the write lock. Requests wait only seconds.
	lockPatience = 10 * time.Minute
	// ownPatience is how long a runner waits for another owner to release the job.
	ownPatience = 5 * time.Second
	// defaultTimeout bounds one attempt.
	defaultTimeout = 30 * time.Minute
	// sweepPatience is how long killed processes may take to exit.
	sweepPatience = 3 * time.Second
)

// timeoutVariable sets the time limit of one attempt, in milliseconds.
const timeoutVariable = "AC_JOB_ATTEMPT_TIMEOUT_MS"

// EndHandler is the callback of a runner for a job that is over. The runner calls it when no process of
// the job runs any more. starter starts runners with the settings of this one.
type EndHandler func(ctx context.Context, w *workspace.Workspace, starter *Starter, project, id string) error

// RunMain is the main function of a runner process. It reads the order from in and writes one phase
// to out. Closing interrupt ends the process and its local attempt; the next process that reads the
// job reconciles it. ended may be nil.
func RunMain(executable string, in io.Reader, out io.WriteCloser, interrupt <-chan struct{}, ended EndHandler) error {
	var order Order
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return errors.Join(fmt.Errorf("the order is incomplete: %w", err), out.Close())
	}
	tell := sync.OnceFunc(func() { _ = out.Close() })
	defer tell()
	say := func(word string, err error) {
		said := phase{Phase: word}
		if err != nil {
			said.Message = err.Error()
		}
		if line, err := json.Marshal(said); err == nil {
			_, _ = out.Write(append(line, '\n')) // best effort: our parent may be gone
		}
		tell()
	}
	if order.Version != OrderVersion {
		err := fault.New(fault.Unsupported, "order version %d is not %d: server and runner differ", order.Version, OrderVersion)
		say(phaseRefused, err)
		return err
	}
	err := proc.BecomeSubreaper()
	if err != nil {
		say(phaseRefused, err)
		return err
	}
	env := workspace.SystemEnv()
	env.Clock, env.LockPatience = clock.New(time.Now, order.MonotonicMS), lockPatience
	w, err := workspace.Open(env, order.WorkspaceDir)
	if err != nil {
		say(phaseRefused, err)
		return err
	}
	err = Run(w, executable, order, interrupt, say)
	_ = proc.Sweep(0, sweepPatience) // kills adopted orphans: all that we waited for has ended
	if p := (jobRef{order.ProjectID, order.JobID}); ended != nil && err == nil && !p.active(w) {
		starter := &Starter{Executable: executable, Environ: order.Environ, Version: order.Program}
		err = ended(context.Background(), w, starter, p.project, p.id)
	}
	return errors.Join(err, w.Close())
}

// runner executes one job, in one goroutine.
type runner struct {
	jobRef
	w         *workspace.Workspace
	order     Order
	spec      doc.JobSpec
	job       promptRequest
	placement *doc.Placement   // of the current attempt, nil for this machine
	at        workplace        // where that attempt works
	remote    *remoteWorker    // the worker that runs it, nil for this machine
	flow      *doc.WorkflowRun // the workflow run that the job is a step of, nil if none
	host      supervisor.Host
	admission *runs.Admission
	known     provider.Cache
}

// Run owns a job and executes it to its end. It calls say once, to report whether it owns the job.
// The process must be a subreaper.
func Run(w *workspace.Workspace, executable string, order Order, interrupt <-chan struct{}, say func(word string, err error)) (err error) {
	p := jobRef{order.ProjectID, order.JobID}
	ctx, cancel := context.WithTimeout(context.Background(), ownPatience)
	held, err := lock.Wait(ctx, w.FS, p.lock())
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		say(phaseBusy, nil)
		return nil
	}
	if err != nil {
		say(phaseRefused, err)
		return err
	}
	defer func() { err = errors.Join(err, held.RemoveAndRelease()) }()
	owner, err := ownerText(w, false)
	if err == nil && p.active(w) {
		err = w.Replace(p.owner(), owner, 0o600)
	}
	if err != nil {
		say(phaseRefused, err)
		return err
	}
	say(phaseOwned, nil)
	r := &runner{
		jobRef: p, w: w, order: order, known: provider.Cache{Workspace: w, Environ: order.Environ},
		host:      supervisor.Host{Executable: executable, Guards: &session.GuardSet{}},
		admission: runs.NewAdmission(w, lane.LimitsFrom(func(name string) (string, bool) { return lookup(order.Environ, name) })),
	}
	return r.run(interrupt)
}

// active reports whether the job is still unfinished.
func (p jobRef) active(w *workspace.Workspace) bool {
	record, err := p.load(w)
	return err == nil && !record.Over()
}

func lookup(environ []string, name string) (value string, ok bool) {
	for _, entry := range environ {
		if v, is := strings.CutPrefix(entry, name+"="); is {
			value, ok = v, true
		}
	}
	return value, ok
}

// errInterrupted means that this process must end.
var errInterrupted = errors.New("the runner received a signal to end")

// run executes the job to its end. Every exit ends the job, except after an interrupt or if the
// workspace cannot be written.
func (r *runner) run(interrupt <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-interrupt:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	})
	watching.Go(func() { r.awaitCancel(ctx, func() { cancel(errCanceled) }) })
	end, err := r.guardedWork(ctx)
	switch {
	case errors.Is(err, errOver) || errors.Is(err, errInterrupted):
		return nil
	case errors.Is(err, errCanceled):
		end = canceledEnd()
	case err != nil:
		end = runnerFailed(err)
	}
	_, err = finish(context.WithoutCancel(ctx), r.w, r.jobRef, end)
	return err
}

// errOver means that the job has ended.
var errOver = errors.New("the job is over")

// guardedWork calls work and turns a panic into an error.
func (r *runner) guardedWork(ctx context.Context) (end jobEnd, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("internal fault: %v", fault)
		}
	}()
	return r.work(ctx)
}

// work reconciles what an earlier runner left, then makes attempts until the job has a result.
func (r *runner) work(ctx context.Context) (end jobEnd, err error) {
	record, err := r.takeUp(ctx)
	if err != nil {
		return end, err
	}
	r.job = promptRequestOf(record)
	r.job.mark, r.spec = r.w.Env.IDs.New("mark"), record.Job
	worker, why, err := chooseWorker(r.w, r.spec)
	if err != nil {
		return end, err
	}
	if why != "" {
		return unavailableEnd(why), nil
	}
	var before *previous
	if last := record.Last(); last != nil {
		if end := r.permanentFailure(*last); end != nil {
			return *end, nil
		}
		before = r.previousOf(*last)
	}
	made := record.Attempts
	for n := len(made) + 1; n <= r.job.last; n++ {
		agent := worker
		if n == maxAttempts && before.repairable() {
			if agent, err = reformatter(r.w, worker); err != nil {
				return end, err
			}
		}
		blocked, err := r.settlePlace(ctx, agent, made)
		if err != nil || blocked != nil {
			return orZero(blocked), err
		}
		a, blocked, err := r.attempt(ctx, n, agent, before)
		if err != nil || blocked != nil {
			return orZero(blocked), err
		}
		made = append(made, a)
		before = r.previousOf(a)
		if before.judged.accepted != nil {
			return acceptedEnd(r.w, r.job, *before.judged.accepted, n), nil
		}
		if end := r.permanentFailure(a); end != nil {
			return *end, nil
		}
		r.startCooldown(ctx, a)
	}
	if answerKind(r.job.order) == doc.AnswerProse {
		return proseFailed(before.judged.issues), nil
	}
	return exhaustedEnd(before.judged.issues, r.job.last), nil
}

func orZero(e *jobEnd) jobEnd {
	if e == nil {
		return jobEnd{}
	}
	return *e
}

// takeUp reconciles the job, and waits for its session if one still runs.
func (r *runner) takeUp(ctx context.Context) (doc.Job, error) {
	for {
		record, goOn, err := reconcile(ctx, r.w, r.jobRef)
		if err != nil {
			return record, cause(ctx, err)
		}
		if !goOn {
			return record, errOver
		}
		last := record.Last()
		if last == nil {
			return record, nil
		}
		s, err := session.Read(r.w, last.SessionRef)
		if fault.Is(err, fault.NotFound) && last.Status == doc.AttemptRunning {
			time.Sleep(launchPollInterval) // the hub is about to write it
			continue
		}
		if err == nil && s.Remote() && last.Status == doc.AttemptRunning {
			r.job = promptRequestOf(record)
			if _, err := r.followToEnd(ctx, *last, r.adopt(*last), func(*doc.JobAttempt) {}); err != nil {
				return record, err
			}
			continue
		}
		if fault.Is(err, fault.NotFound) || (err == nil && !session.Live(r.w, s) && last.Status != doc.AttemptRunning) {
			return record, nil
		}
		if err != nil {
			return record, err
		}
		if _, err := session.Collect(ctx, r.w, last.SessionRef); err != nil {
			return record, cause(ctx, err)
		}
	}
}

// cause returns the cause of the context's end if it has ended, else err.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// previousOf judges a finished attempt.
func (r *runner) previousOf(a doc.JobAttempt) *previous {
	before := &previous{run: a.RunID, judged: judge(r.w, r.jobRef, r.job, a)}
	if a.Status != doc.AttemptEnded {
		before.failed = a.Error
	}
	return before
}

// permanentFailure returns the end of a job whose failure would repeat until a person intervenes, nil for
// other failures.
func (r *runner) permanentFailure(a doc.JobAttempt) *jobEnd {
	s, err := session.Read(r.w, a.SessionRef)
	if err != nil || a.Status == doc.AttemptStopped {
		return nil
	}
	var mend string
	switch s.ErrorKind {
	case failure.Auth:
		mend = "Log " + a.Provider + " in on this machine, then submit the job again."
	case failure.Trust:
		mend = "Link the repository to the project, or trust the folder in " + a.Provider + " itself, then submit the job again."
	case failure.Refused:
		mend = "The model refuses this goal: change the goal, or give the job to an agent with another model."
	default:
		return nil
	}
	end := refusedEnd(a.Provider, s.ErrorKind, s.Error, mend)
	return &end
}

// startCooldown puts the provider of a failed attempt into cooldown if the failure indicates overload or
// an exceeded limit. The cooldown lasts as long as the provider asked, if it named a time. The next
// launch waits for it in the lane. A failure on a worker starts a cooldown for that worker only.
func (r *runner) startCooldown(ctx context.Context, a doc.JobAttempt) {
	if a.Status != doc.AttemptFailed {
		return
	}
	// Best effort: without it the next launch only comes sooner.
	var class lane.Class
	s, err := session.Read(r.w, a.SessionRef)
	if err != nil {
		s.ErrorKind = ""
	}
	name := a.Provider
	if s.Remote() {
		name = lane.OnWorker(name, s.WorkerID)
	}
	switch s.ErrorKind {
	case failure.RateLimit, failure.Quota:
		class = lane.RateLimit
	case failure.Overloaded, failure.Network:
		class = lane.Transient
	case failure.Context, failure.Crash:
		return
	default:
		_, out := output(r.w, r.project, a.RunID)
		_, _ = r.admission.Lane.Report(ctx, name, a.Error, out)
		return
	}
	if s.RetryAfterMS != nil {
		_ = r.admission.Lane.CoolFor(ctx, name, class, time.Duration(*s.RetryAfterMS)*time.Millisecond)
		return
	}
	_ = r.admission.Lane.Cool(ctx, name, class)
}

// timeout is the time limit of one attempt.
func (r *runner) timeout() time.Duration {
	if o := r.job.order; o != nil && o.TimeoutMS > 0 {
		return time.Duration(o.TimeoutMS) * time.Millisecond
	}
	text, _ := lookup(r.order.Environ, timeoutVariable)
	if ms, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && ms > 0 && ms < int64(1<<62)/int64(time.Millisecond) {
		return time.Duration(ms) * time.Millisecond
	}
	return defaultTimeout
}
