// Package snapshot is the read models that clients poll: what the files say,
// gathered. Nothing here writes or signals, and one broken document hides only
// itself.
package snapshot

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"ac/governance"
	"ac/internal/clock"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// ProjectRow is a project in the list of projects.
type ProjectRow struct {
	ProjectID      string         `json:"project_id"`
	Name           string         `json:"name"`
	Status         string         `json:"status"`
	CreatedAt      string         `json:"created_at"`
	RepoLinks      []doc.RepoLink `json:"repo_links"`
	PendingReviews int            `json:"pending_reviews"`
	ActiveRuns     int            `json:"active_runs"`
	TaskCount      int            `json:"task_count"`
	ProgressPct    float64        `json:"progress_pct"`
	BlockedTasks   int            `json:"blocked_tasks"`
	RiskFlags      []string       `json:"risk_flags"`
}

// Projects lists the projects of a workspace, the newest first.
func Projects(w *workspace.Workspace) ([]ProjectRow, error) {
	projects, err := w.Projects()
	if err != nil {
		return nil, err
	}
	decided := decisions(w)
	live := liveRuns(w)
	rows := make([]ProjectRow, 0, len(projects))
	for _, p := range projects {
		row := ProjectRow{
			ProjectID: p.ID, Name: p.Name, Status: p.Status, CreatedAt: p.CreatedAt,
			RepoLinks: []doc.RepoLink{}, RiskFlags: []string{},
			PendingReviews: pendingReviews(w, p.ID, decided), ActiveRuns: activeRuns(w, p.ID, live),
		}
		if links, err := w.RepoLinks(p.ID); err == nil && links != nil {
			row.RepoLinks = links
		}
		row.addTasks(tasks(w, p.ID))
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b ProjectRow) int {
		at, _ := clock.Parse(a.CreatedAt)
		bt, _ := clock.Parse(b.CreatedAt)
		return cmp.Or(bt.Compare(at), cmp.Compare(b.ProjectID, a.ProjectID))
	})
	return rows, nil
}

func (r *ProjectRow) addTasks(tasks []doc.Task) {
	sum := 0.0
	for _, t := range tasks {
		sum += t.Done()
		if t.Status == "blocked" {
			r.BlockedTasks++
		}
	}
	r.TaskCount = len(tasks)
	if len(tasks) > 0 {
		r.ProgressPct = math.Floor(sum/float64(len(tasks))*1000+0.5) / 10
	}
	for _, flag := range []struct {
		name  string
		holds bool
	}{
		{"blocked_tasks", r.BlockedTasks > 0}, {"pending_reviews", r.PendingReviews > 0}, {"dependency_cycle", cyclic(tasks)},
	} {
		if flag.holds {
			r.RiskFlags = append(r.RiskFlags, flag.name)
		}
	}
}

// tasks reads the tasks of a project that fit. A file whose name is not its
// task's id is a stray copy.
func tasks(w *workspace.Workspace, project string) []doc.Task {
	names, err := workspace.Files(w.FS, workspace.TasksDir(project), ".md")
	if err != nil {
		return nil
	}
	var found []doc.Task
	for _, name := range names {
		t, err := workspace.LoadHead(w, doc.TaskCodec, path.Join(workspace.TasksDir(project), name))
		if err == nil && t.ID == strings.TrimSuffix(name, ".md") {
			found = append(found, t)
		}
	}
	return found
}

// cyclic reports whether tasks depend on each other in a circle. What a task
// says of itself or of unknown ones does not count.
func cyclic(tasks []doc.Task) bool {
	edges := make(map[string][]string, len(tasks))
	for _, t := range tasks {
		edges[t.ID] = nil
	}
	for _, t := range tasks {
		if t.Schedule == nil {
			continue
		}
		for _, on := range t.Schedule.DependsOnTaskIDs {
			if _, known := edges[on]; known && on != t.ID {
				edges[t.ID] = append(edges[t.ID], on)
			}
		}
	}
	// Take away what depends on nothing that is left; a circle stays.
	for removed := true; removed; {
		removed = false
		for id, on := range edges {
			if !slices.ContainsFunc(on, func(o string) bool { _, left := edges[o]; return left }) {
				delete(edges, id)
				removed = true
			}
		}
	}
	return len(edges) > 0
}

// subjectKind is the kind under which an artifact type is decided, "" for types
// that are not.
func subjectKind(artifactType string) string {
	switch artifactType {
	case "memory_delta":
		return "memory_delta"
	case "milestone_report":
		return "milestone"
	case "heartbeat_action_proposal":
		return "heartbeat_action"
	}
	return ""
}

type subject struct{ kind, project, artifact string }

// decisions are the subjects that have a review.
func decisions(w *workspace.Workspace) map[subject]bool {
	decided := map[subject]bool{}
	reviews, err := governance.Reviews(w, math.MaxInt)
	if err != nil {
		return decided
	}
	for _, r := range reviews {
		decided[subject{r.Subject.Kind, r.Subject.ProjectID, r.Subject.ArtifactID}] = true
	}
	return decided
}

func pendingReviews(w *workspace.Workspace, project string, decided map[subject]bool) (pending int) {
	dir := workspace.ArtifactsDir(project)
	names, err := workspace.Files(w.FS, dir, ".md")
	if err != nil {
		return 0
	}
	for _, name := range names {
		a, err := workspace.LoadHead(w, doc.ArtifactCodec, path.Join(dir, name))
		if err != nil || a.ID != strings.TrimSuffix(name, ".md") {
			continue
		}
		if kind := subjectKind(a.Type); kind != "" && !decided[subject{kind, project, a.ID}] {
			pending++
		}
	}
	return pending
}

type runKey struct{ project, run string }

// liveRuns are the runs with a session that lives.
func liveRuns(w *workspace.Workspace) map[runKey]bool {
	live := map[runKey]bool{}
	records, err := session.All(w)
	if err != nil {
		return live
	}
	for _, r := range records {
		if session.Live(w, r) {
			live[runKey{r.ProjectID, r.RunID}] = true
		}
	}
	return live
}

func activeRuns(w *workspace.Workspace, project string, live map[runKey]bool) (active int) {
	ids, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
	if err != nil {
		return 0
	}
	for _, id := range ids {
		run, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(project, id))
		if (err == nil && run.Status == doc.StatusRunning) || live[runKey{project, id}] {
			active++
		}
	}
	return active
}
