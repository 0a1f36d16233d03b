package autonoma

// Events: one watch of the project's jobs, and the events it sends to clients.

import (
	"context"
	"sync"
	"time"

	"ac/company"
	"ac/dialect"
	"ac/internal/fault"
)

// pace is the shortest interval between two progress events of one execution.
const pace = 250 * time.Millisecond

// jobWatch checks the jobs whenever a job or the log of a run changes. Between changes it sleeps.
type jobWatch struct {
	server *server
	wake   chan struct{}

	mu    sync.Mutex
	ended map[string]bool // jobs seen to be over
	ends  map[string][]chan struct{}

	// Only the watching goroutine uses these.
	told map[string]*toldTask
	sent map[string]time.Time // when the progress of an execution was last sent
}

// toldTask is the state of a task that was last sent to clients.
type toldTask struct {
	status   string
	progress int
}

func newJobWatch(s *server) *jobWatch {
	return &jobWatch{
		server: s, wake: make(chan struct{}, 1), ended: map[string]bool{}, ends: map[string][]chan struct{}{}, told: map[string]*toldTask{}, sent: map[string]time.Time{},
	}
}

// start starts the watch. stop waits until its goroutine has ended.
func (w *jobWatch) start() (stop func(), err error) {
	s := w.server
	c, err := s.Host.In(s.Dir).Enter(s.work)
	if err != nil {
		return func() {}, err
	}
	unwatch, err := c.WatchJobs(s.work, s.ProjectID, w.rouse)
	if err != nil {
		return func() {}, err
	}
	// Jobs that ended earlier produce no events.
	records, err := s.records(s.work, company.ListJobsParams{Limit: 5000})
	if err != nil {
		unwatch()
		return func() {}, err
	}
	for _, r := range records {
		w.ended[r.Job.JobID] = r.Over()
	}
	var wg sync.WaitGroup
	wg.Go(w.run)
	w.rouse()
	return func() {
		unwatch()
		wg.Wait()
	}, nil
}

// rouse makes the watch check the jobs soon.
func (w *jobWatch) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (w *jobWatch) run() {
	ctx := w.server.work
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		case <-again:
		}
		again = nil
		rest, err := w.look(ctx)
		if err != nil && ctx.Err() == nil {
			w.server.Log.Warn("the jobs of the project cannot be read", "error", err)
			rest = time.Second
		}
		if rest > 0 {
			again = time.After(rest)
		}
		// Debounce: lines accumulate while a busy agent prints.
		if !dialect.Pause(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// look sends what has changed. It returns after what time to check again even without a change, 0
// for never.
func (w *jobWatch) look(ctx context.Context) (rest time.Duration, err error) {
	s := w.server
	clients := s.connections.All()
	w.mu.Lock()
	waits := len(w.ends) > 0
	w.mu.Unlock()
	if len(clients) == 0 && !waits {
		return 0, nil // jobs that end meanwhile are found when a client connects
	}
	records, err := s.records(ctx, company.ListJobsParams{Limit: 5000, Skip: w.over})
	if err != nil {
		return 0, err
	}
	for _, r := range records {
		e, err := s.execution(ctx, r)
		if err != nil {
			return 0, err
		}
		rest = earlier(rest, w.tell(ctx, clients, e))
	}
	for id := range followedBy(clients) {
		e, err := s.find(ctx, id)
		if fault.Is(err, fault.NotFound) || (err == nil && e.flow == nil && !e.over) {
			continue // unfinished jobs were handled above
		}
		if err != nil {
			return rest, err
		}
		rest = earlier(rest, w.tell(ctx, clients, e))
	}
	return rest, nil
}

func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

func (w *jobWatch) over(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended[id]
}

// followedBy returns the ids of the executions that clients follow.
func followedBy(clients []*connection) map[string]bool {
	ids := map[string]bool{}
	for _, c := range clients {
		c.mu.Lock()
		for id := range c.follows {
			ids[id] = true
		}
		c.mu.Unlock()
	}
	return ids
}

type taskUpdate struct {
	TaskID   string `json:"taskId"`
	Status   string `json:"status"`
	Progress int    `json:"progress"`
}

type phaseUpdate struct {
	ExecutionID string `json:"executionId"`
	Phase       string `json:"phase"`
	Status      string `json:"status"`
	Progress    int    `json:"progress"`
}

// tell sends the state of an execution: its task to all clients, its phases and its end to its
// followers. It rate-limits updates that change only the progress. rest is then the time until the
// next update is due.
func (w *jobWatch) tell(ctx context.Context, clients []*connection, e execution) (rest time.Duration) {
	s := w.server
	now := s.Clock.Now()
	told := w.told[e.id]
	if told == nil {
		told = &toldTask{}
		w.told[e.id] = told
	}
	if since := now.Sub(w.sent[e.id]); since < pace && !e.over && told.status == e.taskStatus() && !hasNews(clients, e) {
		return pace - since
	}
	changed := false
	for _, c := range clients {
		changed = c.tellPhases(e) || changed
	}
	if status, progress := e.taskStatus(), progressOf(e.phases); e.flow == nil && (told.status != status || told.progress != progress) {
		told.status, told.progress, changed = status, progress, true
		key := "task " + e.id
		if e.over {
			key = ""
		}
		for _, c := range clients {
			if !e.over || !c.cameAfter(e.completedAt) {
				c.tell("task.update", taskUpdate{e.id, status, progress}, key)
			}
		}
	}
	if changed {
		w.sent[e.id] = now
	}
	if e.over {
		w.end(ctx, clients, e)
	}
	return 0
}

// hasNews reports whether a follower does not know the status of a phase yet.
func hasNews(clients []*connection, e execution) bool {
	for _, c := range clients {
		c.mu.Lock()
		f := c.follows[e.id]
		if f != nil {
			for i, p := range e.phases {
				if f.told[i].Status != p.Status && (f.told[i].Status != "" || p.Status != phasePending) {
					c.mu.Unlock()
					return true
				}
			}
		}
		c.mu.Unlock()
	}
	return false
}

// tellPhases sends the changed phases of an execution to a follower.
func (c *connection) tellPhases(e execution) (changed bool) {
	c.mu.Lock()
	f := c.follows[e.id]
	if f == nil {
		c.mu.Unlock()
		return false
	}
	before := f.told
	for i := range e.phases {
		if e.phases[i].Status == before[i].Status {
			e.phases[i].Progress = max(e.phases[i].Progress, before[i].Progress) // the progress of a growing flow does not regress
		}
	}
	f.told = e.phases
	c.mu.Unlock()
	for _, n := range phaseNews(e.id, before, e.phases) {
		c.tell("phase.update", n.update, n.key)
		changed = true
	}
	return changed
}

// phaseNew is one change of a phase. A later one with the same key may replace it.
type phaseNew struct {
	update phaseUpdate
	key    string
}

// phaseNews returns the changes between two states, in order. A phase that began and ended in
// between is also reported as running, if anything happened in it.
func phaseNews(id string, before, now [phaseCount]phase) (list []phaseNew) {
	for i, p := range now {
		old := before[i]
		if p.Status == old.Status && p.Progress == old.Progress || old.Status == "" && p.Status == phasePending {
			continue
		}
		key := ""
		switch {
		case p.Status == phaseRunning && old.Status == phaseRunning:
			key = "phase " + id + " " + p.Name
		case p.Status != phaseRunning && old.Status != phaseRunning && p.Duration != nil:
			list = append(list, phaseNew{update: phaseUpdate{id, p.Name, phaseRunning, old.Progress}})
		}
		list = append(list, phaseNew{phaseUpdate{id, p.Name, p.Status, p.Progress}, key})
	}
	return list
}

// end notifies the followers of an execution that it has ended, and wakes the requests that wait
// for it.
func (w *jobWatch) end(ctx context.Context, clients []*connection, e execution) {
	var result *executionResult
	for _, c := range clients {
		c.mu.Lock()
		follows := c.follows[e.id] != nil
		delete(c.follows, e.id)
		c.mu.Unlock()
		if !follows {
			continue
		}
		if result == nil {
			made, err := w.server.result(ctx, e)
			if err != nil {
				w.server.Log.Warn("the files of an execution cannot be read", "execution", e.id, "error", err)
				made.Artifacts = []artifact{}
			}
			result = &made
		}
		c.tell("execution.complete", result, "")
	}
	w.server.codes.late(ctx, w.server, e)
	delete(w.told, e.id)
	delete(w.sent, e.id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended[e.id] = true
	for _, waiting := range w.ends[e.id] {
		close(waiting)
	}
	delete(w.ends, e.id)
}

// ending returns a channel that is closed when the watch sees that a job is over. forget cancels
// the wait.
func (w *jobWatch) ending(id string) (over <-chan struct{}, forget func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	made := make(chan struct{})
	if w.ended[id] {
		close(made)
		return made, func() {}
	}
	w.ends[id] = append(w.ends[id], made)
	w.rouse()
	return made, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		kept := w.ends[id][:0]
		for _, c := range w.ends[id] {
			if c != made {
				kept = append(kept, c)
			}
		}
		if w.ends[id] = kept; len(kept) == 0 {
			delete(w.ends, id)
		}
	}
}
