package snapshot

// Usage by day, model, project, agent and provider.

import (
	"cmp"
	"slices"
	"time"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/collation"
)

// UsageReport is the usage of the days up to today. The sums of every list equal the summary.
type UsageReport struct {
	Summary   UsageSum        `json:"summary"`
	Daily     []DayUsage      `json:"daily"` // every day of the period, today last
	Models    []ModelUsage    `json:"models"`
	Projects  []ProjectUsage  `json:"projects"`
	Agents    []AgentUsage    `json:"agents"`
	Providers []ProviderUsed  `json:"providers"`
	Metadata  UsagePeriodInfo `json:"metadata"`
}

// UsageSum sums up usage records. A record is one turn, or one session without turns. The token
// counts are disjoint parts of the total.
type UsageSum struct {
	Records          int      `json:"records"`
	EstimatedRecords int      `json:"estimated_records"` // the agent reported nothing
	Sessions         int      `json:"session_count"`     // distinct runs
	Input            int64    `json:"input_tokens"`
	Cached           int64    `json:"cached_input_tokens"`
	CacheWrite       int64    `json:"cache_write_tokens"`
	Output           int64    `json:"output_tokens"`
	Reasoning        int64    `json:"reasoning_output_tokens"`
	Total            int64    `json:"total_tokens"`
	CostUSD          *float64 `json:"cost_usd"` // null if no record has a price
	UnpricedRecords  int      `json:"unpriced_records"`

	runs map[index.RunKey]bool
}

// DayUsage is the usage of a local day.
type DayUsage struct {
	UsageSum
	Date string `json:"date"`
}

// ModelUsage is the usage of a provider's model. Runs with a model profile have their own rows,
// labeled with its name.
type ModelUsage struct {
	UsageSum
	Label    string `json:"label"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Profile  string `json:"-"` // "" for none
}

// modelKey identifies a row of the models.
type modelKey struct{ profile, provider, model string }

// ProjectUsage is the usage of a project.
type ProjectUsage struct {
	UsageSum
	ProjectID string `json:"project_id"`
	Name      string `json:"name"`
}

// AgentUsage is the usage of an agent.
type AgentUsage struct {
	UsageSum
	AgentID string `json:"agent_id"`
	Name    string `json:"name"`
}

// ProviderUsed is the usage of a provider.
type ProviderUsed struct {
	UsageSum
	Provider string `json:"provider"`
}

// UsagePeriodInfo is the period of a report.
type UsagePeriodInfo struct {
	Days          int    `json:"days"`
	PeriodStart   string `json:"period_start"`
	PeriodEnd     string `json:"period_end"`
	PeriodStartMS int64  `json:"period_start_ms"`
	PeriodEndMS   int64  `json:"period_end_ms"`
	Timezone      int    `json:"timezone_offset_minutes"`
	GeneratedAt   string `json:"generated_at"`
}

// UsageReportQuery selects what is reported. Empty fields match all. Timezone is UTC minus local
// time, in minutes.
type UsageReportQuery struct {
	ProjectID string
	AgentID   string
	Days      int
	Timezone  int
}

// UsageReport sums up the usage of the last days, including today.
func (m *View) UsageReport(q UsageReportQuery) (report UsageReport, err error) {
	zone := time.FixedZone("", -60*q.Timezone)
	now := m.w.Env.Clock.Now()
	y, month, d := now.In(zone).Date()
	from, to := time.Date(y, month, d-q.Days+1, 0, 0, 0, 0, zone), time.Date(y, month, d+1, 0, 0, 0, 0, zone).Add(-time.Millisecond)
	report.Metadata = UsagePeriodInfo{
		Days: q.Days, PeriodStart: clock.Stamp(from), PeriodEnd: clock.Stamp(to), PeriodStartMS: from.UnixMilli(), PeriodEndMS: to.UnixMilli(),
		Timezone: q.Timezone, GeneratedAt: clock.Stamp(now),
	}
	report.Daily = make([]DayUsage, q.Days)
	for i := range report.Daily {
		report.Daily[i].Date = from.AddDate(0, 0, i).Format(time.DateOnly)
	}
	models, projects, agents, providers := usageBy[modelKey]{}, usageBy[string]{}, usageBy[string]{}, usageBy[string]{}
	filter := index.UsageFilter{ProjectID: q.ProjectID, AgentID: q.AgentID, From: clock.Nanos(from), To: clock.Nanos(to.Add(time.Millisecond)) - 1}
	err = m.view.UsageRecords(filter, func(r *index.UsageRecord) {
		day := int((r.At - filter.From) / int64(24*time.Hour)) // the zone is fixed
		for _, sum := range []*UsageSum{
			&report.Summary, &report.Daily[day].UsageSum, models.of(modelKey{r.Profile, r.Provider, r.Model}), projects.of(r.ProjectID), agents.of(r.AgentID), providers.of(r.Provider),
		} {
			sum.add(r)
		}
	})
	if err != nil {
		return report, err
	}
	report.Summary.close()
	for i := range report.Daily {
		report.Daily[i].close()
	}
	return report, m.nameUsage(&report, models, projects, agents, providers)
}

// nameUsage builds the lists of a report, most tokens first.
func (m *View) nameUsage(report *UsageReport, models usageBy[modelKey], projects, agents, providers usageBy[string]) error {
	report.Models = usageList(models, func(key modelKey, sum UsageSum) (ModelUsage, string) {
		row := ModelUsage{UsageSum: sum, Label: cmp.Or(key.profile, key.model, key.provider), Provider: key.provider, Model: key.model, Profile: key.profile}
		return row, row.Label + "\x00" + row.Provider + "\x00" + row.Model
	})
	report.Providers = usageList(providers, func(key string, sum UsageSum) (ProviderUsed, string) { return ProviderUsed{sum, key}, key })
	named := map[string]string{}
	known, err := m.view.AgentCounters()
	if err != nil {
		return err
	}
	for _, a := range known {
		named[a.AgentID] = a.Name
	}
	report.Agents = usageList(agents, func(key string, sum UsageSum) (AgentUsage, string) {
		row := AgentUsage{sum, key, cmp.Or(named[key], key)}
		return row, row.Name
	})
	clear(named)
	all, err := m.w.Projects()
	for _, p := range all {
		named[p.ID] = p.Name
	}
	report.Projects = usageList(projects, func(key string, sum UsageSum) (ProjectUsage, string) {
		row := ProjectUsage{sum, key, cmp.Or(named[key], key)}
		return row, row.Name
	})
	return err
}

func (s *UsageSum) add(r *index.UsageRecord) {
	s.Records++
	if r.Estimated {
		s.EstimatedRecords++
	}
	if s.runs == nil {
		s.runs = map[index.RunKey]bool{}
	}
	s.runs[r.RunKey] = true
	s.Input, s.Cached, s.CacheWrite = s.Input+r.Input, s.Cached+r.Cached, s.CacheWrite+r.Written
	s.Output, s.Reasoning, s.Total = s.Output+r.Output, s.Reasoning+r.Reasoning, s.Total+r.Total
	if r.CostUSD == nil {
		s.UnpricedRecords++
		return
	}
	if s.CostUSD == nil {
		s.CostUSD = new(0.0)
	}
	*s.CostUSD += *r.CostUSD
}

// close sets the number of runs and rounds the cost.
func (s *UsageSum) close() {
	s.Sessions, s.runs = len(s.runs), nil
	if s.CostUSD != nil {
		s.CostUSD = new(micro(*s.CostUSD))
	}
}

// usageBy holds sums by key.
type usageBy[K comparable] map[K]*UsageSum

func (u usageBy[K]) of(key K) *UsageSum {
	sum := u[key]
	if sum == nil {
		sum = &UsageSum{}
		u[key] = sum
	}
	return sum
}

// usageList makes rows of sums, ordered by tokens, then records, both descending, then by name.
func usageList[K comparable, R any](u usageBy[K], row func(K, UsageSum) (R, string)) []R {
	type named struct {
		row  R
		sum  UsageSum
		name string
	}
	list := make([]named, 0, len(u))
	for key, sum := range u {
		sum.close()
		made, name := row(key, *sum)
		list = append(list, named{made, *sum, name})
	}
	byText := collation.Lazy()
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(cmp.Compare(b.sum.Total, a.sum.Total), cmp.Compare(b.sum.Records, a.sum.Records), byText(a.name, b.name))
	})
	rows := make([]R, len(list))
	for i := range list {
		rows[i] = list[i].row
	}
	return rows
}
