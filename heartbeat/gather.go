package heartbeat

// Gathering the input of a triage from the index and from job records.

import (
	"context"
	"errors"
	"strings"

	"ac/heartbeat/job"
	"ac/index"
	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// moment is what a tick gathered, and the positions up to which it consumes the news.
type moment struct {
	TriageInput

	projects []doc.Project
	// ends are the new cursors of the runs with news. runs are all existing runs, nil if the index
	// could not be read.
	ends map[string]int64
	runs map[string]bool
	// local is filled only in an enterprise.
	local localNews
}

// cursorKey is the key of a run among the state's cursors.
func cursorKey(run index.RunKey) string { return run.ProjectID + "::" + run.RunID }

// gather collects the input of a triage. It leaves out what the index cannot provide; problem is
// then the reason.
func gather(ctx context.Context, w *workspace.Workspace, ix *index.Index, config doc.HeartbeatConfig, state doc.HeartbeatState) (m moment, problem, err error) {
	m = moment{TriageInput: TriageInput{Now: w.Env.Clock.Now(), Config: config, Known: state.WorkerState, News: map[string]int64{}, Ever: map[string]int64{}}}
	if m.Agents, err = w.Agents(); err != nil {
		return m, nil, err
	}
	if m.projects, err = w.Projects(); err != nil {
		return m, nil, err
	}
	ours := map[string]bool{} // runs of heartbeat jobs
	for _, project := range m.projects {
		jobs, err := job.All(w, project.ID)
		if err != nil {
			return m, nil, err
		}
		for _, j := range jobs {
			for _, attempt := range j.Attempts {
				if j.Job.JobKind == doc.JobHeartbeat {
					ours[cursorKey(index.RunKey{ProjectID: project.ID, RunID: attempt.RunID})] = true
				}
			}
			if !j.Over() {
				m.Jobs = append(m.Jobs, j)
			}
		}
	}
	if problem = syncIndex(ctx, ix); ctx.Err() != nil {
		return m, problem, context.Cause(ctx)
	}
	viewErr := ix.View(ctx, func(v *index.View) error { return m.read(v, state.RunEventCursors, ours) })
	return m, errors.Join(problem, viewErr), nil
}

// syncIndex brings the index up to date and rebuilds it if it is unusable.
func syncIndex(ctx context.Context, ix *index.Index) error {
	_, err := ix.Ensure(ctx, index.UpToDate)
	return err
}

// read reads tasks and signals in one read transaction of the index.
func (m *moment) read(v *index.View, cursors map[string]int64, ours map[string]bool) error {
	tasks, err := v.Tasks("")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.PlannedEnd != nil {
			m.Tasks = append(m.Tasks, Task{
				ProjectID: t.ProjectID, TaskID: t.TaskID, Title: t.Title, Status: t.Status, Assignee: text(t.AssigneeAgentID), Team: text(t.TeamID), PlannedEnd: *t.PlannedEnd,
			})
		}
	}
	all, err := v.LogEnds()
	if err != nil {
		return err
	}
	ends, runs := map[string]int64{}, make(map[string]bool, len(all))
	var behind []index.LogCursor
	var quiet []index.LogEnd
	for _, end := range all {
		key := cursorKey(end.RunKey)
		runs[key] = true
		news := end.Last > cursors[key]
		if news {
			ends[key] = end.Last
		}
		if ours[key] {
			quiet = append(quiet, end)
			continue
		}
		m.Ever[end.AgentID] += end.Events
		if news {
			m.News[end.AgentID]++
			behind = append(behind, index.LogCursor{LogEnd: end, Since: cursors[key]})
		}
	}
	fresh, err := v.SignalsAfter(behind)
	if err != nil {
		return err
	}
	ever, err := v.EventsByActor(quiet)
	if err != nil {
		return err
	}
	count(m.News, fresh)
	count(m.Ever, ever)
	m.ends, m.runs = ends, runs
	if m.Config.Enterprise() {
		return m.localize(v, behind)
	}
	return nil
}

// count adds the events of each actor to its count.
func count(to map[string]int64, actors []index.ActorEvents) {
	for _, a := range actors {
		if a.Actor != nil {
			to[*a.Actor] += a.Events
		}
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// defaultProject returns the project for heartbeat jobs: the newest active one, "" if there is none.
func defaultProject(projects []doc.Project) string {
	newest := doc.Project{}
	for _, p := range projects {
		if p.Status == "active" && (newest.ID == "" || later(p.CreatedAt, newest.CreatedAt)) {
			newest = p
		}
	}
	return newest.ID
}

// forgetRuns drops the cursors of runs that no longer exist.
func (m *moment) forgetRuns(state *doc.HeartbeatState) {
	if m.runs == nil {
		return
	}
	for key := range state.RunEventCursors {
		if !m.runs[key] && strings.Contains(key, "::") {
			delete(state.RunEventCursors, key)
		}
	}
}

// later reports whether timestamp a is after b.
func later(a, b string) bool {
	at, _ := clock.Parse(a)
	bt, _ := clock.Parse(b)
	return at.After(bt)
}
