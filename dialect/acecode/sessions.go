package acecode

// Sessions: listing, creating and ending them.

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"ac/company"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/dialect/acecode/frames"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// maxListed bounds the list of sessions.
const maxListed = 500

// sessionRow is a session in a list.
type sessionRow struct {
	ID             string             `json:"id"`
	SessionID      string             `json:"session_id"`
	Title          string             `json:"title"`
	Summary        string             `json:"summary"`
	Status         string             `json:"status"` // idle, running or waiting
	Busy           bool               `json:"busy"`
	Active         bool               `json:"active"`
	WorkspaceHash  string             `json:"workspace_hash"`
	Cwd            string             `json:"cwd"`
	Model          string             `json:"model"`
	ModelName      string             `json:"model_name"`
	Provider       string             `json:"provider"`
	AgentID        string             `json:"agent_id"`
	PermissionMode string             `json:"permission_mode"`
	Messages       int                `json:"message_count"`
	Turns          int                `json:"turn_count"`
	CreatedAt      string             `json:"created_at"`
	UpdatedAt      string             `json:"updated_at"`
	CreatedMS      int64              `json:"created_at_unix_ms"`
	UpdatedMS      int64              `json:"updated_at_unix_ms"`
	Archived       bool               `json:"archived"`
	ParentID       string             `json:"parent_session_id"`
	Attention      string             `json:"attention_state"` // read, in_progress or waiting
	Usage          *frames.TurnTokens `json:"token_usage"`
}

// summaryCache caches the facts of logs.
type summaryCache struct {
	mu   sync.Mutex
	byID map[string]logSummary
}

// logSummary is what a list shows of a session's log. It is valid while the log's size and time are
// unchanged.
type logSummary struct {
	size    int64
	changed time.Time

	title, first string
	waits        string
	busy         bool
	messages     int
	turns        int
	last         int64 // milliseconds
	head         int64
	used         *frames.TurnTokens
}

// summaryOf returns the fact of a session, from the cache if the log has not changed.
func (s *server) summaryOf(ctx context.Context, row *workforce.RunWithLog) (logSummary, error) {
	s.facts.mu.Lock()
	known, ok := s.facts.byID[row.ID]
	s.facts.mu.Unlock()
	if ok && known.size == row.Size && known.changed.Equal(row.Changed) {
		return known, nil
	}
	found := logSummary{size: row.Size, changed: row.Changed}
	m := frames.NewMapper(s.placeOf(row.ID), s.ProjectID)
	err := s.lines(ctx, row.ID, 0, func(line int64, text []byte) {
		if frames := m.Take(line, text); len(frames) > 0 {
			found.head = frames[len(frames)-1].Seq
		}
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return found, err
	}
	v := m.View
	found.title, found.first, found.waits, found.busy = v.Title, v.First, v.Waits(), v.Busy != nil
	found.messages, found.turns, found.last, found.used = v.Count, v.Turns, v.Last, v.Used
	s.facts.mu.Lock()
	defer s.facts.mu.Unlock()
	if s.facts.byID == nil {
		s.facts.byID = map[string]logSummary{}
	}
	s.facts.byID[row.ID] = found
	return found, nil
}

// sessions returns the listed sessions, latest activity first.
func (s *server) sessions(ctx context.Context) ([]workforce.RunWithLog, error) {
	rows, err := dialect.Do(ctx, s.Company, workforce.Operations.ConversationRuns, workforce.ConversationRunsParams{Dir: s.In(), ProjectID: s.ProjectID, All: s.opts.AllRuns})
	slices.SortStableFunc(rows, func(a, b workforce.RunWithLog) int {
		return cmp.Or(b.Changed.Compare(a.Changed), strings.Compare(b.ID, a.ID))
	})
	return rows[:min(len(rows), maxListed)], err
}

// anySession finds a session, even a deleted one. A run that is not a conversation is unknown,
// unless AllRuns is set.
func (s *server) anySession(ctx context.Context, id string) (workforce.RunWithLog, error) {
	rows, err := dialect.Do(ctx, s.Company, workforce.Operations.ConversationRuns, workforce.ConversationRunsParams{Dir: s.In(), ProjectID: s.ProjectID, RunID: id})
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.InvalidParams), err == nil && len(rows) == 0:
		return workforce.RunWithLog{}, unknownSession()
	case err != nil:
		return workforce.RunWithLog{}, err
	case !rows[0].IsConversation && !s.opts.AllRuns:
		return workforce.RunWithLog{}, unknownSession()
	}
	return rows[0], nil
}

// session finds a session that is not deleted.
func (s *server) session(ctx context.Context, id string) (workforce.RunWithLog, error) {
	if _, deleted := s.state.is(id); deleted {
		return workforce.RunWithLog{}, unknownSession()
	}
	return s.anySession(ctx, id)
}

// conversation finds a session that accepts texts.
func (s *server) conversation(ctx context.Context, id string) (workforce.RunWithLog, error) {
	row, err := s.session(ctx, id)
	if err == nil && !row.IsConversation {
		err = explain(http.StatusConflict, "NOT_A_CONVERSATION", "run "+id+" is no conversation: it can be read only")
	}
	return row, err
}

// isCommand reports whether the agent of a session is a command, which has no live protocol.
func isCommand(row workforce.RunWithLog) bool {
	if row.Live != nil && row.Live.Driver != "" {
		return row.Live.Driver == doc.LiveCommand
	}
	return doc.ProviderNamed(row.Provider).Live == ""
}

// row returns a session as a list shows it.
func (s *server) row(ctx context.Context, run *workforce.RunWithLog) (sessionRow, error) {
	known, err := s.summaryOf(ctx, run)
	if err != nil {
		return sessionRow{}, err
	}
	active, _ := s.state.is(run.ID)
	model := s.modelOf(run)
	row := sessionRow{
		ID: run.ID, SessionID: run.ID, Title: known.title, Summary: frames.OneLine(strings.TrimSpace(known.first), 120), Status: "idle", Busy: known.busy && run.Alive,
		Active: active || run.Alive, WorkspaceHash: s.hash, Cwd: s.cwd, Model: model.model, ModelName: cmp.Or(model.profile, model.model), Provider: run.Provider, AgentID: run.AgentID,
		PermissionMode: modeOf(modeOfRun(run)).Mode, Messages: known.messages, Turns: known.turns, CreatedAt: run.CreatedAt, Attention: "read", Usage: known.used,
	}
	if at, ok := clock.Parse(run.CreatedAt); ok {
		row.CreatedMS = at.UnixMilli()
	}
	row.UpdatedMS = max(row.CreatedMS, known.last)
	row.UpdatedAt = frames.StampOf(row.UpdatedMS)
	if row.Busy {
		row.Status, row.Attention = "running", "in_progress"
		if known.waits != "" {
			row.Status, row.Attention = "waiting", "waiting"
		}
	}
	return row, nil
}

// isLeftOut reports whether a list leaves out a session because its log cannot be read. It logs the
// error.
func (s *server) isLeftOut(ctx context.Context, id string, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	s.Log.Warn("a session cannot be read", "session", id, "error", err)
	return true
}

// modeOfRun returns the permission mode in a run's record.
func modeOfRun(run *workforce.RunWithLog) doc.Mode {
	if run.Live != nil && run.Live.Policy.Mode != "" {
		return run.Live.Policy.Mode
	}
	return doc.ModeDefault
}

// modelOf returns the model of a session, empty if the agent's own choice applies.
func (s *server) modelOf(run *workforce.RunWithLog) chosenModel {
	if model, ok := s.state.chosen(run.ID); ok {
		return model
	}
	model := chosenModel{profile: run.ModelProfile}
	if run.Spec != nil {
		model.model = run.Spec.Model
	}
	return model
}

// sessionList is a list of sessions in ShapeDocument.
type sessionList struct {
	Sessions []sessionRow `json:"sessions"`
}

func listSessions(s *server, r *request) (any, error) {
	rows := []sessionRow{}
	if query := r.URL.Query(); query.Get("archived") != "1" && query.Get("parent") == "" {
		found, err := s.sessions(r.Context())
		if err != nil {
			return nil, err
		}
		for i := range found {
			row, err := s.row(r.Context(), &found[i])
			switch {
			case s.isLeftOut(r.Context(), found[i].ID, err):
			case err != nil:
				return nil, err
			default:
				rows = append(rows, row)
			}
		}
	}
	if r.shape == frames.ShapeWire {
		return rows, nil
	}
	return sessionList{rows}, nil
}

// createBody is a request for a new session.
type createBody struct {
	Model     string `json:"model"`
	Name      string `json:"name"`
	Text      string `json:"initial_user_message"`
	AutoStart *bool  `json:"auto_start"`
	Mode      string `json:"permission_mode"`
	AgentID   string `json:"agent_id"`
	Cwd       string `json:"cwd"`
}

// createdSession is the response for a new or resumed session.
type createdSession struct {
	SessionID     string `json:"session_id"`
	ID            string `json:"id"`
	Active        bool   `json:"active,omitempty"`
	WorkspaceHash string `json:"workspace_hash"`
	Cwd           string `json:"cwd"`
}

func createSession(s *server, r *request) (any, error) {
	var p createBody
	if err := r.decode(&p); err != nil {
		return nil, err
	}
	if p.Cwd != "" && !s.isCwd(p.Cwd) {
		return nil, refuse(http.StatusBadRequest, "unknown workspace")
	}
	mode, err := s.usualMode(r.Context())
	if p.Mode != "" {
		mode, err = modeNamed(p.Mode)
	}
	if err != nil {
		return nil, err
	}
	if len(p.Text) > maxText {
		return nil, tooLarge()
	}
	agent, err := dialect.Do(r.Context(), s.Company, workforce.Operations.TalkAgent, workforce.TalkAgentParams{Dir: s.In(), AgentID: cmp.Or(p.AgentID, s.agent)})
	if fault.Is(err, fault.NotFound) {
		return nil, explain(http.StatusConflict, "NO_AGENT", err.Error())
	}
	if err != nil {
		return nil, err
	}
	model, err := s.modelFor(r.Context(), cmp.Or(p.Model, p.Name), agent.Provider)
	if err != nil {
		return nil, err
	}
	made, err := dialect.Do(r.Context(), s.Company, orchestration.Operations.CreateRun, orchestration.CreateRunParams{
		Dir: s.In(), ProjectID: s.ProjectID, AgentID: agent.ID, Provider: agent.Provider,
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.setMode(r.Context(), made.RunID, mode, s.level()); err != nil {
		return nil, err
	}
	if model != (chosenModel{}) {
		s.state.choose(made.RunID, model)
	}
	s.state.wake(made.RunID)
	if strings.TrimSpace(p.Text) != "" && (p.AutoStart == nil || *p.AutoStart) {
		row, err := s.session(r.Context(), made.RunID)
		if err != nil {
			return nil, err
		}
		if err := s.say(r.Context(), row, saidBody{Text: p.Text}); err != nil {
			return nil, err
		}
	}
	return status{http.StatusCreated, createdSession{made.RunID, made.RunID, false, s.hash, s.cwd}}, nil
}

// checkModel refuses a text that cannot be the id of a model.
func checkModel(model string) error {
	if utf8.RuneCountInString(model) > 200 || strings.HasPrefix(model, "-") || strings.ContainsFunc(model, unicode.IsControl) {
		return bad("model must be an id of 1 to 200 characters that does not begin with -")
	}
	return nil
}

func resumeSession(s *server, r *request) (any, error) {
	row, err := s.anySession(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	s.state.wake(row.ID)
	return createdSession{row.ID, row.ID, true, s.hash, s.cwd}, nil
}

// stopWithin bounds the wait for a session to end.
const stopWithin = 10 * time.Second

func deleteSession(s *server, r *request) (any, error) {
	if r.URL.Query().Get("purge") == "1" {
		return nil, refuse(http.StatusBadRequest, "runs are kept")
	}
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	if err := s.end(r.Context(), row.ID); err != nil {
		return nil, err
	}
	if !s.state.forget(row.ID) {
		return nil, unknownSession()
	}
	return nil, nil
}

// end ends the live session of a run, including its turn.
func (s *server) end(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	live, err := dialect.Do(ctx, s.Company, (*company.Host).ListSessions, company.ListSessionsParams{
		MaybeDir: company.MaybeDir{WorkspaceDir: s.Dir}, ProjectID: s.ProjectID, RunID: id, Status: doc.StatusRunning,
	})
	if err != nil {
		return err
	}
	for _, one := range live {
		named := company.SessionParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.Dir}, SessionRef: one.SessionRef}
		_, err := dialect.Do(ctx, s.Company, (*company.Host).StopSession, named)
		if err == nil { // later texts must not reach the session that is ending
			_, err = dialect.Do(ctx, s.Company, (*company.Host).CollectSession, named)
		}
		if ctx.Err() != nil {
			return refuse(http.StatusServiceUnavailable, "session is stopping")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// todosAnswer is the response for a cleared plan.
type todosAnswer struct {
	SessionID     string             `json:"session_id"`
	ID            string             `json:"id"`
	WorkspaceHash string             `json:"workspace_hash"`
	Todos         []frames.Todo      `json:"todos"`
	Summary       frames.TodoSummary `json:"todo_summary"`
}

func clearTodos(s *server, r *request) (any, error) {
	row, err := s.session(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := orchestration.PlanClearParams{}
	s.act(&p, row.ID)
	if _, err := dialect.Do(r.Context(), s.Company, orchestration.Operations.ClearPlan, p); err != nil {
		return nil, err
	}
	return todosAnswer{row.ID, row.ID, s.hash, []frames.Todo{}, frames.TodoSummary{}}, nil
}
