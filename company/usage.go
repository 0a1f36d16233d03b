package company

// usage.report: what was used, by day, model, project, agent and provider.

import (
	"context"
	"time"

	"ac/index"
	"ac/internal/clock"
	"ac/snapshot"
)

// UsageReportParams are the params of usage.report. Timezone is UTC minus local time, in
// minutes.
type UsageReportParams struct {
	Dir
	IndexStep
	ProjectID string `json:"project_id" is:"optional,id"`
	AgentID   string `json:"agent_id" is:"optional,id"`
	Days      int    `json:"days" is:"default=30,min=1,max=366"`
	Timezone  int    `json:"timezone_offset_minutes" is:"default=0,min=-1440,max=1440"`
}

// UsageReport reports what was used in the last days. A record falls on the local day of
// the event that closed its turn or session.
func (c *Company) UsageReport(ctx context.Context, p UsageReportParams) (report snapshot.UsageReport, err error) {
	err = c.at(ctx, p.freshness(), func(m *snapshot.View) (err error) {
		report, err = m.UsageReport(snapshot.UsageReportQuery{ProjectID: p.ProjectID, AgentID: p.AgentID, Days: p.Days, Timezone: p.Timezone})
		return err
	})
	return report, err
}

// TodayParams are those of Today.
type TodayParams struct {
	Dir
	ProjectID string `json:"-"`
}

// TodayResult is what happened on the local day of this machine.
type TodayResult struct {
	Runs     int            // created today
	ByStatus map[string]int // of these
	Used     snapshot.UsageSum
}

// Today counts the runs that were created today, and sums up what was used today.
func (c *Company) Today(ctx context.Context, p TodayParams) (result TodayResult, err error) {
	now := c.w.Env.Clock.Now().Local()
	_, ahead := now.Zone()
	since := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	err = c.at(ctx, index.UpToDate, func(m *snapshot.View) error {
		if result.ByStatus, err = m.RunsSince(p.ProjectID, clock.Nanos(since)); err != nil {
			return err
		}
		report, err := m.UsageReport(snapshot.UsageReportQuery{ProjectID: p.ProjectID, Days: 1, Timezone: -ahead / 60})
		result.Used = report.Summary
		return err
	})
	for _, n := range result.ByStatus {
		result.Runs += n
	}
	return result, err
}
