package oversight

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/cli/clitest"
	"ac/cmd/ac/plumbing/workspaces"
	"ac/governance/needs"
	"ac/internal/terminal"
	"ac/runs/interaction"
	"ac/snapshot"
)

// shownNeeds returns needs of several kinds, with fixed ids and times.
func shownNeeds(now time.Time) []inboxRow {
	row := func(end, kind, from, title string, ago time.Duration) inboxRow {
		return inboxRow{
			ID: "art_01M7YTJ74WV2FK6GPF" + end, NeedID: kind + ":art_01M7YTJ74WV2FK6GPF" + end, Kind: kind, Title: title, From: &from, FromID: &from,
			RunID: new("run_01M7YTJ74WV2FK6GPF4WKKE6"), ProjectID: new("proj_1"), At: now.Add(-ago).Format(time.RFC3339),
		}
	}
	return []inboxRow{
		row("7Q2ZK1", needs.Permission, "Ann", "run: rm -rf build", 12*time.Second),
		row("B8N4WE", needs.Memory, "Ben", "Remember: releases are cut on Tuesdays, never before the nightly has passed", 3*time.Hour),
		row("M0C2P7", needs.Milestone, "Payments Manager", "Checkout API v2: report and 3 evidences", 25*time.Hour),
		row("Q7D1MV", needs.RunFailed, "A manager with a long name", "翻訳を確認する: strings/ja.json と strings/ko.json を見て\x1b[2Jください", 50*time.Hour),
	}
}

// TestInboxTables compares the list of needs with golden files at two widths.
func TestInboxTables(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	c := &cli.Call{App: &cli.App{}, Now: now, Scope: cli.Scope{Projects: []cli.Candidate{{ID: "proj_1", Name: "Checkout"}}}}
	for _, width := range []int{80, 140} {
		var b strings.Builder
		for _, project := range []string{"proj_1", ""} {
			c.Project = project
			b.WriteString(strings.Join(inboxTable(c, shownNeeds(now)).Lines(width, false), "\n") + "\n\n")
		}
		clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/inbox-%d.txt", width), b.String())
	}
}

// shownUsage returns a usage report with three days of use and one without.
func shownUsage() *snapshot.UsageReport {
	sum := func(runs int, tokens int64, cost float64, unpriced int) snapshot.UsageSum {
		s := snapshot.UsageSum{Records: runs, Sessions: runs, Total: tokens, UnpricedRecords: unpriced}
		if cost > 0 {
			s.CostUSD = &cost
		}
		return s
	}
	return &snapshot.UsageReport{
		Summary: sum(24, 579_000, 4.76, 5), Metadata: snapshot.UsagePeriodInfo{Days: 30},
		Daily: []snapshot.DayUsage{
			{UsageSum: sum(4, 88_000, 0.64, 0), Date: "2026-11-20"}, {Date: "2026-11-19"}, {UsageSum: sum(11, 310_000, 2.20, 2), Date: "2026-11-21"},
			{UsageSum: sum(9, 181_000, 1.92, 3), Date: "2026-11-22"},
		},
		Agents: []snapshot.AgentUsage{{UsageSum: sum(24, 579_000, 0, 24), AgentID: "agent_1", Name: "An agent with a name that is very long"}},
	}
}

// TestCostTables compares the list of costs with golden files at two widths.
func TestCostTables(t *testing.T) {
	t.Parallel()
	report := shownUsage()
	for _, width := range []int{80, 140} {
		var b strings.Builder
		for _, by := range []string{"day", "agent"} {
			b.WriteString(strings.Join(workspaces.CostTable(by, workspaces.CostRows(report, by), report, width, true).Lines(width, false), "\n") + "\n\n")
		}
		clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/cost-%d.txt", width), b.String())
	}
}

// TestTablesFit checks that no line is wider than the terminal, whatever the rows contain.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
		c := &cli.Call{App: &cli.App{}, Now: now}
		rows := shownNeeds(now)
		for i := range rows {
			rows[i].Title, rows[i].From = rapid.String().Draw(t, "title"), new(rapid.String().Draw(t, "from"))
		}
		width := rapid.IntRange(30, 200).Draw(t, "width")
		report := shownUsage()
		report.Daily[0].Date = rapid.String().Draw(t, "date")
		lines := append(inboxTable(c, rows).Lines(width, false), workspaces.CostTable("day", workspaces.CostRows(report, "day"), report, width, true).Lines(width, false)...)
		for _, line := range lines {
			if terminal.Columns(line) > width || strings.ContainsAny(line, "\x1b\r\n") {
				t.Fatalf("in %d columns: %q", width, line)
			}
		}
	})
}

// TestAnswerWords checks how the words of an answer are interpreted for each kind of request.
func TestAnswerWords(t *testing.T) {
	t.Parallel()
	record := func(kind string) *interaction.Record {
		r := &interaction.Record{}
		r.Kind, r.InteractionID = kind, "int_01M7YTJ74WV2FK6GPF7Q2ZK1"
		switch kind {
		case interaction.Permission:
			r.Options = []interaction.Option{{OptionID: "o1", Label: "Allow once"}, {OptionID: "o2", Label: "Never"}}
		case interaction.Question:
			r.Questions = []interaction.QuestionPart{{QuestionID: "q", Options: []interaction.Choice{{Label: "Red"}, {Label: "Blue"}}, FreeText: true}}
		}
		return r
	}
	for _, c := range []struct{ kind, words, want string }{
		{interaction.Permission, "allow", "allow"}, {interaction.Permission, "session", "allow session"}, {interaction.Permission, "deny use make clean", "deny: use make clean"},
		{interaction.Permission, "2", "option o2"}, {interaction.Permission, "never", "option o2"}, {interaction.Plan, "yes", "allow"}, {interaction.Plan, "no", "deny"},
		{interaction.Permission, "perhaps", "7Q2ZK1 is a permission: answer allow, session, or deny"}, {interaction.Permission, "allow it", "only deny takes more words"},
		{interaction.Question, "2", ": Blue"}, {interaction.Question, "red", ": Red"}, {interaction.Question, "green", ": green"}, {interaction.Input, "a b", ": a b"},
	} {
		p, err := respondTo(record(c.kind), c.words)
		got := strings.Join(slices.DeleteFunc([]string{p.Decision, p.Scope}, func(s string) bool { return s == "" }), " ")
		if p.OptionID != "" {
			got = "option " + p.OptionID
		}
		if p.Text != nil {
			got += ": " + *p.Text
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind, c.words, got, c.want)
		}
	}
}

// TestStatusScreens compares the output of status with golden files at two widths. It also checks
// that no line is wider.
func TestStatusScreens(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	c := &cli.Call{App: &cli.App{Stdout: &strings.Builder{}}, Now: now, Scope: cli.Scope{Project: "proj_1", Projects: []cli.Candidate{{ID: "proj_1", Name: "Checkout"}}, Actor: "human"}}
	report := &statusReport{
		Company: "Acme", WorkspaceDir: "/home/ann/src/shop/.ac", Project: &statusProject{"proj_1", "Checkout"},
		Running: clitest.Runs(now).Rows[:2], NeedsYou: shownNeeds(now)[:3], needs: 3,
		Today:  statusToday{Runs: 9, Done: 6, Failed: 1, Running: 2, Tokens: 181_000, CostUSD: new(1.92), Unpriced: 3},
		Health: statusHealth{Status: "ok"},
	}
	for _, width := range []int{80, 140} {
		calm := statusText(c, report, width, true)
		ill := *report
		ill.Running, ill.NeedsYou, ill.needs, ill.beats = nil, nil, 0, true
		ill.Health = statusHealth{Status: "warn", Findings: []statusFinding{{"disk.free", "warn", "812 MiB are free"}}}
		screens := calm + "\n" + statusText(c, &ill, width, false)
		clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/status-%d.txt", width), screens)
		for line := range strings.Lines(screens) {
			if terminal.Columns(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("wider than %d: %q", width, line)
			}
		}
	}
}
