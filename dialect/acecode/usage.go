package acecode

// Usage, in the counts of the protocol.

import (
	"strconv"

	"ac/company"
	"ac/company/workforce"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/snapshot"
)

// usageSum is the total of a set of usage records.
type usageSum struct {
	Records   int           `json:"records"`
	Estimated int           `json:"estimated_records"`
	Sessions  int           `json:"session_count"`
	Totals    frames.Tokens `json:"totals"`
}

func sumOf(u *snapshot.UsageSum) usageSum {
	t := frames.Tokens{
		Prompt: u.Input + u.Cached + u.CacheWrite, Completion: u.Output + u.Reasoning, Total: u.Total,
		CacheRead: u.Cached, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning,
	}
	if t.Total == 0 {
		t.Total = t.Prompt + t.Completion
	}
	return usageSum{u.Records, u.EstimatedRecords, u.Sessions, t}
}

type usageDay struct {
	Date   string `json:"date"`
	Tokens int64  `json:"tokens"`
	usageSum
}

type usageModel struct {
	Label    string `json:"label"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Preset   string `json:"model_preset"`
	usageSum
}

type usageWorkspace struct {
	Hash string `json:"workspace_hash"`
	Name string `json:"workspace_name"`
	Cwd  string `json:"cwd"`
	usageSum
}

type usagePeriod struct {
	Days        int    `json:"days"`
	Start       string `json:"period_start"`
	End         string `json:"period_end"`
	Timezone    int    `json:"timezone_offset_minutes"`
	ForwardOnly bool   `json:"forward_only"`
}

type usageAnswer struct {
	Summary    usageSum         `json:"summary"`
	Daily      []usageDay       `json:"daily"`
	Models     []usageModel     `json:"models"`
	Workspaces []usageWorkspace `json:"workspaces"`
	Metadata   usagePeriod      `json:"metadata"`
}

// integer returns a query parameter within bounds. usual is the default for an invalid or missing
// one.
func integer(r *request, name string, usual, least, most int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		n = usual
	}
	return min(max(n, least), most)
}

func usage(s *server, r *request) (any, error) {
	if name := r.URL.Query().Get("workspace"); name != "" && !s.isHash(name) {
		return nil, unknownWorkspace()
	}
	report, err := dialect.Do(r.Context(), s.Company, workforce.Operations.UsageReport, workforce.UsageReportParams{
		Dir: s.In(), IndexStep: company.IndexStep{SyncIndex: true}, ProjectID: s.ProjectID, Days: integer(r, "days", 30, 1, 366), Timezone: integer(r, "timezone_offset_minutes", 0, -1440, 1440),
	})
	if err != nil {
		return nil, err
	}
	answer := usageAnswer{Summary: sumOf(&report.Summary), Daily: []usageDay{}, Models: []usageModel{}, Workspaces: []usageWorkspace{}, Metadata: usagePeriod{
		Days: report.Metadata.Days, Start: report.Metadata.PeriodStart, End: report.Metadata.PeriodEnd, Timezone: report.Metadata.Timezone,
	}}
	for i := range report.Daily {
		sum := sumOf(&report.Daily[i].UsageSum)
		answer.Daily = append(answer.Daily, usageDay{report.Daily[i].Date, sum.Totals.Total, sum})
	}
	for i := range report.Models {
		m := &report.Models[i]
		answer.Models = append(answer.Models, usageModel{m.Label, m.Provider, m.Model, m.Profile, sumOf(&m.UsageSum)})
	}
	for i := range report.Projects {
		answer.Workspaces = append(answer.Workspaces, usageWorkspace{s.hash, report.Projects[i].Name, s.cwd, sumOf(&report.Projects[i].UsageSum)})
	}
	return answer, nil
}
