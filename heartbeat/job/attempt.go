package job

// One attempt of a job: a run, the subscription guard, the worker's session, and its output.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/lane"
	"ac/runs/provider"
	"ac/workspace"
	"ac/workspace/doc"
)

// attempt makes one attempt and returns its final record. blocked ends the job because the worker
// may not be used. An error also ends the job, and the attempt is then recorded as failed or
// stopped. Only an interrupt leaves both open.
func (r *runner) attempt(ctx context.Context, n int, agent doc.Agent, before *previous) (a doc.JobAttempt, blocked *jobEnd, err error) {
	if ctx.Err() != nil {
		return a, nil, context.Cause(ctx)
	}
	if a, err = r.begin(ctx, n, agent); err != nil {
		return a, nil, cause(ctx, err)
	}
	err = r.keepPlan(ctx, &a)
	if err == nil {
		err = r.tellUnenforced(ctx, a)
	}
	if err != nil {
		return a, nil, r.unlaunched(ctx, a, func(*doc.JobAttempt) {}, nil, err)
	}
	hosted, about, blocked, err := r.launch(ctx, &a, agent, before)
	if blocked != nil {
		return a, blocked, nil
	}
	if err != nil {
		return a, nil, r.unlaunched(ctx, a, about, hosted, err)
	}
	a, err = r.followToEnd(ctx, a, hosted, about)
	return a, nil, err
}

// followToEnd follows the session of an attempt to its end and records that end. An interrupt leaves
// the attempt's record unchanged. The next process that reads the job then reconciles it, or keeps
// waiting for a session that outlives this process.
func (r *runner) followToEnd(ctx context.Context, a doc.JobAttempt, hosted execution, about func(*doc.JobAttempt)) (doc.JobAttempt, error) {
	failed := r.follow(ctx, hosted)
	interrupted := func() bool { return ctx.Err() != nil && errors.Is(context.Cause(ctx), errInterrupted) }
	if interrupted() && hosted.outlives() {
		return a, errInterrupted
	}
	if _, err := hosted.Wait(); err != nil {
		return a, r.unlaunched(ctx, a, about, hosted, err)
	}
	r.w.NotifyAppend(workspace.LogFile(r.project, a.RunID))
	if interrupted() {
		return a, errInterrupted
	}
	record, err := r.recordEnd(context.WithoutCancel(ctx), r.w, a.Attempt, attemptEnd{failed: failed, about: about})
	if err != nil {
		return a, err
	}
	if record.Over() {
		return a, errOver
	}
	return *attemptIn(&record, a.Attempt), cause(ctx, nil)
}

// begin creates the run of an attempt and records the attempt, in one unit.
func (r *runner) begin(ctx context.Context, n int, agent doc.Agent) (a doc.JobAttempt, err error) {
	err = r.w.Update(ctx, func(u *workspace.Unit) error {
		record, err := r.loadIn(u)
		switch {
		case err != nil:
			return err
		case record.Over():
			return errOver
		case record.CancellationRequested:
			return errCanceled
		}
		made, err := runs.CreateWith(u, r.project, agent.ID, agent.Provider, runs.Beginning{Placement: r.placement})
		if err != nil {
			return err
		}
		a = doc.JobAttempt{
			Attempt: n, RunID: made.RunID, ContextPackID: made.ContextPackID, SessionRef: refOf(r.id, n, made.RunID),
			WorkerKind: doc.AnyWorkerKindOf(agent.Provider), WorkerAgentID: agent.ID, Provider: agent.Provider,
			StartedAt: clock.Stamp(r.w.Env.Clock.Now()), Status: doc.AttemptRunning,
		}
		if err := r.tellFlow(u, record, made.RunID); err != nil {
			return err
		}
		record.Status, record.CurrentAttempt = doc.JobRunning, n
		record.Attempts = append(record.Attempts, a)
		return r.put(u, record)
	})
	if err == nil {
		r.w.NotifyAppend(workspace.LogFile(r.project, a.RunID))
	}
	return a, err
}

// launch starts the session of an attempt: in this process, or on the worker that the hub picks. If
// the hub or the worker goes away meanwhile, launch retries until the placement's wait is over.
// about completes the attempt's record.
func (r *runner) launch(ctx context.Context, a *doc.JobAttempt, agent doc.Agent, before *previous) (hosted execution, about func(*doc.JobAttempt), blocked *jobEnd, err error) {
	for elapsed := clock.Stopwatch(); ; {
		hosted, about, blocked, err = r.launchOnce(ctx, a, agent, before)
		gone := fault.Is(err, fault.HubNotRunning) || fault.Is(err, fleet.NoWorker)
		if !gone || ctx.Err() != nil || r.remote == nil || (hosted != nil && hosted.launched()) || elapsed() > time.Duration(r.placement.Wait())*time.Second {
			return hosted, about, blocked, err
		}
	}
}

// launchOnce picks the worker, runs the guard, and launches the session through lane, policy and
// budget.
func (r *runner) launchOnce(ctx context.Context, a *doc.JobAttempt, agent doc.Agent, before *previous) (hosted execution, about func(*doc.JobAttempt), blocked *jobEnd, err error) {
	about = func(*doc.JobAttempt) {}
	machine, err := r.w.Machine()
	if err != nil {
		return nil, about, nil, err
	}
	live := r.liveSpec(agent, before)
	if err := r.checkCommandLine(agent, live); err != nil {
		return nil, about, nil, err
	}
	if blocked, err = r.pickWorker(ctx, *a, machine, agent, live); err != nil || blocked != nil {
		return nil, about, blocked, err
	}
	defer r.releaseWorker()
	verdict := r.guard(ctx, machine, agent, live)
	if ctx.Err() != nil {
		return nil, about, nil, context.Cause(ctx)
	}
	if err := r.tellVerdict(ctx, *a, verdict); err != nil {
		return nil, about, nil, err
	}
	about = func(a *doc.JobAttempt) { a.ProviderBin = verdict.Bin }
	if verdict.Reason != "" {
		end := blockedEnd(agent.Provider, verdict.Message)
		return nil, about, &end, r.block(ctx, *a, verdict, about)
	}
	provenance := r.provenance(ctx, agent.Provider, verdict.Bin)
	c, err := r.call(ctx, machine, agent, live, verdict.Bin, a.RunID, prompt(r.job, a.Attempt, a.RunID, before), before)
	if err != nil {
		return nil, about, nil, err
	}
	if c.format != "" {
		provenance.OutputFormat = &c.format
	}
	about = func(a *doc.JobAttempt) {
		a.ProviderBin, a.ProviderVersion, a.ProviderHelpHash = verdict.Bin, orEmpty(provenance.Version), orEmpty(provenance.HelpHash)
		a.OutputFormat = c.format
	}
	if err := r.tell(ctx, *a, "worker.cli.provenance", provenance); err != nil {
		return nil, about, nil, err
	}
	hosted = r.newExecution()
	return hosted, about, nil, runs.Launch(ctx, r.w, r.admission, hosted, r.launchSpec(*a, c))
}

// checkCommandLine refuses an agent whose command line is missing or accepts no text.
func (r *runner) checkCommandLine(agent doc.Agent, live *runs.LiveSpec) error {
	own := doc.AnyWorkerKindOf(agent.Provider) == doc.WorkerCmd
	if own && len(template(agent)) == 0 {
		return fault.New(fault.Unsupported, "agent %s has provider %s and no launcher.command_argv_template: nothing says what to execute", agent.ID, agent.Provider)
	}
	if err := provider.CheckTemplate(template(agent)); (live == nil || own) && err != nil {
		return fault.New(fault.Unsupported, "agent %s: %w", agent.ID, err)
	}
	return nil
}

// provenance describes an attempt's program on the machine where it runs.
func (r *runner) provenance(ctx context.Context, name, program string) provider.Provenance {
	switch {
	case r.remote != nil && r.remote.Program.About != nil:
		return *r.remote.Program.About
	case r.remote == nil && provider.DriverOf(name) != "": // a program without a driver may not know --version
		return r.known.About(ctx, name, program)
	}
	return provider.Provenance{Provider: name, ProviderBin: program}
}

// level returns the permission level of an attempt: the job's, or read-only if the attempt only
// repairs an answer.
func (r *runner) level(before *previous) string {
	if before.repairable() {
		return provider.ReadOnly
	}
	return r.spec.PermissionLevel
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// managerOf returns the requester of a job, as its spec claims.
func managerOf(spec doc.JobSpec) policy.Actor {
	return policy.Actor{ID: cmp.Or(spec.ManagerActorID, "manager"), Role: cmp.Or(spec.ManagerRole, "manager"), Team: spec.ManagerTeamID}
}

// priority returns the job's priority in the lane and among launches for workers.
func (r *runner) priority() string {
	switch {
	case r.flow != nil:
		return r.flow.Priority
	case r.spec.JobKind == doc.JobHeartbeat:
		return lane.Low // interactive work comes first
	}
	return lane.Normal
}

func (r *runner) launchSpec(a doc.JobAttempt, c call) runs.LaunchSpec {
	workflow := ""
	if r.flow != nil {
		workflow = r.flow.RunID
	}
	spec := runs.LaunchSpec{
		ProjectID: r.project, WorkflowRunID: workflow, RunID: a.RunID, Live: c.live, SessionRef: a.SessionRef, Argv: c.argv, Stdin: c.stdin, Prompt: c.prompt, LongPrompt: true, Template: c.template, Model: c.model, ModelProfile: r.profileName(),
		RepoID: r.at.repo, WorkdirRel: r.at.workdir, Worktree: r.at.treeFor(a.RunID),
		Level: c.level, Files: c.files, Version: r.order.Program, Actor: managerOf(r.spec), Priority: r.priority(), Environ: r.order.Environ,
	}
	if r.remote != nil {
		spec.Placement, spec.Made, spec.Bring = &r.remote.placement, c.argv != nil && c.live.Driver == "", c.bring
	}
	return spec
}

// passedPayload and failedPayload record the guard's verdict.
type passedPayload struct {
	Provider    string          `json:"provider"`
	Policy      provider.Policy `json:"policy"`
	ResolvedBin string          `json:"resolved_bin"`
	Proof       provider.Proof  `json:"proof"`
}

type failedPayload struct {
	Provider    string          `json:"provider"`
	Policy      provider.Policy `json:"policy"`
	ResolvedBin string          `json:"resolved_bin"`
	Reason      string          `json:"reason"`
	Message     string          `json:"message"`
}

func (r *runner) tellVerdict(ctx context.Context, a doc.JobAttempt, v provider.Verdict) error {
	if v.Reason != "" {
		return r.tell(ctx, a, "worker.subscription_check.failed", failedPayload{a.Provider, v.Policy, v.Bin, v.Reason, v.Message})
	}
	return r.tell(ctx, a, "worker.subscription_check.passed", passedPayload{a.Provider, v.Policy, v.Bin, v.Proof})
}

// tell appends an event for managers to the log of an attempt.
func (r *runner) tell(ctx context.Context, a doc.JobAttempt, kind string, payload any) error {
	draft, err := r.w.Events.Draft(events.Draft{
		RunID: a.RunID, SessionRef: a.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityManagers, Type: kind,
	}, payload)
	if err != nil {
		return err
	}
	return r.w.Append(ctx, workspace.LogFile(r.project, a.RunID), draft)
}

// noticePayload is the payload of job.notice.
type noticePayload struct {
	Message string `json:"message"`
}

// tellUnenforced records once that nothing enforces the order's mode and rules: a command line
// accepts no policy. For workflow steps, the log of the workflow's run records this.
func (r *runner) tellUnenforced(ctx context.Context, a doc.JobAttempt) error {
	o := r.job.order
	if a.Attempt > 1 || o == nil || (o.Mode == "" && len(o.Rules) == 0) || enforced(a.Provider, o) || r.flow != nil {
		return nil
	}
	message := "mode and rules are not enforced: the worker is no interactive session; permission_level " + r.spec.PermissionLevel + " holds"
	return r.tell(ctx, a, events.JobNotice, noticePayload{message})
}

// block ends an attempt whose worker the guard refused.
func (r *runner) block(ctx context.Context, a doc.JobAttempt, v provider.Verdict, about func(*doc.JobAttempt)) error {
	payload := abandonedPayload{Preflight: true, Reason: v.Reason}
	return r.closeAttempt(context.WithoutCancel(ctx), r.w, a, payload, func(a *doc.JobAttempt) {
		about(a)
		a.Status, a.Error = doc.AttemptFailed, v.Reason+": "+v.Message
	})
}

// unlaunched records an attempt whose launch was refused, canceled or failed. After an interrupt it
// records nothing.
func (r *runner) unlaunched(ctx context.Context, a doc.JobAttempt, about func(*doc.JobAttempt), hosted execution, reason error) error {
	reason = cause(ctx, reason)
	if hosted != nil && hosted.launched() {
		hosted.stop()
		if _, err := hosted.Wait(); err == nil {
			// The session did start: its record describes its end.
			end := attemptEnd{about: about}
			switch {
			case errors.Is(reason, errInterrupted):
				return reason
			case !errors.Is(reason, errCanceled):
				end.failed = reason.Error()
			}
			_, err := r.recordEnd(context.WithoutCancel(ctx), r.w, a.Attempt, end)
			return errors.Join(reason, err)
		}
	}
	if errors.Is(reason, errInterrupted) {
		return reason
	}
	payload := abandonedPayload{Preflight: true, Reason: "launch_preflight_failed", Stopped: errors.Is(reason, errCanceled)}
	err := r.closeAttempt(context.WithoutCancel(ctx), r.w, a, payload, func(a *doc.JobAttempt) {
		about(a)
		a.Status, a.Error = doc.AttemptFailed, reason.Error()
		if payload.Stopped {
			a.Status, a.Error = doc.AttemptStopped, "stopped: the job was canceled before the launch"
		}
	})
	if errors.Is(err, errOwned) { // the hub accepted it after all
		late := r.adopt(a)
		time.Sleep(launchPollInterval)
		return r.unlaunched(ctx, a, about, late, reason)
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", reason, err)
	}
	return reason
}

// follow waits for the end of a session. It stops the session if the job is canceled or the attempt
// exceeds its time limit. An interrupt also stops it, unless the session outlives this process.
// failed is set only for the time limit.
func (r *runner) follow(ctx context.Context, hosted execution) (failed string) {
	limit := r.timeout()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-hosted.Done():
	case <-ctx.Done():
		if !hosted.outlives() || !errors.Is(context.Cause(ctx), errInterrupted) {
			hosted.stop()
		}
	case <-timer.C:
		failed = fmt.Sprintf("the attempt took longer than %s and was stopped", limit)
		if o := r.job.order; o == nil || o.TimeoutMS == 0 {
			failed += " (" + timeoutVariable + ")"
		}
		hosted.stop()
	}
	return failed
}
