package pm

// Progress figures.

import (
	"math"

	"ac/workspace/doc"
)

// Percent converts a ratio to percent, rounded half up to one decimal.
func Percent(ratio float64) float64 { return Round1(ratio * 100) }

// Round1 rounds half up to one decimal.
func Round1(x float64) float64 { return math.Floor(x*10+0.5) / 10 }

// Summary counts the tasks of a project by status.
type Summary struct {
	TaskCount       int     `json:"task_count"`
	DoneTasks       int     `json:"done_tasks"`
	BlockedTasks    int     `json:"blocked_tasks"`
	InProgressTasks int     `json:"in_progress_tasks"`
	ProgressPct     float64 `json:"progress_pct"` // the mean over all tasks, including canceled ones
}

// Summarize counts tasks.
func Summarize(tasks []doc.Task) (s Summary) {
	done := 0.0
	for i := range tasks {
		done += tasks[i].Progress()
		switch tasks[i].Status {
		case "done":
			s.DoneTasks++
		case "blocked":
			s.BlockedTasks++
		case "in_progress":
			s.InProgressTasks++
		}
	}
	s.TaskCount = len(tasks)
	if s.TaskCount > 0 {
		s.ProgressPct = Percent(done / float64(s.TaskCount))
	}
	return s
}
