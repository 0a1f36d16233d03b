package company

// usage.report: what was used, by day, model, project, agent and provider.

import (
	"context"

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
