package company

// What ac status shows, from one snapshot: live runs, what needs a person, and today's activity.

import (
	"context"
	"time"

	"ac/governance/needs"
	"ac/index"
	"ac/internal/clock"
	"ac/snapshot"
	"ac/workspace/doc"
)

// StatusParams are the params of Status.
type StatusParams struct {
	Dir
	ProjectID string `json:"-"` // "" for all
}

// Status is what is running, what waits for a person, and what happened today.
type Status struct {
	Live  RunRows
	Lost  int // runs whose supervisor died before it recorded their end
	Needs []needs.Need
	Today Today
}

// Today is what happened since midnight, local time of this machine.
type Today struct {
	Runs     int            // created today
	ByStatus map[string]int // the same runs by status
	Used     snapshot.UsageSum
}

// Status returns the overview of ac status. It writes only the index.
func (c *Company) Status(ctx context.Context, p StatusParams) (s Status, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) error {
		if s.Live, err = c.runRows(m, RunRowsParams{ProjectID: p.ProjectID, Live: true}); err != nil {
			return err
		}
		if s.Lost, err = c.lost(m, p.ProjectID); err != nil {
			return err
		}
		found, err := m.Needs(p.ProjectID)
		if err != nil {
			return err
		}
		s.Needs = nil
		for _, n := range found.Open {
			if n.Group != needs.GroupRun {
				s.Needs = append(s.Needs, n)
			}
		}
		s.Today, err = c.today(m, p.ProjectID)
		return err
	})
	if err != nil {
		return s, err
	}
	return s, c.describeAll(ctx, s.Live.Rows)
}

// lost counts the runs whose record says running although their sessions ended.
func (c *Company) lost(m *snapshot.View, project string) (n int, err error) {
	list, err := m.RunList(snapshot.RunQuery{ProjectID: project, Status: doc.StatusRunning})
	for i := range list.Rows {
		if r := &list.Rows[i]; r.RowSession != nil && stateOf(r, 0) == StateLost {
			n++
		}
	}
	return n, err
}

// today counts the runs created today, and sums up today's usage.
func (c *Company) today(m *snapshot.View, project string) (t Today, err error) {
	now := c.w.Env.Clock.Now().Local()
	_, ahead := now.Zone()
	since := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	if t.ByStatus, err = m.RunsSince(project, clock.Nanos(since)); err != nil {
		return t, err
	}
	for _, n := range t.ByStatus {
		t.Runs += n
	}
	report, err := m.UsageReport(snapshot.UsageReportQuery{ProjectID: project, Days: 1, Timezone: -ahead / 60})
	t.Used = report.Summary
	return t, err
}
