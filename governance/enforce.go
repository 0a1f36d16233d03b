package governance

// Asking the policy, and keeping its answers.

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

// Enforce asks the policy, keeps the answer and fails when it denies, for
// operations that write nothing else. The events are durable on return; a log
// that cannot take them fails nothing. project is where the run of the question
// is looked up. It must not be called inside a unit.
func Enforce(ctx context.Context, w *workspace.Workspace, project string, q policy.Question) (policy.Verdict, error) {
	verdict := policy.Ask(w, q)
	if told, err := verdict.Events(w.Events); err == nil {
		keep(ctx, w, auditLog(w, project, q.RunID), told)
	}
	return verdict, verdict.Refusal()
}

// keep appends events whose loss fails nothing. What the log of a run cannot
// take goes to the audit log.
func keep(ctx context.Context, w *workspace.Workspace, log string, told []events.Draft) {
	err := durable.MkdirAll(w.FS, path.Dir(log), 0o755)
	if err == nil {
		err = w.Append(context.WithoutCancel(ctx), log, told...)
	}
	if err != nil && log != workspace.AuditLog {
		keep(ctx, w, workspace.AuditLog, told)
	}
}

// RunExists reports whether a run is there to take events: its directory has a
// record or a log. Free text names none.
func RunExists(w *workspace.Workspace, project, run string) bool {
	return workspace.SafeID(project) && workspace.SafeID(run) &&
		(w.Exists(workspace.RunFile(project, run)) || w.Exists(workspace.LogFile(project, run)))
}

// auditLog is the log of a run that exists, else the one for decisions without
// a run.
func auditLog(w *workspace.Workspace, project, run string) string {
	if RunExists(w, project, run) {
		return workspace.LogFile(project, run)
	}
	return workspace.AuditLog
}

// PolicyUnit is a unit that asks the policy. Its events are written after its
// documents, in the order in which they were told.
type PolicyUnit struct {
	*workspace.Unit

	told    []told
	flushed bool // the events are part of the unit, which may have failed since
}

// told is an event and where it goes. The answers of the policy are kept though
// the unit fails.
type told struct {
	log    string
	draft  events.Draft
	answer bool
}

// Govern runs fn as one unit of the workspace, as workspace.Update does. When
// fn or the unit fails, the answers that the policy gave are kept all the same.
func Govern(ctx context.Context, w *workspace.Workspace, fn func(*PolicyUnit) error) error {
	g := &PolicyUnit{}
	err := w.Update(ctx, func(u *workspace.Unit) error {
		g.Unit = u
		if err := fn(g); err != nil {
			return err
		}
		if slices.ContainsFunc(g.told, func(t told) bool { return !t.answer }) {
			g.flushed = true
			g.flush()
		}
		return nil
	})
	if !g.flushed || err != nil && !w.NeedsRecovery() { // an interrupted unit will tell them when it is finished
		g.keepAnswers(ctx, w)
	}
	return err
}

// Enforce asks the policy inside the unit and fails when it denies.
func (g *PolicyUnit) Enforce(project string, q policy.Question) (policy.Verdict, error) {
	w := g.Workspace()
	verdict := policy.Ask(w, q)
	drafts, err := verdict.Events(w.Events)
	if err != nil {
		return verdict, err
	}
	log := auditLog(w, project, q.RunID)
	for _, draft := range drafts {
		g.told = append(g.told, told{log, draft, true})
	}
	return verdict, verdict.Refusal()
}

// Emit tells an event about the act of an actor, visible to managers, in the
// log of a run of the project, or in the audit log when there is no such run.
// The draft brings type, actor and, where it matters, time.
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
	g.told = append(g.told, told{auditLog(w, project, run), draft, false})
	return nil
}

// flush puts the events behind the documents, those that follow each other in
// one log as one write. What only the audit log has fails nothing.
func (g *PolicyUnit) flush() {
	for at := 0; at < len(g.told); {
		log, spare := g.told[at].log, true
		var drafts []events.Draft
		for ; at < len(g.told) && g.told[at].log == log; at++ {
			drafts = append(drafts, g.told[at].draft)
			spare = spare && (g.told[at].answer || log == workspace.AuditLog)
		}
		if !spare {
			g.Append(log, drafts...)
		} else if err := durable.MkdirAll(g.Workspace().FS, path.Dir(log), 0o755); err == nil {
			g.AppendBestEffort(log, drafts...)
		}
	}
}

func (g *PolicyUnit) keepAnswers(ctx context.Context, w *workspace.Workspace) {
	for at := 0; at < len(g.told); {
		log := g.told[at].log
		var drafts []events.Draft
		for ; at < len(g.told) && g.told[at].log == log; at++ {
			if g.told[at].answer {
				drafts = append(drafts, g.told[at].draft)
			}
		}
		if len(drafts) > 0 {
			keep(ctx, w, log, drafts)
		}
	}
}

// mustExist refuses projects that are not there, for operations that would
// write under them.
func mustExist(w *workspace.Workspace, project string) error {
	if !w.Exists(workspace.ProjectFile(project)) {
		return fault.New(fault.NotFound, "project %s does not exist", project)
	}
	return nil
}
