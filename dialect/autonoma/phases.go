package autonoma

// The five phases of an execution, computed from the history of its job.

import (
	"strings"
	"time"

	"ac/internal/clock"
	"ac/runs/transcript"
)

// phase is one of the five phases.
type phase struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Progress int    `json:"progress"`
	// Duration is in milliseconds. It is absent if nothing happened in the phase.
	Duration *int64 `json:"duration,omitempty"`
}

// The phases, by index.
const (
	research = iota
	inspect
	generate
	optimize
	review
	phaseCount
)

// Statuses of a phase.
const (
	phasePending   = "pending"
	phaseRunning   = "running"
	phaseCompleted = "completed"
	phaseFailed    = "failed"
)

func phaseNames() [phaseCount]string {
	return [phaseCount]string{"research", "inspect", "generate", "optimize", "review"}
}

// history is what is known of a job. Times are timestamps.
type history struct {
	created  string
	attempts []attemptHistory
	// resultAt is when the result was written, "" before that.
	resultAt  string
	over      bool
	succeeded bool
	endedAt   string
}

// attemptHistory is what is known of one attempt: when it reached each stage, "" if not yet, and
// its transcript items in order.
type attemptHistory struct {
	started, checked, allowed, executing, output string
	items                                        []*transcript.Item
	ended                                        string
	// again means that the attempt is a plain retry of a failed one.
	again bool
}

// phasesOf computes the phases. More history never makes them regress.
func phasesOf(h history) (list [phaseCount]phase) {
	w := newPhaseWalk(h.created)
	for i, a := range h.attempts {
		w.attempt(i, a)
	}
	if h.resultAt != "" && (!h.over || h.succeeded) {
		w.enter(review, h.resultAt)
		w.raise(50)
	}
	if h.over {
		w.end(h.succeeded, h.endedAt)
	}
	return w.phases
}

// progressOf returns the overall progress of an execution.
func progressOf(phases [phaseCount]phase) (sum int) {
	for _, p := range phases {
		sum += p.Progress
	}
	return sum / phaseCount
}

// phaseOf returns the name of the current phase: the running or failed one, else the last completed
// one.
func phaseOf(phases [phaseCount]phase) string {
	last := phases[0].Name
	for _, p := range phases {
		switch p.Status {
		case phaseRunning, phaseFailed:
			return p.Name
		case phaseCompleted:
			last = p.Name
		}
	}
	return last
}

// phaseWalk computes the phases while it steps through a history.
type phaseWalk struct {
	phases [phaseCount]phase
	now    int
	since  string // when the current phase began
	idle   bool   // nothing has happened in it
	wrote  bool
}

func newPhaseWalk(created string) *phaseWalk {
	w := &phaseWalk{since: created}
	for i, name := range phaseNames() {
		w.phases[i] = phase{Name: name, Status: phasePending}
	}
	w.phases[research].Status = phaseRunning
	return w
}

// most is the highest progress of a phase that is not over.
const most = 90

func (w *phaseWalk) raise(to int) {
	w.idle = false
	p := &w.phases[w.now]
	p.Progress = max(p.Progress, to)
}

func (w *phaseWalk) add(n int) { w.raise(min(w.phases[w.now].Progress+n, most)) }

// enter moves on to a phase and completes those before it.
func (w *phaseWalk) enter(next int, at string) {
	for w.now < next {
		w.complete(at)
		w.now++
		w.phases[w.now].Status, w.since, w.idle = phaseRunning, at, true
	}
}

func (w *phaseWalk) complete(at string) {
	p := &w.phases[w.now]
	p.Status, p.Progress = phaseCompleted, 100
	if !w.idle {
		p.Duration = millisecondsBetween(w.since, at)
	}
}

// millisecondsBetween returns the time between two timestamps in whole milliseconds, nil if one of
// them is invalid.
func millisecondsBetween(from, to string) *int64 {
	a, fine := clock.Parse(from)
	b, also := clock.Parse(to)
	if !fine || !also {
		return nil
	}
	return new(max(0, int64(b.Sub(a)/time.Millisecond)))
}

func (w *phaseWalk) attempt(number int, a attemptHistory) {
	if number > 0 && !a.again {
		if w.now >= generate {
			w.enter(optimize, a.started)
		}
		if w.now == optimize {
			w.add(30)
		}
	}
	if w.now == research {
		for to, at := range map[int]string{20: a.started, 40: a.checked, 60: a.allowed, 80: a.executing} {
			if at != "" {
				w.raise(to)
			}
		}
		if a.output != "" {
			w.enter(inspect, a.output)
		}
	}
	for _, i := range a.items {
		w.item(i)
	}
	if a.ended != "" && w.now == generate {
		w.enter(optimize, a.ended)
	}
}

// item updates the phases for a transcript item.
func (w *phaseWalk) item(i *transcript.Item) {
	if i.Role == transcript.RoleUser || i.Role == transcript.RoleSystem {
		return
	}
	closed := i.State == transcript.StateClosed
	writes := i.Kind == transcript.KindFileChange || i.Tool != nil && writesFiles(i.Tool.Kind)
	executes := i.Tool != nil && i.Tool.Kind == "execute"
	long := i.Kind == transcript.KindMessage && isLong(i.Text)
	switch i.Kind {
	case transcript.KindMessage, transcript.KindReasoning, transcript.KindPlan, transcript.KindTool, transcript.KindFileChange:
	default:
		return
	}
	w.enter(max(w.now, inspect), i.StartedAt)
	if w.now == inspect && (writes || long) {
		w.enter(generate, i.StartedAt)
	}
	switch {
	case w.now == inspect && closed:
		w.add(15)
	case w.now == generate && executes && w.wrote:
		w.enter(optimize, i.StartedAt)
		if closed {
			w.add(30)
		}
	case w.now == generate && writes:
		w.add(20)
	case w.now == generate && long && closed:
		w.raise(max(w.phases[generate].Progress, 60))
	case w.now == generate && long:
		w.raise(20)
	case w.now == optimize && (executes && closed || writes):
		w.add(30)
	}
	w.wrote = w.wrote || writes
}

func writesFiles(kind string) bool { return kind == "edit" || kind == "delete" || kind == "move" }

// isLong reports whether a message is an answer rather than a remark.
func isLong(text string) bool {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return false
	}
	return len([]rune(text)) >= 200 || strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "```")
}

// end ends the phases: it completes all, or marks the current one as failed.
func (w *phaseWalk) end(succeeded bool, at string) {
	if succeeded {
		w.enter(review, at)
		w.complete(at)
		return
	}
	p := &w.phases[w.now]
	p.Status, p.Duration = phaseFailed, millisecondsBetween(w.since, at)
}
