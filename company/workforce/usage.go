package workforce

// usage.report and usage.series: usage by day, model, project, agent and provider.

import (
	"context"
	"time"

	"ac/company"
	"ac/internal/fault"
	"ac/snapshot"
)

// UsageReportParams are the params of usage.report. Timezone is UTC minus local time, in
// minutes.
type UsageReportParams struct {
	company.Dir
	company.IndexStep
	ProjectID string `json:"project_id" is:"optional,id"`
	AgentID   string `json:"agent_id" is:"optional,id"`
	Days      int    `json:"days" is:"default=30,min=1,max=366"`
	Timezone  int    `json:"timezone_offset_minutes" is:"default=0,min=-1440,max=1440"`
}

// UsageReport reports the usage of the last days. A record counts for the local day of the event
// that closed its turn or session.
func (c Operations) UsageReport(ctx context.Context, p UsageReportParams) (report snapshot.UsageReport, err error) {
	err = c.View(ctx, p.Freshness(), func(m *snapshot.View) (err error) {
		report, err = m.UsageReport(snapshot.UsageReportQuery{ProjectID: p.ProjectID, AgentID: p.AgentID, Days: p.Days, Timezone: p.Timezone})
		return err
	})
	return report, err
}

// UsageSeriesParams are the params of usage.series. From and To are local days, both included.
type UsageSeriesParams struct {
	company.Dir
	company.IndexStep
	ProjectID string `json:"project_id" is:"optional,id"`
	From      string `json:"from"`
	To        string `json:"to"`
	Bucket    string `json:"bucket" is:"default=day,enum=hour|day|week"`
	By        string `json:"by" is:"default=agent,enum=agent|provider|model|project|task"`
	Timezone  int    `json:"timezone_offset_minutes" is:"default=0,min=-1440,max=1440"`
}

// CheckFields rejects invalid periods and periods of too many buckets.
func (p *UsageSeriesParams) CheckFields() (issues []fault.Issue) {
	q := p.query()
	for _, day := range []struct {
		name string
		at   time.Time
	}{{"from", q.From}, {"to", q.To}} {
		if day.at.IsZero() {
			issues = append(issues, fault.Issue{Path: []any{day.name}, Code: "custom", Message: "must be a day such as 2026-11-20"})
		}
	}
	switch {
	case len(issues) > 0:
	case q.To.Before(q.From):
		issues = append(issues, fault.Issue{Path: []any{"to"}, Code: "custom", Message: "must not be before from"})
	case len(q.Starts()) > snapshot.MostBuckets:
		issues = append(issues, fault.Issue{Path: []any{"bucket"}, Code: "custom", Message: "makes more than 400 buckets of this period"})
	}
	return issues
}

func (p *UsageSeriesParams) query() snapshot.SeriesQuery {
	from, _ := time.Parse(time.DateOnly, p.From) // zero if invalid
	to, _ := time.Parse(time.DateOnly, p.To)     // same
	return snapshot.SeriesQuery{ProjectID: p.ProjectID, From: from, To: to, Bucket: p.Bucket, By: p.By, Timezone: p.Timezone}
}

// UsageSeries returns usage over time. It keeps reported, rated and estimated figures apart.
func (c Operations) UsageSeries(ctx context.Context, p UsageSeriesParams) (series snapshot.Series, err error) {
	err = c.View(ctx, p.Freshness(), func(m *snapshot.View) (err error) {
		series, err = m.UsageSeries(p.query())
		return err
	})
	return series, err
}
