package doctor

// Runs that were created but never launched. Their status is "running" until someone ends
// them.

import (
	"context"
	"time"

	"ac/events"
	"ac/runs"
)

// newAfter is the age at which the doctor reports such a run.
const newAfter = 24 * time.Hour

// newRuns returns no check if there are no such runs.
func (p Target) newRuns(context.Context) []Check {
	const id = "runs.new"
	list, err := runs.ListNew(p.Workspace, p.Env.Clock.Now().Add(-newAfter))
	if err != nil {
		return []Check{unknown(id, err)}
	}
	if len(list) == 0 {
		return nil
	}
	var details []string
	for _, r := range list {
		details = append(details, r.ProjectID+"/"+r.RunID+", created at "+r.CreatedAt)
	}
	return []Check{{
		ID: id, Status: Warn, Message: plural(len(list), "run") + " created over a day ago and never launched", Details: shortened(details),
		Hint: "Launch them, or discard them all with: ac workspace:doctor " + p.RequestedDir + " --fix",
	}}
}

// discardNew discards runs that were never launched.
func (m *repairer) discardNew() {
	list, err := runs.ListNew(m.w, m.w.Env.Clock.Now().Add(-newAfter))
	if err != nil {
		m.record("run", "work/projects", Failed, err.Error())
		return
	}
	for _, r := range list {
		m.do("run", r.ProjectID+"/"+r.RunID, "discard the run, which was never launched", "discarded the run, which was never launched", func() error {
			_, err := runs.Discard(m.ctx, m.w, r.ProjectID, r.RunID, events.ActorSystem)
			return err
		})
	}
}
