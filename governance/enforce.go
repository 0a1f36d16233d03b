package governance

// Checking the policy, and recording its decisions.

import (
	"context"
	"path"
	"slices"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
)

// Enforce checks the policy, records its decision, and returns an error if it denies. It is for
// operations that write nothing else. The events are durable on return, unless writing them
// failed, which is not an error. project is the project of the question's run. Enforce must not
// be called inside a unit.
func Enforce(ctx context.Context, w *workspace.Workspace, project string, q policy.Question) (policy.Verdict, error) {
	verdict := policy.Ask(w, q)
	if told, err := verdict.Events(w.Events); err == nil {
		appendBestEffort(ctx, w, auditLog(w, project, q.RunID), told)
	}
	return verdict, verdict.Refusal()
}

// appendBestEffort appends events, best effort. If it cannot append to the log of a run, it uses the audit
// log.
func appendBestEffort(ctx context.Context, w *workspace.Workspace, log string, told []events.Draft) {
	err := durable.MkdirAll(w.FS, path.Dir(log), 0o755)
	if err == nil {
		err = w.Append(context.WithoutCancel(ctx), log, told...)
	}
	if err != nil && log != workspace.AuditLog {
		appendBestEffort(ctx, w, workspace.AuditLog, told)
	}
}

// RunExists reports whether a run exists that can record events: it has a record or a log. It
// returns false for texts that are not safe ids.
func RunExists(w *workspace.Workspace, project, run string) bool {
	return workspace.SafeID(project) && workspace.SafeID(run) &&
		(w.Exists(workspace.RunFile(project, run)) || w.Exists(workspace.LogFile(project, run)))
}

// auditLog returns the log of an existing run, otherwise the audit log of decisions without a
// run.
func auditLog(w *workspace.Workspace, project, run string) string {
	if RunExists(w, project, run) {
		return workspace.LogFile(project, run)
	}
	return workspace.AuditLog
}

// PolicyUnit is a unit that checks the policy. Its events are written after its documents, in the
// order in which they were emitted.
type PolicyUnit struct {
	*workspace.Unit

	pendingEvents []pendingEvent
	flushed       bool // the events are part of the unit, which may have failed since
}

// pendingEvent is an event with its log. answer marks decisions of the policy, which are recorded even if
// the unit fails.
type pendingEvent struct {
	log        string
	draft      events.Draft
	isDecision bool
}

// Govern runs fn as one unit of the workspace, like workspace.Update. The decisions of the policy
// are recorded even if fn or the unit fails.
func Govern(ctx context.Context, w *workspace.Workspace, fn func(*PolicyUnit) error) error {
	g := &PolicyUnit{}
	err := w.Update(ctx, func(u *workspace.Unit) error {
		g.Unit = u
		if err := fn(g); err != nil {
			return err
		}
		if slices.ContainsFunc(g.pendingEvents, func(t pendingEvent) bool { return !t.isDecision }) {
			g.flushed = true
			g.flush()
		}
		return nil
	})
	if !g.flushed || err != nil && !w.NeedsRecovery() { // recovery writes the events of an interrupted unit
		g.recordDecisions(ctx, w)
	}
	return err
}

// Enforce checks the policy inside the unit and returns an error if it denies.
func (g *PolicyUnit) Enforce(project string, q policy.Question) (policy.Verdict, error) {
	w := g.Workspace()
	verdict := policy.Ask(w, q)
	drafts, err := verdict.Events(w.Events)
	if err != nil {
		return verdict, err
	}
	log := auditLog(w, project, q.RunID)
	for _, draft := range drafts {
		g.pendingEvents = append(g.pendingEvents, pendingEvent{log, draft, true})
	}
	return verdict, verdict.Refusal()
}

// Emit adds an event about an action to the unit, by default visible to managers. The event is
// written to the log of a run of the project, or to the audit log if there is no such run. The
// draft has the type, the actor and, where it matters, the time.
func (g *PolicyUnit) Emit(project, run string, draft events.Draft, payload any) error {
	w := g.Workspace()
	draft.RunID, draft.SessionRef = run, "local_"+run
	if draft.Visibility == "" {
		draft.Visibility = events.VisibilityManagers
	}
	draft, err := w.Events.Draft(draft, payload)
	if err != nil {
		return err
	}
	g.pendingEvents = append(g.pendingEvents, pendingEvent{auditLog(w, project, run), draft, false})
	return nil
}

// flush adds the events to the unit, after its documents. Consecutive events of one log are one
// write. A write is best effort if it goes to the audit log or has only decisions of the policy.
func (g *PolicyUnit) flush() {
	for at := 0; at < len(g.pendingEvents); {
		log, spare := g.pendingEvents[at].log, true
		var drafts []events.Draft
		for ; at < len(g.pendingEvents) && g.pendingEvents[at].log == log; at++ {
			drafts = append(drafts, g.pendingEvents[at].draft)
			spare = spare && (g.pendingEvents[at].isDecision || log == workspace.AuditLog)
		}
		if !spare {
			g.Append(log, drafts...)
		} else if err := durable.MkdirAll(g.Workspace().FS, path.Dir(log), 0o755); err == nil {
			g.AppendBestEffort(log, drafts...)
		}
	}
}

func (g *PolicyUnit) recordDecisions(ctx context.Context, w *workspace.Workspace) {
	for at := 0; at < len(g.pendingEvents); {
		log := g.pendingEvents[at].log
		var drafts []events.Draft
		for ; at < len(g.pendingEvents) && g.pendingEvents[at].log == log; at++ {
			if g.pendingEvents[at].isDecision {
				drafts = append(drafts, g.pendingEvents[at].draft)
			}
		}
		if len(drafts) > 0 {
			appendBestEffort(ctx, w, log, drafts)
		}
	}
}

// mustExist returns an error for missing projects, for operations that would write in them.
func mustExist(w *workspace.Workspace, project string) error {
	if !w.Exists(workspace.ProjectFile(project)) {
		return fault.New(fault.NotFound, "project %s does not exist", project)
	}
	return nil
}
