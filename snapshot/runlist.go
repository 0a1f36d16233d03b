package snapshot

// Lists of runs for people. Only the sessions and index rows of the listed runs are read.

import (
	"slices"

	"ac/index"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// RunQuery selects runs. Empty fields match all.
type RunQuery struct {
	ProjectID string
	AgentID   string
	TaskID    string
	Ending    string // suffix of the run id, case-insensitive
	Since     int64  // created at or after, in Unix nanoseconds; 0 for no bound
	Status    string // according to their records
	Before    int64  // created before, in Unix nanoseconds; 0 for no bound
	Most      int    // maximum number; 0 for all
	Newest    bool   // do not add older running runs beyond Most
}

func (q RunQuery) filter() index.RunFilter {
	f := index.RunFilter{ProjectID: q.ProjectID, AgentID: q.AgentID, TaskID: q.TaskID, Ending: q.Ending, From: q.Since, Status: q.Status, Limit: q.Most}
	if q.Before != 0 {
		f.To = q.Before - 1
	}
	return f
}

// RunList is a list of runs with their sessions.
type RunList struct {
	Rows  []MonitorRow // newest first
	Total int          // all runs that the query selects, beyond Most too
}

// RunList lists the newest runs. Unless q prevents it, it adds all runs that are running by their
// records, whatever their age.
func (m *View) RunList(q RunQuery) (list RunList, err error) {
	found, err := m.view.ListedRuns(q.filter())
	if err != nil {
		return list, err
	}
	if list.Total = len(found); q.Most > 0 && len(found) == q.Most {
		if list.Total, err = m.view.CountRuns(q.filter()); err != nil {
			return list, err
		}
	}
	if q.Status == "" && !q.Newest && list.Total > len(found) {
		running := q
		running.Status, running.Most = doc.StatusRunning, 0
		live, err := m.view.ListedRuns(running.filter())
		if err != nil {
			return list, err
		}
		there := make(map[index.RunKey]bool, len(found))
		for i := range found {
			there[found[i].Key()] = true
		}
		found = append(found, slices.DeleteFunc(live, func(l index.ListedRun) bool { return there[l.Key()] })...)
	}
	list.Rows = make([]MonitorRow, len(found))
	workspace.Each(len(found), func(i int) { list.Rows[i] = m.listed(&found[i]) })
	slices.SortStableFunc(list.Rows, func(a, b MonitorRow) int { return newer(a.CreatedAt, b.CreatedAt) })
	return list, nil
}

// listed returns the row of a run.
func (m *View) listed(l *index.ListedRun) MonitorRow {
	row := m.rowOf(&l.MonitoredRun, m.sessionOf(l))
	row.RetryOf = l.RetryOf
	return row
}

// sessionOf returns the newest session of a run, nil if there is none. It writes nothing.
func (m *View) sessionOf(l *index.ListedRun) *doc.Session {
	if l.SessionRef == "" {
		return nil
	}
	record, err := session.Read(m.w, l.SessionRef)
	if err != nil || record.RunID != l.RunID || record.ProjectID != l.ProjectID {
		return nil // it was never launched, or its record is lost
	}
	record = session.Observe(m.w, record)
	return &record
}

// RunIDsLike lists the ids of all runs whose last letters equal those of one of ids.
func (m *View) RunIDsLike(ids []string, letters int) ([]string, error) {
	return m.view.RunIDsLike(ids, letters)
}

// CountRuns counts the runs of the workspace.
func (m *View) CountRuns() (int, error) { return m.view.CountRuns(index.RunFilter{}) }

// CheckLogs fails if one of these runs has a changed log and the view covers only records. At then
// syncs and calls its reader again.
func (m *View) CheckLogs(rows []MonitorRow) error {
	if !m.partly {
		return nil
	}
	keys := make([]index.RunKey, len(rows))
	for i := range rows {
		keys[i] = index.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID}
	}
	return m.view.CheckLogs(keys)
}

// OneRun returns one run with its newest session. known is false for a run that is not in the
// index.
func (m *View) OneRun(key index.RunKey) (row MonitorRow, known bool, err error) {
	found, err := m.view.ListedRun(key)
	if err != nil || found == nil {
		return row, false, err
	}
	return m.listed(found), true, nil
}

// RunsSince counts the runs created since a time, in Unix nanoseconds, by status.
func (m *View) RunsSince(project string, since int64) (map[string]int, error) {
	return m.view.RunsSince(project, since)
}

// TypesAfter lists the types of a run's events after a seq, except some types.
func (m *View) TypesAfter(key index.RunKey, seq int64, except ...string) ([]string, error) {
	return m.view.TypesAfter(key, seq, except...)
}
