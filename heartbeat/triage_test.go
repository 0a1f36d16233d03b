package heartbeat

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/internal/clock"
	"ac/workspace/doc"
)

func at(d time.Duration) string { return clock.Stamp(noon().Add(d)) }

func worker(id, team string) doc.Agent {
	return doc.Agent{ID: id, Role: "worker", Provider: "codex", TeamID: team}
}

// one triages a single worker.
func one(change func(*TriageInput)) Candidate {
	g := TriageInput{Now: noon(), Config: doc.DefaultHeartbeatConfig(), Agents: []doc.Agent{worker("a", "t")}, News: map[string]int64{}, Ever: map[string]int64{}}
	change(&g)
	return Triage(g)[0]
}

func running(worker string, age time.Duration, failed int) doc.Job {
	j := doc.Job{Status: doc.JobRunning, Job: doc.JobSpec{JobID: "j", ProjectID: "p", JobKind: doc.JobExecution}}
	for range failed {
		j.Attempts = append(j.Attempts, doc.JobAttempt{Status: doc.AttemptFailed, WorkerAgentID: worker, StartedAt: at(-age)})
	}
	j.Attempts = append(j.Attempts, doc.JobAttempt{Status: doc.AttemptRunning, WorkerAgentID: worker, StartedAt: at(-age)})
	return j
}

// TestScores checks the points for each circumstance.
func TestScores(t *testing.T) {
	t.Parallel()
	task := func(status, assignee, team, end string) func(*TriageInput) {
		return func(g *TriageInput) {
			g.Tasks = []Task{{ProjectID: "p", TaskID: "t", Status: status, Assignee: assignee, Team: team, PlannedEnd: end}}
		}
	}
	for name, c := range map[string]struct {
		change func(*TriageInput)
		score  int
	}{
		"nothing":              {func(*TriageInput) {}, 0},
		"a signal":             {func(g *TriageInput) { g.News["a"] = 1 }, 5},
		"signals":              {func(g *TriageInput) { g.News["a"] = 9; g.News["b"] = 1 }, 5},
		"due now":              {task("ready", "a", "", at(0)), 3},
		"due at the horizon":   {task("ready", "a", "", at(2*time.Hour)), 3},
		"behind the horizon":   {task("ready", "a", "", at(2*time.Hour+time.Millisecond)), 0},
		"overdue":              {task("ready", "a", "", at(-time.Millisecond)), 2},
		"overdue by a date":    {task("blocked", "a", "", "2036-11-20"), 2},
		"done":                 {task("done", "a", "", at(-time.Hour)), 0},
		"canceled":             {task("canceled", "a", "", at(-time.Hour)), 0},
		"no date":              {task("ready", "a", "", "soon"), 0},
		"of the team":          {task("ready", "", "t", at(time.Hour)), 3},
		"of nobody we know":    {task("ready", "human_x", "t", at(time.Hour)), 3},
		"of another team":      {task("ready", "", "u", at(time.Hour)), 0},
		"a stuck job":          {func(g *TriageInput) { g.Jobs = []doc.Job{running("a", 30*time.Minute, 0)} }, 4},
		"a young job":          {func(g *TriageInput) { g.Jobs = []doc.Job{running("a", 29*time.Minute, 1)} }, 0},
		"a job that failed":    {func(g *TriageInput) { g.Jobs = []doc.Job{running("a", 0, 2)} }, 4},
		"a job without tries":  {func(g *TriageInput) { g.Jobs = []doc.Job{{Status: doc.JobRunning}} }, 0},
		"quiet hours":          {func(g *TriageInput) { g.Now = noon().Add(10 * time.Hour) }, -2},
		"the end of the quiet": {func(g *TriageInput) { g.Now = noon().Add(19 * time.Hour) }, 0},
	} {
		if got := one(c.change); got.Score != c.score || got.Components.sum() != c.score {
			t.Errorf("%s: %d, want %d (%+v)", name, got.Score, c.score, got.Components)
		}
	}
}

// TestSuppression checks that suppression lasts only while the context is the same.
func TestSuppression(t *testing.T) {
	t.Parallel()
	hash := one(func(*TriageInput) {}).ContextHash
	known := func(hash string) func(*TriageInput) {
		return func(g *TriageInput) {
			g.Known = map[string]doc.HeartbeatWorker{"a": {LastOKAt: at(-time.Hour), LastContextHash: hash, SuppressedUntil: at(time.Minute)}}
		}
	}
	same := one(known(hash))
	if !same.Suppressed || same.SuppressionReason != "suppressed_until="+at(time.Minute) || same.Score != recentOKPenalty {
		t.Errorf("%+v", same)
	}
	if other := one(known("x")); other.Suppressed || other.Score != 0 {
		t.Errorf("%+v", other)
	}
	// Consuming signals does not change the context. New signals do.
	if one(func(g *TriageInput) { g.News["a"] = 4 }).ContextHash != hash || one(func(g *TriageInput) { g.Ever["a"] = 1 }).ContextHash == hash {
		t.Error("the context does not follow the signals")
	}
}

// TestPool checks that the candidates are workers, and managers without workers.
func TestPool(t *testing.T) {
	t.Parallel()
	got := Triage(TriageInput{Now: noon(), Config: doc.DefaultHeartbeatConfig(), Agents: []doc.Agent{
		worker("w", "t"), {ID: "m1", Role: "manager", TeamID: "t"}, {ID: "m2", Role: "manager", TeamID: "u"}, {ID: "m3", Role: "manager"},
		{ID: "d", Role: "director"}, {ID: "c", Role: "ceo"}, worker("B", ""),
	}})
	var ids []string
	for _, c := range got {
		ids = append(ids, c.WorkerAgentID)
	}
	if !slices.Equal(ids, []string{"B", "m2", "m3", "w"}) {
		t.Error(ids)
	}
}

// TestQuietHours compares InQuietHours with counting the hours one by one.
func TestQuietHours(t *testing.T) {
	t.Parallel()
	for from := range 24 {
		for to := range 24 {
			quiet := map[int]bool{}
			for h := from; h != to; h = (h + 1) % 24 {
				quiet[h] = true
			}
			for h := range 24 {
				config := doc.HeartbeatConfig{QuietHoursStartHour: from, QuietHoursEndHour: to}
				if got := InQuietHours(config, time.Date(2026, 1, 1, h, 59, 0, 0, time.UTC)); got != quiet[h] {
					t.Errorf("%d to %d at %d: %v", from, to, h, got)
				}
			}
		}
	}
}

// TestSelection compares Select with choosing the best candidate repeatedly.
func TestSelection(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := doc.HeartbeatConfig{TopKWorkers: rapid.IntRange(1, 5).Draw(t, "k"), MinWakeScore: rapid.IntRange(0, 6).Draw(t, "min")}
		var all []Candidate
		for i := range rapid.IntRange(0, 12).Draw(t, "n") {
			all = append(all, Candidate{
				WorkerAgentID: fmt.Sprintf("a%02d", i), Score: rapid.IntRange(-5, 14).Draw(t, "score"), Suppressed: rapid.Bool().Draw(t, "suppressed"),
				kind: rapid.SampledFrom([]string{"codex", "codex", ""}).Draw(t, "kind"), busy: rapid.IntRange(0, 3).Draw(t, "busy") == 0,
			})
		}
		var want []string
		taken := map[string]bool{}
		for len(want) < config.TopKWorkers {
			best := -1
			for i, c := range all {
				fits := !c.Suppressed && c.kind != "" && !c.busy && c.Score >= config.MinWakeScore && !taken[c.WorkerAgentID]
				if fits && (best < 0 || c.Score > all[best].Score) {
					best = i
				}
			}
			if best < 0 {
				break
			}
			taken[all[best].WorkerAgentID] = true
			want = append(want, all[best].WorkerAgentID)
		}
		var got []string
		for _, c := range Select(config, all) {
			got = append(got, c.WorkerAgentID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
