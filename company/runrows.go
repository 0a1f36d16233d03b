package company

// Runs in lists for people: with the name of the agent, what the run was asked to do, and a
// one-word state.

import (
	"context"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"ac/heartbeat/workflow"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/shellwords"
	"ac/runs"
	"ac/runs/session"
	"ac/snapshot"
	"ac/workspace"
	"ac/workspace/doc"
)

// States of runs, in one word. A failed run shows its exit code, signal or kind of error instead.
const (
	StateNew        = "new"
	StateRunning    = "running"
	StateAsks       = "asks you"
	StateIdle       = "idle"
	StateDone       = "done"
	StateStopped    = "stopped"
	StateFailed     = "failed"
	StateOverBudget = "over budget"
	StateLost       = "lost"
)

// RunRow is a run in a list for people. Unknown fields are null.
type RunRow struct {
	RunID           string   `json:"run_id"`
	ProjectID       string   `json:"project_id"`
	State           string   `json:"state"`
	Status          string   `json:"status"`
	ExitCode        *int     `json:"exit_code"`
	Signal          *string  `json:"signal"`
	Error           *string  `json:"error"`
	AgentID         string   `json:"agent_id"`
	Agent           *string  `json:"agent"`
	Provider        string   `json:"provider"`
	What            *string  `json:"what"`
	CreatedAt       *string  `json:"created_at"`
	StartedAt       *string  `json:"started_at"`
	EndedAt         *string  `json:"ended_at"`
	TookS           *float64 `json:"took_s"`
	Tokens          *int64   `json:"tokens"`
	TokensEstimated bool     `json:"tokens_estimated"`
	CostUSD         *float64 `json:"cost_usd"`
	TaskID          *string  `json:"task_id"`
	Worktree        *string  `json:"worktree"`
	Landed          *string  `json:"landed"`
	Waiting         int      `json:"waiting"` // open interactions

	SessionRef     string `json:"-"` // of its latest session, "" for none
	IsConversation bool   `json:"-"` // the run has a transcript, because people talk with its agent
	Flow           bool   `json:"-"` // it is a workflow run
}

// Live reports whether the run has a live session.
func (r *RunRow) Live() bool {
	return r.State == StateRunning || r.State == StateAsks || r.State == StateIdle
}

// RunRowsParams select the rows of a list of runs. Empty fields match all.
type RunRowsParams struct {
	Dir
	ProjectID string    `json:"-"`
	AgentID   string    `json:"-"`
	Live      bool      `json:"-"` // only live runs
	State     string    `json:"-"` // a state, or a status
	Since     time.Time `json:"-"` // created since
	Ending    string    `json:"-"` // the end of their ids, ignoring case
	Newest    bool      `json:"-"` // order by creation only
	Most      int       `json:"-"` // 0 for all
}

// RunRows is a list of runs: live ones first, then new ones, then the others, each newest first.
type RunRows struct {
	Rows []RunRow
	More int      // how many runs the limit left out
	IDs  []string // all runs whose ids may end like those of the rows, to abbreviate ids
	None bool     // the workspace has no runs
}

// shownLetters is the minimum number of letters that lists show of the end of an id.
const shownLetters = 6

// RunRows lists runs for people. It writes only the index.
func (c *Company) RunRows(ctx context.Context, p RunRowsParams) (list RunRows, err error) {
	err = c.View(ctx, index.Records, func(m *snapshot.View) error {
		list, err = c.runRows(m, p)
		return err
	})
	if err != nil {
		return list, err
	}
	return list, c.describeAll(ctx, list.Rows)
}

func (c *Company) runRows(m *snapshot.View, p RunRowsParams) (list RunRows, err error) {
	q := snapshot.RunQuery{ProjectID: p.ProjectID, AgentID: p.AgentID, Ending: p.Ending, Status: p.status(), Most: p.Most}
	if !p.Since.IsZero() {
		q.Since = clock.Nanos(p.Since)
	}
	if p.Live || p.State != "" {
		q.Most = 0 // filter first: the state of a run depends on its session
	}
	found, err := m.RunList(q)
	if err != nil {
		return list, err
	}
	if err := m.CheckLogs(found.Rows); err != nil {
		return list, err
	}
	open, err := m.Interactions(snapshot.InteractionQuery{ProjectID: p.ProjectID, State: snapshot.InteractionsOpen, Limit: math.MaxInt32})
	if err != nil {
		return list, err
	}
	waiting := map[string]int{}
	for _, i := range open.Interactions {
		waiting[i.RunID]++
	}
	rows := make([]RunRow, 0, len(found.Rows))
	for i := range found.Rows {
		row := c.runRow(&found.Rows[i], waiting[found.Rows[i].RunID])
		if (!p.Live || row.Live()) && (p.State == "" || p.State == row.State || p.State == row.Status) {
			rows = append(rows, row)
		}
	}
	if !p.Newest {
		slices.SortStableFunc(rows, func(a, b RunRow) int { return rankOf(&a) - rankOf(&b) })
	}
	total := len(rows)
	if q.Most > 0 {
		total = found.Total
	}
	if p.Most > 0 && len(rows) > p.Most {
		rows = rows[:p.Most]
	}
	list.Rows, list.More = rows, total-len(rows)
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].RunID
	}
	if list.IDs, err = m.RunIDsLike(ids, shownLetters); err != nil || len(rows) > 0 {
		return list, err
	}
	all, err := m.CountRuns()
	list.None = all == 0
	return list, err
}

// status returns the recorded status of runs in the wanted state, "" for any.
func (p *RunRowsParams) status() string {
	switch p.State {
	case "":
		if p.Live {
			return doc.StatusRunning
		}
		return ""
	case StateNew, StateRunning, StateAsks, StateIdle:
		return doc.StatusRunning
	case StateDone, doc.StatusEnded:
		return doc.StatusEnded
	case StateStopped:
		return doc.StatusStopped
	case StateLost, "queued":
		return ""
	}
	return doc.StatusFailed
}

// describeAll adds to the rows what only the files hold.
func (c *Company) describeAll(ctx context.Context, rows []RunRow) error {
	agents, err := c.w.Agents()
	workspace.Each(len(rows), func(i int) { c.describe(ctx, &rows[i]) })
	for i := range rows {
		row := &rows[i]
		if at := slices.IndexFunc(agents, func(a doc.Agent) bool { return a.ID == row.AgentID }); at >= 0 {
			row.Agent = &agents[at].Name
		}
	}
	return err
}

// rankOf returns 0 for live runs, 1 for those never launched, and 2 for the others.
func rankOf(r *RunRow) int {
	switch {
	case r.Live():
		return 0
	case r.State == StateNew:
		return 1
	}
	return 2
}

// runRow builds a row from the index and the session's record.
func (c *Company) runRow(m *snapshot.MonitorRow, waiting int) RunRow {
	row := RunRow{
		RunID: m.RunID, ProjectID: m.ProjectID, State: stateOf(m, waiting), Status: m.RunStatus, AgentID: m.AgentID, Provider: m.Provider,
		CreatedAt: OrNil(m.CreatedAt), Waiting: waiting,
	}
	if s := m.RowSession; s != nil {
		row.SessionRef = s.SessionRef
		row.ExitCode, row.Signal, row.Error = s.ExitCode, s.Signal, OrNil(s.Error)
		end := c.w.Env.Clock.Now()
		row.StartedAt = new(clock.Stamp(time.UnixMilli(s.StartedAtMS)))
		if s.EndedAtMS != nil {
			end = time.UnixMilli(*s.EndedAtMS)
			row.EndedAt = new(clock.Stamp(end))
		}
		row.TookS = new(max(0, end.Sub(time.UnixMilli(s.StartedAtMS)).Seconds()))
	}
	if m.Provider == workflow.Provider { // a workflow run has no session of its own
		c.asFlow(&row)
	}
	if u := m.TokenUsage; u != nil {
		row.Tokens, row.TokensEstimated, row.CostUSD = &u.TotalTokens, u.Confidence != "high", u.CostUSD
	}
	return row
}

// asFlow completes the row of a workflow run. Such a run is live until its record is final, and
// shows the name of its template.
func (c *Company) asFlow(row *RunRow) {
	record, err := workflow.Load(c.w, row.ProjectID, row.RunID)
	if err != nil {
		return // the row stays as the run's record has it
	}
	if templates, err := workflow.Templates(record); err == nil {
		row.What = OrNil(templates[record.Round().Template].Name)
	}
	row.Flow, row.StartedAt = true, row.CreatedAt
	end := c.w.Env.Clock.Now()
	switch {
	case record.Over():
		row.EndedAt = OrNil(record.EndedAt)
		if at, ok := clock.Parse(record.EndedAt); ok {
			end = at
		}
	case row.Waiting > 0 || record.Status == doc.FlowWaitingInput:
		row.State = StateAsks
	default:
		row.State = StateRunning
	}
	if at, ok := clock.Parse(*row.CreatedAt); ok {
		row.TookS = new(max(0, end.Sub(at).Seconds()))
	}
}

// stateOf returns the one-word state of a run.
func stateOf(m *snapshot.MonitorRow, waiting int) string {
	s := m.RowSession
	switch {
	case s != nil && s.LiveStatus == doc.StatusRunning && waiting > 0:
		return StateAsks
	case s != nil && s.LiveStatus == doc.StatusRunning:
		return StateRunning
	case m.RunStatus == doc.StatusEnded:
		return StateDone
	case m.RunStatus == doc.StatusStopped:
		return StateStopped
	case m.RunStatus == doc.StatusFailed:
		return failureOf(m)
	case s == nil:
		return StateNew
	}
	return StateLost // the session's record is final but the run's is not: nobody recorded the end
}

// failureOf returns the most specific short reason why a run failed.
func failureOf(m *snapshot.MonitorRow) string {
	s := m.RowSession
	if s == nil {
		return failureWord(m.BudgetExceeded > 0, "", nil, nil, "")
	}
	return failureWord(m.BudgetExceeded > 0, s.ErrorKind, s.Signal, s.ExitCode, s.Error)
}

func failureWord(overBudget bool, kind string, signal *string, exit *int, message string) string {
	switch {
	case overBudget:
		return StateOverBudget
	case kind != "" && kind != "unknown" && kind != "crash":
		return strings.ReplaceAll(kind, "_", " ")
	case signal != nil:
		return *signal
	case exit != nil && *exit != 0:
		return "exit " + strconv.Itoa(*exit)
	case exit == nil && message != "":
		return StateLost
	}
	return StateFailed
}

// isConversationStarting reports whether a conversation with the agent of a run is starting. The run's record
// shows the conversation only once its worktree exists, which may take long.
func (c *Company) isConversationStarting(row *RunRow) bool {
	if row.State != StateRunning {
		return false
	}
	record, err := session.Read(c.w, session.LocalRef(row.RunID))
	return err == nil && record.Driver != ""
}

// describe adds what only the files of the run hold: what it was asked to do, its task, its
// worktree, and whether it is idle. What it cannot read stays unknown.
func (c *Company) describe(ctx context.Context, row *RunRow) {
	run, err := runs.Load(c.w, row.ProjectID, row.RunID)
	if err != nil {
		return
	}
	if row.EndedAt == nil && doc.Terminal(run.Status) {
		row.EndedAt = OrNil(run.EndedAt)
	}
	if run.Landed != nil {
		row.Landed = &run.Landed.Commit
	}
	row.IsConversation = run.Live != nil && run.Live.Driver != "" || c.isConversationStarting(row)
	if row.State == StateRunning && row.IsConversation {
		if idles, err := c.host.logs.Idles(ctx, c.w, row.ProjectID, row.RunID); idles && err == nil { // an unreadable log leaves it running
			row.State = StateIdle
		}
	}
	if run.Spec == nil {
		return
	}
	row.TaskID, row.Worktree = OrNil(run.Spec.TaskID), OrNil(run.Spec.WorktreeRel)
	row.What = OrNil(c.What(run))
}

// maxWhat bounds how much of a prompt is read, in bytes.
const maxWhat = 4096

// What returns what a run was asked to do, on one line. It is the run's title, the title of its
// task, the first line of its prompt, or its command line.
func (c *Company) What(run doc.Run) string {
	if run.Title != "" {
		return run.Title
	}
	if task := run.Spec.TaskID; workspace.SafeID(task) {
		if found, err := c.w.Task(run.ProjectID, task); err == nil && found.Title != "" {
			return found.Title
		}
	}
	if run.Spec.PromptRelpath != "" {
		return firstLine(c.prompt(run))
	}
	return shellwords.Join(run.Spec.Argv)
}

// prompt returns the beginning of a run's prompt.
func (c *Company) prompt(run doc.Run) string {
	file, err := c.w.FS.OpenFile(path.Join(workspace.RunDir(run.ProjectID, run.ID), "outputs", "prompt.txt"), 0, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, maxWhat)
	n, _ := file.ReadAt(text, 0) // bytes read before an error still count
	for text = text[:n]; len(text) > 0 && !utf8.Valid(text); {
		text = text[:len(text)-1] // remove a truncated character
		if n-len(text) == utf8.UTFMax {
			break
		}
	}
	return string(text)
}

// firstLine returns the first non-blank line of a text.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
