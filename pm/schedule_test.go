package pm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ac/internal/clock"
	"ac/workspace/doc"
)

var today = time.Date(2026, 3, 3, 15, 0, 0, 0, time.UTC)

// task returns a task that depends on others. If days is 0, it has no duration.
func task(id, start string, days int, after ...string) doc.Task {
	t := doc.Task{ID: id, Title: id, Status: "ready", Schedule: &doc.Schedule{PlannedStart: start, DependsOnTaskIDs: after}}
	if days != 0 {
		t.Schedule.DurationDays = &days
	}
	return t
}

// told describes a plan in text, one line per bar.
func told(p Plan) (lines []string) {
	for _, b := range p.Bars {
		lines = append(lines, fmt.Sprintf("%s %s..%s %dd slack %g %v", b.Task.ID, b.Start.Format("01-02T15:04"), b.End.Format("01-02T15:04"), b.DurationDays, b.SlackDays, b.Critical))
	}
	return append(lines, fmt.Sprintf("span %g %s %v", p.SpanDays, p.Status, p.CycleIDs))
}

func TestLay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tasks []doc.Task
		want  []string
	}{
		"a diamond": {
			[]doc.Task{task("e", "", 0), task("d", "", 2, "b", "c"), task("c", "", 1, "a"), task("b", "", 3, "a"), task("a", "2026-03-02T09:00:00Z", 2)},
			[]string{
				"e 03-02T09:00..03-03T09:00 1d slack 6 false", "a 03-02T09:00..03-04T09:00 2d slack 0 true",
				"c 03-04T09:00..03-05T09:00 1d slack 2 false", "b 03-04T09:00..03-07T09:00 3d slack 0 true",
				"d 03-07T09:00..03-09T09:00 2d slack 0 true", "span 7 ok []",
			},
		},
		"a start that may not be earlier": {
			[]doc.Task{task("p", "2026-03-01", 1), task("q", "2026-03-05", 4), task("r", "", 2, "q")},
			[]string{
				"p 03-01T00:00..03-02T00:00 1d slack 9 false", "q 03-05T00:00..03-09T00:00 4d slack 0 true",
				"r 03-09T00:00..03-11T00:00 2d slack 0 true", "span 10 ok []",
			},
		},
		"a cycle": {
			[]doc.Task{task("a", "", 2, "b"), task("b", "", 3, "a"), task("c", "", 1, "b"), task("d", "", 4)},
			[]string{
				"a 03-03T00:00..03-05T00:00 2d slack 0 true", "d 03-03T00:00..03-07T00:00 4d slack 2 false",
				"b 03-05T00:00..03-08T00:00 3d slack 0 true", "c 03-08T00:00..03-09T00:00 1d slack 0 true",
				"span 6 dependency_cycle [a b]",
			},
		},
		"itself, unknown ones and twice the same": {
			[]doc.Task{task("a", "", 1, "a", "gone", "b", "b"), task("b", "", 1)},
			[]string{"b 03-03T00:00..03-04T00:00 1d slack 0 true", "a 03-04T00:00..03-05T00:00 1d slack 0 true", "span 2 ok []"},
		},
		"two cycles and what waits for them": {
			[]doc.Task{task("x", "", 1, "y"), task("y", "", 1, "x"), task("m", "", 1, "n", "x"), task("n", "", 1, "m"), task("z", "", 1, "m")},
			[]string{
				"x 03-03T00:00..03-04T00:00 1d slack 0 true", "m 03-03T00:00..03-04T00:00 1d slack 0 true", "y 03-04T00:00..03-05T00:00 1d slack 0 true",
				"n 03-04T00:00..03-05T00:00 1d slack 0 true", "z 03-04T00:00..03-05T00:00 1d slack 0 true", "span 2 dependency_cycle [m n x y]",
			},
		},
		"seconds of slack": {
			[]doc.Task{task("a", "2026-03-01T00:00:00Z", 1), task("b", "2026-03-01T00:00:08.639Z", 1), task("c", "2026-03-01T00:00:00.001Z", 1), task("d", "2026-03-01T00:00:08.640Z", 1)},
			[]string{
				"a 03-01T00:00..03-02T00:00 1d slack 0 false", "c 03-01T00:00..03-02T00:00 1d slack 0 true",
				"b 03-01T00:00..03-02T00:00 1d slack 0 true", "d 03-01T00:00..03-02T00:00 1d slack 0 true", "span 1 ok []",
			},
		},
		"nothing": {nil, []string{"span 0 ok []"}},
	} {
		if diff := cmp.Diff(c.want, told(Schedule(c.tasks, today))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	number := func(n int) *int { return &n }
	for _, c := range []struct {
		schedule *doc.Schedule
		want     int
	}{
		{nil, 1},
		{&doc.Schedule{}, 1},
		{&doc.Schedule{PlannedStart: "2026-03-01T00:00:00Z", PlannedEnd: "2026-03-03T12:00:00Z"}, 3},
		{&doc.Schedule{PlannedStart: "2026-03-01", PlannedEnd: "2026-03-01"}, 1},
		{&doc.Schedule{PlannedStart: "2026-03-01", PlannedEnd: "2026-02-01"}, 1},
		{&doc.Schedule{PlannedStart: "2026-03-01", PlannedEnd: "2026-03-09", DurationDays: number(2)}, 2},
		{&doc.Schedule{PlannedStart: "next week", PlannedEnd: "2026-03-09"}, 1},
		{&doc.Schedule{PlannedStart: "2026-03-01T01:00:00+02:00", PlannedEnd: "2026-03-01"}, 1},
		{&doc.Schedule{DurationDays: number(math.MaxInt)}, MaxDurationDays},
	} {
		if got := DurationDays(&doc.Task{Schedule: c.schedule}); got != c.want {
			t.Errorf("%+v takes %d days, not %d", c.schedule, got, c.want)
		}
	}
}

// TestAbsurd checks that computed dates stay within the years 0 to 9999, however long the chain.
func TestAbsurd(t *testing.T) {
	t.Parallel()
	tasks := []doc.Task{task("task_000", "9999-12-31", MaxDurationDays), task("early", "0000-01-01", 1), task("bad", "99999-99-99", math.MaxInt, "early")}
	for i := range 300 {
		tasks = append(tasks, task(fmt.Sprintf("task_%03d", i+1), "", MaxDurationDays, fmt.Sprintf("task_%03d", i)))
	}
	for _, b := range Schedule(tasks, today).Bars {
		for _, at := range []time.Time{b.Start, b.End} {
			if _, ok := clock.Parse(clock.Stamp(at)); !ok || at.Year() < 0 || at.Year() > 9999 {
				t.Errorf("%s: %s", b.Task.ID, clock.Stamp(at))
			}
		}
	}
}

// TestLongChain schedules a cycle of tasks that is too long for naive recursion.
func TestLongChain(t *testing.T) {
	t.Parallel()
	const long = 20_000
	tasks := make([]doc.Task, long)
	for i := range tasks {
		tasks[i] = task(fmt.Sprintf("t%06d", i), "", 1, fmt.Sprintf("t%06d", (i+1)%long))
	}
	p := Schedule(tasks, today)
	if p.Status != StatusCycle || len(p.CycleIDs) != long {
		t.Errorf("%s with %d tasks", p.Status, len(p.CycleIDs))
	}
}

// TestAgainstEveryPath checks the schedule against a model that walks every path of the network.
func TestAgainstEveryPath(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tasks := randomTasks(t, true)
		p := Schedule(tasks, today)
		m := model{tasks: tasks, base: today.Truncate(wholeDay)}
		for _, task := range tasks {
			if at, ok := clock.ParseDate(task.Schedule.PlannedStart); ok && (!m.based || at.Before(m.base)) {
				m.base, m.based = at, true
			}
		}
		span := 0
		for i := range tasks {
			span = max(span, m.start(i)+DurationDays(&tasks[i]))
		}
		if p.Status != StatusOK || p.SpanDays != float64(span) {
			t.Fatalf("%v: %s, span %g, not %d", told(p), p.Status, p.SpanDays, span)
		}
		for _, b := range p.Bars {
			i := slices.IndexFunc(tasks, func(task doc.Task) bool { return task.ID == b.Task.ID })
			slack := span - m.start(i) - m.tail(i)
			if b.SlackDays != float64(slack) || b.Critical != (slack == 0) {
				t.Fatalf("%v: %s has slack %d", told(p), b.Task.ID, slack)
			}
			if start := m.base.AddDate(0, 0, m.start(i)); tasks[i].Schedule.PlannedStart == "" && !b.Start.Equal(start) {
				t.Fatalf("%v: %s starts %s", told(p), b.Task.ID, start)
			}
		}
	})
}

// TestCycles checks the reported cycles against a search from each task.
func TestCycles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tasks := randomTasks(t, false)
		p := Schedule(tasks, today)
		var want []string
		for _, from := range tasks {
			if reaches(tasks, from.ID, from.ID, map[string]bool{}) {
				want = append(want, from.ID)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, p.CycleIDs); diff != "" || (p.Status == StatusCycle) != (want != nil) {
			t.Fatalf("%s: %s", p.Status, diff)
		}
		waits := map[string][]string{}
		for _, task := range tasks {
			waits[task.ID] = task.Schedule.DependsOnTaskIDs
		}
		if Cyclic(waits) != (want != nil) {
			t.Fatalf("cyclic %v with %v", Cyclic(waits), want)
		}
		if len(p.Bars) != len(tasks) {
			t.Fatalf("%d bars of %d tasks", len(p.Bars), len(tasks))
		}
	})
}

// randomTasks draws a network. If acyclic, tasks depend only on earlier ones.
func randomTasks(t *rapid.T, acyclic bool) (tasks []doc.Task) {
	names := rapid.Permutation([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "names")
	names = names[:rapid.IntRange(1, len(names)).Draw(t, "tasks")]
	for i, name := range names {
		others := names
		if acyclic {
			others = names[:i]
		}
		var after []string
		for _, other := range others {
			if rapid.IntRange(0, 3).Draw(t, "depends") == 0 {
				after = append(after, other)
			}
		}
		start := rapid.SampledFrom([]string{"", "", "2026-03-01", "2026-03-04", "2026-03-20", "soon"}).Draw(t, "start")
		tasks = append(tasks, task(name, start, rapid.IntRange(1, 9).Draw(t, "days"), after...))
	}
	return tasks
}

// model computes dates by brute force: a path is as long as the sum of its tasks.
type model struct {
	tasks []doc.Task
	base  time.Time
	based bool
}

func (m model) find(id string) int {
	return slices.IndexFunc(m.tasks, func(t doc.Task) bool { return t.ID == id })
}

// start returns the longest path to the start of a task, in days.
func (m model) start(i int) (days int) {
	if at, ok := clock.ParseDate(m.tasks[i].Schedule.PlannedStart); ok {
		days = int(at.Sub(m.base) / wholeDay)
	}
	for _, id := range m.tasks[i].Schedule.DependsOnTaskIDs {
		on := m.find(id)
		days = max(days, m.start(on)+DurationDays(&m.tasks[on]))
	}
	return days
}

// tail returns the longest path from the start of a task to the end, in days.
func (m model) tail(i int) (days int) {
	for next := range m.tasks {
		if slices.Contains(m.tasks[next].Schedule.DependsOnTaskIDs, m.tasks[i].ID) {
			days = max(days, m.tail(next))
		}
	}
	return days + DurationDays(&m.tasks[i])
}

func reaches(tasks []doc.Task, from, to string, seen map[string]bool) bool {
	i := slices.IndexFunc(tasks, func(t doc.Task) bool { return t.ID == from })
	for _, on := range tasks[i].Schedule.DependsOnTaskIDs {
		if on == from {
			continue
		}
		if on == to {
			return true
		}
		if !seen[on] {
			seen[on] = true
			if reaches(tasks, on, to, seen) {
				return true
			}
		}
	}
	return false
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	done := doc.Milestone{Status: "done"}
	open := doc.Milestone{Status: "ready"}
	tasks := []doc.Task{
		{Status: "done"}, {Status: "in_progress", Milestones: []doc.Milestone{done, open, open}},
		{Status: "blocked", Milestones: []doc.Milestone{done}}, {Status: "canceled"},
	}
	want := Summary{TaskCount: 4, DoneTasks: 1, BlockedTasks: 1, InProgressTasks: 1, ProgressPct: 58.3}
	if diff := cmp.Diff(want, Summarize(tasks)); diff != "" {
		t.Error(diff)
	}
	if got := Percent(2.0 / 3); got != 66.7 {
		t.Errorf("two thirds are %g percent", got)
	}
	if diff := cmp.Diff(Summary{}, Summarize(nil)); diff != "" {
		t.Error(diff)
	}
}

func TestRecommend(t *testing.T) {
	t.Parallel()
	three := 3
	agents := []doc.Agent{
		{ID: "agent_boss", Name: "Boss", Role: "ceo", Provider: "claude", TeamID: "team_1"},
		{ID: "agent_2", Name: "bob", Role: "worker", Provider: "claude", TeamID: "team_1"},
		{ID: "agent_1", Name: "Amy", Role: "worker", Provider: "codex", ModelHint: "gpt", TeamID: "team_1"},
		{ID: "agent_3", Name: "Cid", Role: "manager", Provider: "gemini", TeamID: "team_2"},
		{ID: "agent_global_manager", Name: "AAA", Role: "manager", Provider: "codex"},
		{ID: "agent_secretary_p", Name: "Aab", Role: "worker", Provider: "codex", TeamID: "team_3"},
	}
	tasks := []doc.Task{
		{ID: "t1", Title: "Plan", Status: "ready", TeamID: "team_1"},
		{ID: "t2", Title: "Refactor prefix", Status: "ready", TeamID: "team_1", Schedule: &doc.Schedule{DurationDays: &three}, Milestones: make([]doc.Milestone, 2)},
		{ID: "t3", Title: "Decode", Status: "draft", TeamID: "team_1"},
		{ID: "t4", Title: "Over", Status: "done"},
		{ID: "t5", Title: "Assigned", Status: "blocked", AssigneeAgentID: "agent_3", TeamID: "team_1"},
		{ID: "t6", Title: "For a ceo", Status: "ready", AssigneeAgentID: "agent_boss", TeamID: "team_9"},
		{ID: "t7", Title: "Office", Status: "ready", TeamID: "team_3"},
		{ID: "t8", Title: "Not", Status: "canceled"},
	}
	var got []string
	for _, r := range Recommend(tasks, agents, map[string]int{"agent_1": 1}) {
		if r.Reason != r.Rationale || !strings.Contains(r.Reason, " ") {
			t.Errorf("%q and %q", r.Reason, r.Rationale)
		}
		got = append(got, fmt.Sprint(r.TaskID, " ", r.PreferredAgentID, " ", r.PreferredProvider, " ", r.PreferredModel, " ", r.TokenBudgetHint))
	}
	want := []string{
		"t1 agent_2 claude  6000", "t2 agent_1 codex gpt 30000", "t3 agent_2 claude  12000", "t5 agent_3 gemini  6000",
		"t6 agent_3 gemini  6000", "t7 agent_secretary_p codex  6000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	alone := Recommend(tasks[:1], nil, nil)
	if len(alone) != 1 || alone[0].PreferredProvider != "codex" || alone[0].PreferredAgentID != "" {
		t.Errorf("without agents: %+v", alone)
	}
	if rows := Recommend(nil, agents, nil); rows == nil || len(rows) != 0 {
		t.Errorf("without tasks: %v", rows)
	}
}
