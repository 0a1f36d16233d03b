package oversight

// Tests of the tables and charts of the short commands: golden files at two widths, and no line
// wider than the terminal, whatever the texts.

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/cmd/ac/cli"
	"ac/cmd/ac/cli/clitest"
	"ac/company/workforce"
	"ac/index/search"
	"ac/internal/terminal"
	"ac/pm"
	"ac/workspace/doc"
)

var update = flag.Bool("update", false, "write the recorded screens anew")

// shownTables returns the tables of all list commands, by name, with texts from word. Add an entry
// for each new list command.
func shownTables(c *cli.Call, now time.Time, word func() string) map[string]terminal.Table {
	pointer := func() *string { return new(word()) }
	at := now.Add(-3 * time.Hour).Format(time.RFC3339)
	names := AgentNames{"agent_1": word()}
	runs := clitest.Runs(now)
	for i := range runs.Rows {
		runs.Rows[i].Agent, runs.Rows[i].What = pointer(), pointer()
	}
	return map[string]terminal.Table{
		"ps": c.RunTable(runs, true),
		"agents": agentTable([]workforce.RosterAgent{
			{AgentID: "agent_1", Name: word(), Role: "worker", Team: pointer(), Provider: word(), State: workforce.AgentAsks, Now: pointer()},
			{AgentID: "agent_2", Name: word(), Role: "manager", Provider: "codex", State: "cannot start: codex is not installed"},
			{AgentID: "agent_3", Name: word(), Role: "worker", Provider: "cmd", State: workforce.AgentWorking, Now: pointer()},
			{AgentID: "agent_4", Name: word(), Role: "worker", Provider: "cmd", State: workforce.AgentIdle},
		}),
		"teams": teamTable([]workforce.RosterTeam{{TeamID: "team_1", Name: word(), Agents: 3, Working: 1}, {TeamID: "team_2", Name: word()}}),
		"projects": projectTable([]workforce.ProjectCounts{
			{ProjectID: "proj_1", Name: word(), Live: 2, Waiting: 3, OpenTasks: 12, Repos: []string{word(), word()}}, {ProjectID: "proj_2", Name: word()},
		}),
		"tasks": taskTable(c, []taskLine{
			{TaskID: "task_01M7YTJ74WV2FK6GPF4WKKE6", Status: "in_progress", Assignee: pointer(), Due: new("2026-12-01"), Title: word(), project: "proj_1"},
			{TaskID: "task_01M7YTJ74WV2FK6GPFKHQ2Z9", Status: "done", Title: word(), project: "proj_2"},
			{TaskID: "task_01M7YTJ74WV2FK6GPFMCWEF6", Status: "blocked", Title: word(), project: "proj_1"},
		}),
		"jobs": jobTable(c, []jobLine{
			{JobID: "job_01M7YTJ74WV2FK6GPF4WKKE6", Status: doc.JobRunning, Worker: word(), Goal: word(), SubmittedAt: at, Attempt: 2, project: "proj_1"},
			{JobID: "job_01M7YTJ74WV2FK6GPFKHQ2Z9", Status: doc.JobQueued, Worker: "codex", Goal: word(), SubmittedAt: at, project: "proj_2"},
		}),
		"talk": talkTable(c, []workforce.TalkRow{
			{ConversationID: "conv_1", ProjectID: new("proj_1"), Kind: "channel", Slug: word(), Name: word(), LastAt: &at, LastBy: new("agent_1"), Unread: 4},
			{ConversationID: "conv_2", Kind: "dm", Name: word()},
		}, names),
		"search": searchTable([]search.Hit{
			{Kind: "run", Ref: "run_01M7YTJ74WV2FK6GPF4WKKE6", Title: word(), Snippet: word(), At: now.Add(-time.Hour).UnixMilli()},
			{Kind: "task", Ref: "task_01M7YTJ74WV2FK6GPFKHQ2Z9", Title: word(), Snippet: word(), At: now.Add(-48 * time.Hour).UnixMilli()},
		}, now),
	}
}

// shownCall returns a call with a fixed clock and two projects.
func shownCall(now time.Time, project string) *cli.Call {
	return &cli.Call{App: &cli.App{}, Now: now, Scope: cli.Scope{Project: project, Projects: []cli.Candidate{{ID: "proj_1", Name: "Checkout"}, {ID: "proj_2", Name: "成長 Growth"}}}}
}

// shownPlan returns a plan with tasks in several states.
func shownPlan(now time.Time, word func() string) pm.Plan {
	task := func(status, start string, days int) doc.Task {
		return doc.Task{ID: "task_" + start + status, Title: word(), Status: status, AssigneeAgentID: "agent_1", Schedule: &doc.Schedule{PlannedStart: start, DurationDays: &days}}
	}
	return pm.Schedule([]doc.Task{task("done", "2026-11-16", 3), task("in_progress", "2026-11-20", 6), task("blocked", "2026-11-24", 2), task("draft", "2026-12-20", 10)}, now)
}

// TestScreens compares lists and plans with golden files at two widths.
func TestScreens(t *testing.T) {
	t.Setenv("LC_ALL", "C.UTF-8")
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	for _, width := range []int{80, 140} {
		words := []string{"Payments", "Fix the flaky test in the payment client and explain what made it flaky", "翻訳を確認する: strings/ja.json と strings/ko.json", "Ann", "release-2"}
		n := 0
		word := func() string { n++; return words[n%len(words)] }
		for _, name := range []string{"agents", "teams", "projects", "tasks", "jobs", "talk"} {
			var b strings.Builder
			for _, project := range []string{"proj_1", ""} {
				n = 0
				table := shownTables(shownCall(now, project), now, word)[name]
				b.WriteString(strings.Join(table.Lines(width, false), "\n") + "\n\n")
			}
			clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/%s-%d.txt", name, width), b.String())
		}
		n = 0
		plan := shownPlan(now, word)
		var b strings.Builder
		for _, days := range []int{0, weekDays} {
			b.WriteString(strings.Join(plan.ChartLines(pm.ChartOptions{Columns: width, Days: days, Today: now, Unicode: true, Who: func(string) string { return "Ann" }}), "\n") + "\n\n")
		}
		clitest.Golden(t, *update, fmt.Sprintf("testdata/screens/plan-%d.txt", width), b.String())
	}
}

// TestNoListIsWiderThanTheTerminal checks that no line is wider than the terminal or contains
// control characters, whatever the texts.
func TestNoListIsWiderThanTheTerminal(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 14, 3, 12, 0, time.UTC)
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	texts := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.RuneFrom([]rune("翻訳ｶé\u0301\u200d\x1b\t\r\n\u202e…"))))
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(30, 200).Draw(t, "width")
		project := rapid.SampledFrom([]string{"proj_1", ""}).Draw(t, "project")
		colour := rapid.Bool().Draw(t, "colour")
		word := func() string { return texts.Draw(t, "text") }
		held := func(name string, lines []string) {
			for _, line := range lines {
				bare := line
				if colour {
					bare = escapes.ReplaceAllString(line, "")
				}
				if terminal.Columns(bare) > width || strings.ContainsAny(bare, "\x1b\t\r\n\u202e") {
					t.Fatalf("%s in %d columns: %q", name, width, line)
				}
			}
		}
		for name, table := range shownTables(shownCall(now, project), now, word) {
			held(name, table.Lines(width, colour))
		}
		plan := shownPlan(now, word)
		who := word()
		held("plan", plan.ChartLines(pm.ChartOptions{
			Columns: width, Days: rapid.SampledFrom([]int{0, weekDays, monthDays}).Draw(t, "days"), Today: now, Colour: colour,
			Unicode: rapid.Bool().Draw(t, "unicode"), Who: func(string) string { return who },
		}))
	})
}
