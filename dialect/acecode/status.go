package acecode

// The states of all sessions, for lists that update themselves.

import (
	"context"
	"encoding/json"
	"time"

	"ac/company/workforce"
	"ac/dialect"
)

// statusPace is the shortest interval between two checks of all sessions.
const statusPace = 200 * time.Millisecond

// sessionStatus is the state of a session. Pages read only State and Busy.
type sessionStatus struct {
	SessionID     string `json:"session_id"`
	WorkspaceHash string `json:"workspace_hash"`
	Cwd           string `json:"cwd"`
	State         string `json:"state"` // in_progress, unread or read
	Attention     string `json:"attention_state"`
	Read          string `json:"read_state"`
	Busy          bool   `json:"busy"`
	Cursor        int64  `json:"cursor"`
	Updated       int64  `json:"update_cursor"`
	ReadCursor    int64  `json:"read_cursor"`
}

type hashPart struct {
	WorkspaceHash string `json:"workspace_hash"`
}

type statusSnapshot struct {
	WorkspaceHash string          `json:"workspace_hash"`
	Sessions      []sessionStatus `json:"sessions"`
}

// statuses returns the states of all sessions.
func (s *server) statuses(ctx context.Context) ([]sessionStatus, error) {
	rows, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	list := []sessionStatus{}
	for i := range rows {
		if _, deleted := s.state.is(rows[i].ID); deleted {
			continue
		}
		status, err := s.statusOf(ctx, &rows[i])
		switch {
		case s.isLeftOut(ctx, rows[i].ID, err):
		case err != nil:
			return nil, err
		default:
			list = append(list, status)
		}
	}
	return list, nil
}

// statusOf returns the state of one session.
func (s *server) statusOf(ctx context.Context, run *workforce.RunWithLog) (sessionStatus, error) {
	row, err := s.row(ctx, run)
	if err != nil {
		return sessionStatus{}, err
	}
	known, err := s.summaryOf(ctx, run)
	if err != nil {
		return sessionStatus{}, err
	}
	cursor, unread := s.state.readUpTo(row.ID, known.head)
	read := map[bool]string{true: "unread", false: "read"}[unread]
	state := read
	if row.Busy {
		state = "in_progress"
	}
	return sessionStatus{row.ID, s.hash, s.cwd, state, row.Attention, read, row.Busy, known.head, known.head, cursor}, nil
}

// watch subscribes the client to the states of all sessions.
func (c *socket) watch(payload json.RawMessage) {
	var p hashPart
	if json.Unmarshal(payload, &p) != nil || p.WorkspaceHash != "" && !c.server.isHash(p.WorkspaceHash) {
		c.complain("", "unknown workspace", "unknown_workspace", "unknown workspace: "+p.WorkspaceHash)
		return
	}
	c.mu.Lock()
	was := c.watches
	c.watches = true
	c.mu.Unlock()
	if !was {
		c.tasks.Go(c.watchAll)
		return
	}
	list, err := c.server.statuses(c.work)
	if err == nil {
		c.send(ownFrame{Type: "session_status_snapshot", WorkspaceHash: c.server.hash, Payload: statusSnapshot{c.server.hash, list}})
	}
}

func (c *socket) unwatch(json.RawMessage) {
	c.mu.Lock()
	c.watches = false
	c.mu.Unlock()
	c.send(ownFrame{Type: "status_unsubscribe_ack", WorkspaceHash: c.server.hash, Payload: hashPart{c.server.hash}})
}

func (c *socket) isWatching() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches
}

// watchAll sends all states, then every change.
func (c *socket) watchAll() {
	s := c.server
	wake := make(chan struct{}, 1)
	stop, err := s.watchProject(c.work, func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	if err != nil {
		s.Log.Warn("the sessions cannot be watched", "error", err)
		return
	}
	defer stop()
	var told map[string]sessionStatus
	for c.isWatching() {
		list, err := s.statuses(c.work)
		if err == nil {
			told = c.tellStatuses(told, list)
		}
		if !dialect.Pause(c.work, statusPace) {
			return
		}
		select {
		case <-wake:
		case <-c.work.Done():
			return
		}
	}
}

// watchProject calls changed whenever a run of the project changes.
func (s *server) watchProject(ctx context.Context, changed func()) (stop func(), err error) {
	in, err := s.Host.In(s.Dir).Enter(ctx)
	if err != nil {
		return nil, err
	}
	return in.WatchJobs(ctx, s.ProjectID, changed)
}

// tellStatuses sends the changed states, and returns the states that the client now knows.
func (c *socket) tellStatuses(told map[string]sessionStatus, list []sessionStatus) map[string]sessionStatus {
	now := make(map[string]sessionStatus, len(list))
	for _, one := range list {
		now[one.SessionID] = one
	}
	if told == nil {
		c.send(ownFrame{Type: "session_status_snapshot", WorkspaceHash: c.server.hash, Payload: statusSnapshot{c.server.hash, list}})
		return now
	}
	for _, one := range list {
		if told[one.SessionID] != one {
			c.send(ownFrame{"session_status", one.SessionID, c.server.hash, one})
		}
	}
	return now
}

func (c *socket) markRead(payload json.RawMessage) {
	var p struct {
		sessionPart
		Cursor int64 `json:"cursor"`
	}
	if json.Unmarshal(payload, &p) != nil || p.SessionID == "" {
		c.complain("", "missing session_id", "missing_session_id", "missing session_id")
		return
	}
	c.mark("mark_session_read_ack", p.SessionID, func(head int64) { c.server.state.markRead(p.SessionID, min(p.Cursor, head)) })
}

func (c *socket) markUnread(payload json.RawMessage) {
	var p sessionPart
	if json.Unmarshal(payload, &p) != nil || p.SessionID == "" {
		c.complain("", "missing session_id", "missing_session_id", "missing session_id")
		return
	}
	c.mark("mark_session_unread_ack", p.SessionID, func(int64) { c.server.state.markUnread(p.SessionID) })
}

// mark changes the read marks of a session, whose newest event has the number head. It replies
// with the new state of the session, and sends it to the other watching clients.
func (c *socket) mark(ack, id string, change func(head int64)) {
	s := c.server
	row, err := s.session(c.work, id)
	if err != nil {
		c.complain(id, "unknown session", "unknown_session", "unknown session: "+id)
		return
	}
	known, err := s.summaryOf(c.work, &row)
	if err != nil {
		c.refused(id, err)
		return
	}
	change(known.head)
	status, err := s.statusOf(c.work, &row)
	if err != nil {
		c.refused(id, err)
		return
	}
	c.send(ownFrame{ack, id, s.hash, status})
	for _, l := range s.open.All() {
		if other, ok := l.(*socket); ok && other != c && other.isWatching() {
			other.send(ownFrame{"session_status", id, s.hash, status})
		}
	}
}
