package snapshot

// Needs: what waits for a person, from the index, the records of live sessions, and the records of
// jobs.

import (
	"cmp"
	"fmt"
	"time"

	"ac/fleet"
	"ac/governance/needs"
	"ac/heartbeat/job"
	"ac/index"
	"ac/internal/clock"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// failuresLast is how long failed and over-budget runs remain needs.
const failuresLast = 7 * 24 * time.Hour

// Needs holds the open and the dismissed needs of a project, or of all projects, in order.
type Needs struct {
	Open      []needs.Need
	Dismissed []needs.Need
	Of        needs.Dismissals
}

// Needs returns what waits for a person in a project, or in all projects if it is "".
func (m *View) Needs(project string) (result Needs, err error) {
	if result.Of, err = needs.ReadDismissals(m.w); err != nil {
		return result, err
	}
	var all []needs.Need
	for _, part := range []func(string) ([]needs.Need, error){m.requestNeeds, m.helpNeeds, m.artifactNeeds, m.unreachableNeeds, m.problemNeeds} {
		list, err := part(project)
		if err != nil {
			return result, err
		}
		all = append(all, list...)
	}
	needs.Sort(all)
	for _, n := range all {
		if _, dismissed := result.Of.Of(n); dismissed {
			result.Dismissed = append(result.Dismissed, n)
		} else {
			result.Open = append(result.Open, n)
		}
	}
	return result, nil
}

// requestNeeds returns the open requests of agents and workflows.
func (m *View) requestNeeds(project string) (list []needs.Need, err error) {
	open, _, err := m.unresolved(index.InteractionFilter{ProjectID: project})
	for _, r := range m.records(open, nil) {
		list = append(list, needOf(r))
	}
	return list, err
}

func needOf(r interaction.Record) needs.Need {
	n := needs.New(r.Kind, r.InteractionID, r.Title)
	n.ProjectID, n.RunID, n.Who, n.At = r.ProjectID, r.RunID, r.AgentID, r.RequestedAt
	if r.ExpiresAt != nil {
		n.ExpiresAt = *r.ExpiresAt
	}
	return n
}

// helpNeeds returns the unanswered help requests.
func (m *View) helpNeeds(project string) (list []needs.Need, err error) {
	requests, err := m.view.UnansweredHelpRequests(project)
	for _, h := range requests {
		n := needs.New(needs.Help, h.HelpRequestID, h.Title)
		n.Who, n.At = h.Requester, h.CreatedAt
		if h.ProjectID != nil {
			n.ProjectID = *h.ProjectID
		}
		list = append(list, n)
	}
	return list, err
}

// artifactNeeds returns the artifacts that wait for a decision.
func (m *View) artifactNeeds(project string) (list []needs.Need, err error) {
	pending, err := m.view.PendingArtifacts(project, 0)
	for _, a := range pending {
		kind, ok := map[string]string{
			"memory_delta": needs.Memory, "milestone_report": needs.Milestone, "heartbeat_action_proposal": needs.Action, "proposal": needs.Files,
		}[a.Type]
		if !ok {
			continue
		}
		n := needs.New(kind, a.ArtifactID, orEmpty(a.Title))
		n.ProjectID, n.Who, n.RunID, n.At = a.ProjectID, orEmpty(a.ProducedBy), orEmpty(a.RunID), orEmpty(a.CreatedAt)
		list = append(list, n)
	}
	return list, err
}

func orEmpty(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// unreachableNeeds returns the sessions whose machine has been silent for more than half of their lease,
// according to their records.
func (m *View) unreachableNeeds(project string) (list []needs.Need, err error) {
	if !m.w.Exists(workspace.HubDir) {
		return nil, nil
	}
	sessions, err := m.observed()
	now := m.w.Env.Clock.Now()
	for _, s := range sessions {
		if !s.Remote() || s.Status != doc.StatusRunning || s.Reach != doc.ReachUnreachable || s.UnreachableSinceMS == nil || project != "" && s.ProjectID != project {
			continue
		}
		attempt, err := fleet.ReadAttempt(m.w.FS, fleet.Attempt(s.ProjectID, s.RunID, s.Ref, s.Epoch))
		if err != nil {
			continue // the doctor reports it
		}
		since := time.UnixMilli(*s.UnreachableSinceMS)
		lease := time.Duration(attempt.LeaseS) * time.Second
		if now.Sub(since) <= lease/2 {
			continue
		}
		left := "its session goes on until it is back, or given up"
		if attempt.OnCutOff == doc.CutOffStop {
			left = fmt.Sprintf("its session has %s left", max(0, lease-now.Sub(since)).Round(time.Second))
		}
		if !fleet.HubAlive(m.w) { // nobody is listening for the machine
			left = session.HubNotRunningNote
		}
		n := needs.New(needs.Unreachable, s.RunID, fmt.Sprintf("%s has not been heard since %s; %s", cmp.Or(fleet.WorkerName(m.w, s.WorkerID), s.WorkerID), clock.Stamp(since), left))
		n.ProjectID, n.RunID, n.At = s.ProjectID, s.RunID, clock.Stamp(since)
		if n.Who, err = m.view.AgentOf(index.RunKey{ProjectID: s.ProjectID, RunID: s.RunID}); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, err
}

// problemNeeds returns the runs that failed, went over a budget, or have a damaged log.
func (m *View) problemNeeds(project string) (list []needs.Need, err error) {
	since := clock.Nanos(m.w.Env.Clock.Now().Add(-failuresLast))
	found, err := m.view.TroubledRuns(project, since)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	attempts := attemptsOf{m: m, known: map[string]map[string]bool{}}
	for i := range found {
		t := problemRun{&found[i]}
		if recent := t.ended() >= since; recent && t.BudgetExceeded > 0 {
			list = append(list, t.need(needs.OverBudget, t.RunID, overBudget(budgetDecision(t.LatestBudgetDecision))))
		} else if recent && t.Status == doc.StatusFailed && !t.Retried {
			counts, err := attempts.counts(t.ProjectID, t.RunID)
			if err != nil {
				return nil, err
			}
			if counts {
				list = append(list, t.need(needs.RunFailed, fmt.Sprintf("%s:%d", t.RunID, t.Sessions), t.failure()))
			}
		}
		if t.ParseErrors > 0 || t.Tampered {
			n := t.need(needs.BrokenLog, t.RunID, t.broken())
			n.Faults = t.ParseErrors
			list = append(list, n)
		}
	}
	return list, nil
}

// problemRun makes the needs of a run with problems.
type problemRun struct{ *index.TroubledRun }

// ended returns when the run ended, or if unknown when it was created, in Unix nanoseconds.
func (t problemRun) ended() int64 {
	if t.EndedAt != 0 {
		return t.EndedAt
	}
	at, _ := clock.Parse(t.CreatedAt)
	return clock.Nanos(at)
}

func (t problemRun) need(kind, ref, title string) needs.Need {
	n := needs.New(kind, ref, title)
	n.ProjectID, n.RunID, n.Who = t.ProjectID, t.RunID, t.AgentID
	n.At = clock.Stamp(time.Unix(0, t.ended()))
	return n
}

// failure returns why the run failed: the agent's error message if there is one.
func (t problemRun) failure() string {
	switch {
	case t.Error != nil && *t.Error != "":
		return *t.Error
	case t.ErrorKind != nil && *t.ErrorKind != "":
		return "failed: " + *t.ErrorKind
	}
	return "failed"
}

// overBudget describes which limit was exceeded and by how much.
func overBudget(d *BudgetDecision) string {
	if d == nil || d.Metric == nil || d.Actual == nil || d.Threshold == nil {
		return "over its budget"
	}
	return fmt.Sprintf("over its budget: %g of %g %s", *d.Actual, *d.Threshold, *d.Metric)
}

// broken describes what is wrong with the log.
func (t problemRun) broken() string {
	switch t.ParseErrors {
	case 0:
		return "the log was changed"
	case 1:
		return "the log has 1 line that is no event"
	}
	return fmt.Sprintf("the log has %d lines that are no events", t.ParseErrors)
}

// attemptsOf caches which runs are attempts of jobs, by project.
type attemptsOf struct {
	m     *View
	known map[string]map[string]bool // by project and run: whether a failure counts
}

// counts reports whether a person has to look at the failure of a run. Of a job's attempts only the
// last counts, once the job is over. A failed step of a workflow does not count: the workflow's own
// run reports it.
func (a attemptsOf) counts(project, run string) (bool, error) {
	of, known := a.known[project]
	if !known {
		of = map[string]bool{}
		jobs, err := a.m.jobsOf(project)
		if err != nil {
			return false, err
		}
		for i := range jobs {
			_, _, step := job.FlowOf(jobs[i])
			for n, attempt := range jobs[i].Attempts {
				last := n == len(jobs[i].Attempts)-1
				of[attempt.RunID] = last && !step && jobs[i].Status == doc.JobCompleted
			}
		}
		a.known[project] = of
	}
	counts, attempt := of[run]
	return counts || !attempt, nil
}

// RunsNamed returns the runs with an id, in all projects.
func (m *View) RunsNamed(id string) ([]index.RunKey, error) { return m.view.RunsNamed(id) }

// DecisionOn returns the newest decision on an artifact, nil if there is none.
func (m *View) DecisionOn(artifact string) (*index.Review, error) { return m.view.DecisionOn(artifact) }
