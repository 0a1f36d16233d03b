package heartbeat

// Triage scores which agents have a reason to be woken. It is a pure function of the gathered
// input.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"ac/internal/clock"
	"ac/workspace/doc"
)

// Points that make up a score.
const (
	newSignalPoints   = 5
	duePoints         = 3
	overduePoints     = 2
	stuckPoints       = 4
	recentOKPenalty   = -3
	quietHoursPenalty = -2
	// failuresOfStuck is how many failed attempts make a running job stuck.
	failuresOfStuck = 2
)

// TriageInput is the input of a triage.
type TriageInput struct {
	// Now is the time of the triage, in the time zone of quiet hours.
	Now    time.Time
	Config doc.HeartbeatConfig
	Agents []doc.Agent
	// Known is the recorded state of each agent.
	Known map[string]doc.HeartbeatWorker
	// News counts the signals after the cursors, for each agent. Ever counts all signals.
	News, Ever map[string]int64
	Tasks      []Task
	Jobs       []doc.Job // unfinished ones
}

// Task holds the fields of a task that a triage uses.
type Task struct {
	ProjectID, TaskID, Title string
	Status, Assignee, Team   string
	PlannedEnd               string
}

// Components are the parts of a score.
type Components struct {
	NewSignalPoints   int `json:"new_signal_points"`
	DuePoints         int `json:"due_points"`
	OverduePoints     int `json:"overdue_points"`
	StuckPoints       int `json:"stuck_points"`
	RecentOKPenalty   int `json:"recent_ok_penalty"`
	QuietHoursPenalty int `json:"quiet_hours_penalty"`
}

func (c Components) sum() int {
	return c.NewSignalPoints + c.DuePoints + c.OverduePoints + c.StuckPoints + c.RecentOKPenalty + c.QuietHoursPenalty
}

// Counts are the numbers behind a candidate's score.
type Counts struct {
	NewSignals int64 `json:"new_signals"`
	DueTasks   int   `json:"due_tasks"`
	Overdue    int   `json:"overdue_tasks"`
	StuckJobs  int   `json:"stuck_jobs"`
}

// Candidate is an agent that may be woken.
type Candidate struct {
	WorkerAgentID     string     `json:"worker_agent_id"`
	TeamID            string     `json:"team_id,omitempty"`
	Score             int        `json:"score"`
	Components        Components `json:"components"`
	Counts            Counts     `json:"counts"`
	ContextHash       string     `json:"context_hash"`
	Suppressed        bool       `json:"suppressed"`
	SuppressionReason string     `json:"suppression_reason,omitempty"`

	role         string // in an enterprise
	kind         string // worker kind of its provider, "" if unknown
	busy         bool   // its earlier heartbeat job is active
	due, overdue []Task
	stuck        []string
}

// Triage scores all agents that may be woken, in the order of their ids.
func Triage(g TriageInput) []Candidate {
	pool := pool(g)
	at := make(map[string]*Candidate, len(pool))
	for i := range pool {
		at[pool[i].WorkerAgentID] = &pool[i]
	}
	countTasks(g, pool, at)
	for _, j := range g.Jobs {
		countJob(g, j, at)
	}
	for i := range pool {
		judge(g, &pool[i])
	}
	return pool
}

// pool returns the workers, and the managers of teams without workers.
func pool(g TriageInput) []Candidate {
	if g.Config.Enterprise() {
		return hierarchyPool(g)
	}
	staffed := map[string]bool{}
	for _, a := range g.Agents {
		if a.Role == "worker" && a.TeamID != "" {
			staffed[a.TeamID] = true
		}
	}
	pool := []Candidate{}
	for _, a := range g.Agents {
		if a.Role == "worker" || (a.Role == "manager" && !staffed[a.TeamID]) {
			pool = append(pool, Candidate{
				WorkerAgentID: a.ID, TeamID: a.TeamID, kind: doc.WorkerKindOf(a.Provider), Counts: Counts{NewSignals: g.News[a.ID]},
			})
		}
	}
	slices.SortFunc(pool, func(a, b Candidate) int { return cmp.Compare(a.WorkerAgentID, b.WorkerAgentID) })
	return pool
}

// countTasks counts each due or overdue task for its candidates.
func countTasks(g TriageInput, pool []Candidate, at map[string]*Candidate) {
	teams := map[string][]*Candidate{}
	for i := range pool {
		if team := pool[i].TeamID; team != "" {
			teams[team] = append(teams[team], &pool[i])
		}
	}
	horizon := g.Now.Add(time.Duration(g.Config.DueHorizonMinutes) * time.Minute)
	for _, task := range g.Tasks {
		end, ok := clock.ParseDate(task.PlannedEnd)
		if !ok || task.Status == "done" || task.Status == "canceled" || end.After(horizon) {
			continue
		}
		for _, c := range concerned(task, at, teams) {
			if end.Before(g.Now) {
				c.overdue = append(c.overdue, task)
			} else {
				c.due = append(c.due, task)
			}
		}
	}
}

func concerned(task Task, at map[string]*Candidate, teams map[string][]*Candidate) []*Candidate {
	if c := at[task.Assignee]; c != nil {
		return []*Candidate{c}
	}
	return teams[task.Team]
}

// countJob records that a job keeps its worker busy, or that it is stuck.
func countJob(g TriageInput, j doc.Job, at map[string]*Candidate) {
	if c := at[j.Job.WorkerAgentID]; c != nil && j.Job.JobKind == doc.JobHeartbeat && !j.Over() {
		c.busy = true
	}
	last := j.Last()
	if last == nil || j.Status != doc.JobRunning || at[last.WorkerAgentID] == nil {
		return
	}
	failed := 0
	for _, attempt := range j.Attempts {
		if attempt.Status == doc.AttemptFailed {
			failed++
		}
	}
	started, ok := clock.Parse(last.StartedAt)
	old := ok && g.Now.Sub(started) >= time.Duration(g.Config.StuckJobRunningMinutes)*time.Minute
	if old || failed >= failuresOfStuck {
		c := at[last.WorkerAgentID]
		c.stuck = append(c.stuck, j.Job.ProjectID+"/"+j.Job.JobID)
	}
}

// judge computes the score from the counts.
func judge(g TriageInput, c *Candidate) {
	c.Counts.DueTasks, c.Counts.Overdue, c.Counts.StuckJobs = len(c.due), len(c.overdue), len(c.stuck)
	c.ContextHash = contextHash(c, g.Ever[c.WorkerAgentID])
	known := g.Known[c.WorkerAgentID]
	unchanged := known.LastContextHash == c.ContextHash
	points := func(when bool, n int) int {
		if when {
			return n
		}
		return 0
	}
	lastOK, ok := clock.Parse(known.LastOKAt)
	recent := ok && g.Now.Sub(lastOK) <= time.Duration(g.Config.OKSuppressionMinutes)*time.Minute
	c.Components = Components{
		NewSignalPoints:   points(c.Counts.NewSignals > 0, newSignalPoints),
		DuePoints:         points(c.Counts.DueTasks > 0, duePoints),
		OverduePoints:     points(c.Counts.Overdue > 0, overduePoints),
		StuckPoints:       points(c.Counts.StuckJobs > 0, stuckPoints),
		RecentOKPenalty:   points(unchanged && recent, recentOKPenalty),
		QuietHoursPenalty: points(InQuietHours(g.Config, g.Now), quietHoursPenalty),
	}
	c.Score = c.Components.sum()
	if until, ok := clock.Parse(known.SuppressedUntil); ok && unchanged && until.After(g.Now) {
		c.Suppressed, c.SuppressionReason = true, "suppressed_until="+known.SuppressedUntil
	}
}

// InQuietHours reports whether now falls into the quiet hours. The location of now decides the hour.
func InQuietHours(config doc.HeartbeatConfig, now time.Time) bool {
	from, to, h := config.QuietHoursStartHour, config.QuietHoursEndHour, now.Hour()
	switch {
	case from == to:
		return false
	case from < to:
		return from <= h && h < to
	}
	return h >= from || h < to
}

// contextHash hashes everything that can be news for a candidate: its tasks, stuck jobs, kind and
// total signals.
func contextHash(c *Candidate, ever int64) string {
	ids := func(tasks []Task) []string {
		list := make([]string, 0, len(tasks))
		for _, t := range tasks {
			list = append(list, t.ProjectID+"/"+t.TaskID)
		}
		slices.Sort(list)
		return list
	}
	stuck := slices.Sorted(slices.Values(c.stuck))
	text, err := json.Marshal([]any{c.WorkerAgentID, c.kind, ids(c.due), ids(c.overdue), append([]string{}, stuck...), ever})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Select chooses the workers to wake, best score first.
func Select(config doc.HeartbeatConfig, candidates []Candidate) []Candidate {
	chosen := slices.DeleteFunc(slices.Clone(candidates), func(c Candidate) bool {
		return c.Suppressed || c.Score < config.MinWakeScore || c.kind == "" || c.busy
	})
	slices.SortStableFunc(chosen, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.WorkerAgentID, b.WorkerAgentID))
	})
	return chosen[:min(config.TopKWorkers, len(chosen))]
}
