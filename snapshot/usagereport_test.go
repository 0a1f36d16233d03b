package snapshot

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ac/index"
	"ac/internal/clock"
	"ac/workspace"
)

// modelled is the part of a run's record that names its model.
const modelled = "spec: {kind: codex_app_server, prompt_relpath: p, model: m1}\n"

// usageRun writes a run whose log has these events, each given as its type, its offset from
// day, and its payload.
func usageRun(t testing.TB, w *workspace.Workspace, project, run, provider, model string, day time.Time, lines ...[3]string) {
	t.Helper()
	put(t, w, workspace.RunFile(project, run), "schema_version: 1\ntype: run\nid: "+run+"\nproject_id: "+project+"\nagent_id: agent_a\nprovider: "+provider+
		"\ncreated_at: 2026-01-01T00:00:00.000Z\nstatus: ended\ncontext_pack_id: c\nevents_relpath: x\n"+model)
	text := ""
	for i, l := range lines {
		at, err := time.ParseDuration(l[1])
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf(`{"schema_version":1,"ts_wallclock":%q,"ts_monotonic_ms":%d,"run_id":%q,"session_ref":"s","actor":"system","visibility":"org","type":%q,"payload":%s}`+"\n",
			clock.Stamp(day.Add(at)), i, run, l[0], l[2])
	}
	put(t, w, workspace.LogFile(project, run), text)
}

func usageReport(t testing.TB, w *workspace.Workspace, ix *index.Index, q UsageReportQuery) (report UsageReport) {
	t.Helper()
	err := At(context.Background(), w, ix, Request{Index: index.UpToDate}, func(m *View) (err error) {
		report, err = m.UsageReport(q)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestUsageOfProfiles checks that runs with a model profile are listed separately under its
// name, whatever model and provider they share with others.
func TestUsageOfProfiles(t *testing.T) {
	t.Parallel()
	w, project := office(t)
	ix := index.For(w)
	t.Cleanup(func() { _ = ix.Close() })
	now := w.Env.Clock.Now()
	for i, record := range []string{modelled, "model_profile: Fast\n" + modelled, "model_profile: Fast\n", ""} {
		usageRun(t, w, project, fmt.Sprintf("run_%d", i), "codex", record, now,
			[3]string{"usage.reported", "0s", fmt.Sprintf(`{"total_tokens":%d}`, 10*(i+1))}, [3]string{"run.ended", "0s", `{}`})
	}
	got := []string{}
	for _, m := range usageReport(t, w, ix, UsageReportQuery{Days: 1}).Models {
		got = append(got, fmt.Sprintf("%s/%s/%s %d", m.Label, m.Provider, m.Model, m.Total))
	}
	want := []string{"codex/codex/ 40", "Fast/codex/ 30", "Fast/codex/m1 20", "m1/codex/m1 10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// TestUsageOfModels checks that each record counts under the model that the agent used,
// whatever the launch named. A record without a model counts under the launch's model.
func TestUsageOfModels(t *testing.T) {
	t.Parallel()
	w, project := office(t)
	ix := index.For(w)
	t.Cleanup(func() { _ = ix.Close() })
	now := w.Env.Clock.Now()
	ended := [3]string{"run.ended", "0s", `{}`}
	usageRun(t, w, project, "run_turns", "claude", "", now,
		[3]string{"usage.reported", "0s", `{"turn":1,"total_tokens":10,"model":"opus"}`}, [3]string{"run.turn_ended", "0s", `{"turn":1}`},
		[3]string{"usage.reported", "0s", `{"turn":2,"total_tokens":30,"model":"opus"}`}, [3]string{"run.turn_ended", "0s", `{"turn":2}`},
		[3]string{"usage.reported", "0s", `{"turn":2,"total_tokens":34,"model":"haiku"}`}, // after its turn
		[3]string{"usage.reported", "0s", `{"turn":3,"total_tokens":35}`}, ended)
	usageRun(t, w, project, "run_named", "claude", modelled, now, [3]string{"usage.reported", "0s", `{"total_tokens":100,"model":"opus"}`}, ended)
	usageRun(t, w, project, "run_silent", "claude", modelled, now, [3]string{"usage.reported", "0s", `{"total_tokens":200,"model":7}`}, ended)
	usageRun(t, w, project, "run_guessed", "acp", "", now, [3]string{"usage.estimated", "0s", `{"total_tokens":50,"model":"own"}`}, ended)
	got := []string{}
	for _, m := range usageReport(t, w, ix, UsageReportQuery{Days: 1}).Models {
		got = append(got, fmt.Sprintf("%s/%s/%s %d of %d", m.Label, m.Provider, m.Model, m.Total, m.Records))
	}
	want := []string{"m1/claude/m1 200 of 1", "opus/claude/opus 110 of 2", "own/acp/own 50 of 1", "haiku/claude/haiku 24 of 1", "claude/claude/ 1 of 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
}

// TestUsageDays checks that every day of the period is listed, even without usage. The bounds
// are the first and the last millisecond of local days, in UTC.
func TestUsageDays(t *testing.T) {
	t.Parallel()
	w, _ := office(t)
	ix := index.For(w)
	t.Cleanup(func() { _ = ix.Close() })
	const west = 300
	local := w.Env.Clock.Now().In(time.FixedZone("", -60*west))
	report := usageReport(t, w, ix, UsageReportQuery{Days: 3, Timezone: west})
	if len(report.Daily) != 3 || report.Daily[2].Date < local.Format(time.DateOnly) || report.Summary.CostUSD != nil || report.Models == nil {
		t.Errorf("%+v", report)
	}
	first, err := time.Parse(time.DateOnly, report.Daily[0].Date)
	if err != nil {
		t.Fatal(err)
	}
	from := first.Add(west * time.Minute)
	to := from.Add(3*24*time.Hour - time.Millisecond)
	want := UsagePeriodInfo{
		Days: 3, PeriodStart: clock.Stamp(from), PeriodEnd: clock.Stamp(to), PeriodStartMS: from.UnixMilli(), PeriodEndMS: to.UnixMilli(),
		Timezone: west, GeneratedAt: report.Metadata.GeneratedAt,
	}
	if diff := cmp.Diff(want, report.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// TestUsageReport checks that turns, sessions without turns, and estimates count on the local
// day of the event that closed them. Every list adds up to the summary.
func TestUsageReport(t *testing.T) {
	t.Parallel()
	w, project := office(t)
	ix := index.For(w)
	t.Cleanup(func() { _ = ix.Close() })
	now := w.Env.Clock.Now().UTC()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	// Two turns, the first closed yesterday in UTC. They share a computed cost.
	usageRun(t, w, project, "run_turns", "codex", modelled, today,
		[3]string{"usage.reported", "-20m", `{"turn":1,"total_tokens":100,"input_tokens":60,"cache_write_tokens":25,"cached_input_tokens":10,"output_tokens":30}`},
		[3]string{"run.turn_ended", "-10m", `{"turn":1}`},
		[3]string{"usage.reported", "-5m", `{"turn":2,"total_tokens":150,"input_tokens":90,"cached_input_tokens":10,"output_tokens":50}`},
		[3]string{"run.turn_ended", "0m", `{"turn":2}`},
		[3]string{"usage.reported", "1m", `{"turn":2,"total_tokens":200,"input_tokens":140,"cache_write_tokens":40,"cached_input_tokens":10,"output_tokens":50}`},
		[3]string{"usage.cost_computed", "2m", `{"cost_usd":4}`},
		[3]string{"run.ended", "2m", `{}`})
	// One session without turns: the highest report counts. Its continuation adds one more
	// record.
	usageRun(t, w, project, "run_whole", "claude", "", today,
		[3]string{"usage.reported", "1m", `{"total_tokens":10,"cost_usd":0.5}`},
		[3]string{"usage.reported", "1m", `{"total_tokens":30,"cost_usd":1.5}`},
		[3]string{"usage.reported", "2m", `{"total_tokens":20}`},
		[3]string{"run.failed", "3m", `{}`},
		[3]string{"run.continued", "4m", `{}`},
		[3]string{"usage.estimated", "5m", `{"total_tokens":7,"input_tokens":4,"output_tokens":3}`},
		[3]string{"run.ended", "5m", `{}`})
	usageRun(t, w, project, "run_none", "cmd", "", today, [3]string{"run.ended", "5m", `{}`})
	usageRun(t, w, project, "run_old", "cmd", "", today, [3]string{"usage.reported", "-80h", `{"total_tokens":10}`}, [3]string{"run.ended", "-80h", `{}`})
	open := [][3]string{{"usage.reported", "6m", `{"turn":1,"total_tokens":5}`}}
	usageRun(t, w, project, "run_open", "codex", modelled, today, open...)

	report := usageReport(t, w, ix, UsageReportQuery{Days: 2})
	want := UsageSum{
		Records: 4, EstimatedRecords: 1, Sessions: 2, Input: 104, Cached: 10, CacheWrite: 40, Output: 53, Total: 237, CostUSD: new(5.5), UnpricedRecords: 1,
	}
	same := cmpopts.IgnoreUnexported(UsageSum{})
	if diff := cmp.Diff(want, report.Summary, same); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if got := []int{report.Daily[0].Records, report.Daily[1].Records}; !cmp.Equal(got, []int{1, 3}) || *report.Daily[0].CostUSD != 2 {
		t.Errorf("records by day %v, yesterday %v", got, *report.Daily[0].CostUSD)
	}
	if got := usageReport(t, w, ix, UsageReportQuery{Days: 1, Timezone: 15}).Summary.Records; now.Sub(today) > 15*time.Minute && got != 0 {
		t.Errorf("15 minutes west of UTC %d records fall on today, want 0: all are of yesterday there", got)
	}
	lists := map[string][]UsageSum{}
	for _, r := range report.Daily {
		lists["daily"] = append(lists["daily"], r.UsageSum)
	}
	for _, r := range report.Models {
		lists["models"] = append(lists["models"], r.UsageSum)
	}
	for _, r := range report.Providers {
		lists["providers"] = append(lists["providers"], r.UsageSum)
	}
	for _, r := range report.Projects {
		lists["projects"] = append(lists["projects"], r.UsageSum)
	}
	for _, r := range report.Agents {
		lists["agents"] = append(lists["agents"], r.UsageSum)
	}
	for name, list := range lists {
		sum := UsageSum{Sessions: want.Sessions, CostUSD: new(0.0)}
		for _, s := range list {
			sum.Records, sum.EstimatedRecords, sum.UnpricedRecords = sum.Records+s.Records, sum.EstimatedRecords+s.EstimatedRecords, sum.UnpricedRecords+s.UnpricedRecords
			sum.Input, sum.Cached, sum.CacheWrite = sum.Input+s.Input, sum.Cached+s.Cached, sum.CacheWrite+s.CacheWrite
			sum.Output, sum.Reasoning, sum.Total = sum.Output+s.Output, sum.Reasoning+s.Reasoning, sum.Total+s.Total
			if s.CostUSD != nil {
				*sum.CostUSD += *s.CostUSD
			}
		}
		if diff := cmp.Diff(want, sum, same); diff != "" {
			t.Errorf("%s do not add up (-summary +sum):\n%s", name, diff)
		}
	}
	if report.Models[0].Label != "m1" || report.Models[1].Label != "claude" || report.Projects[0].Name != "P" {
		t.Errorf("names: %+v, %+v", report.Models, report.Projects)
	}

	// Once the open turn is closed, the log is longer and the same run has one more record.
	usageRun(t, w, project, "run_open", "codex", modelled, today, append(open, [3]string{"run.turn_ended", "7m", `{"turn":1}`})...)
	if got := usageReport(t, w, ix, UsageReportQuery{Days: 2, AgentID: "agent_a", ProjectID: project}).Summary; got.Records != 5 || got.Total != 242 {
		t.Errorf("once the turn is closed there are %d records of %d tokens, want 5 of 242", got.Records, got.Total)
	}
}

// BenchmarkUsageReport reports 3,000 runs of two turns each from an up-to-date index.
func BenchmarkUsageReport(b *testing.B) {
	w, project := office(b)
	ix := index.For(w)
	b.Cleanup(func() { _ = ix.Close() })
	for i := range 3000 {
		usageRun(b, w, project, fmt.Sprintf("run_%d", i), "codex", modelled, w.Env.Clock.Now(),
			[3]string{"usage.reported", "0s", `{"turn":1,"total_tokens":10,"cost_usd":0.5}`}, [3]string{"run.turn_ended", "0s", `{"turn":1}`},
			[3]string{"usage.reported", "0s", `{"turn":2,"total_tokens":30,"cost_usd":1.5}`}, [3]string{"run.ended", "0s", `{}`})
	}
	usageReport(b, w, ix, UsageReportQuery{Days: 30}) // builds the index
	for b.Loop() {
		if got := usageReport(b, w, ix, UsageReportQuery{Days: 30}).Summary.Records; got != 6000 {
			b.Fatal(got)
		}
	}
}
