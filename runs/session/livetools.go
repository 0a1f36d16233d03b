package session

// ac's own tools for the agent of a live session: the grant by which `ac mcp:serve`
// proves whose session it is for, and what the supervisor does for it.

import (
	"context"
	"errors"
	"slices"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/runs/provider"
)

// tools is what a session with ac's own tools has beside others.
type tools struct {
	server *grant.Server
	file   string // the grant
}

// openTools writes the grant of a session whose agent gets ac's own tools. Its token is
// a secret of the session.
func (s *supervisor) openTools() error {
	if s.order.Live == nil || !s.order.Live.MCP {
		return nil
	}
	file, token, err := grant.Write(s.socket.dir, s.socket.name, s.w.Env.IDs.Hex)
	if err != nil {
		return err
	}
	s.secrets.Learn(token)
	s.tools = &tools{server: grant.NewServer(token, (*toolHost)(s), s.w.Env.Clock.Now), file: file}
	return nil
}

// closeTools removes the grant: it is gone before the end of the session is recorded.
func (s *supervisor) closeTools() { grant.Remove(s.socket.dir, s.socket.name) }

// toolServer is ac's own MCP server as the agent starts it, false for a session without
// any: the tools of the session or, in a job that bears no commands, those that read
// files.
func (s *supervisor) toolServer() (agent.Server, bool) {
	files := s.order.Live.Files
	if files != nil && s.order.Away != nil { // those of the order are of the machine it comes from
		files = provider.FilesFor(provider.Patch, s.host.Executable, s.workdir)
	}
	switch {
	case s.tools != nil:
		return agent.Server{Name: grant.ServerName, Command: s.host.Executable, Args: []string{"mcp:serve", "--grant", s.tools.file}}, true
	case files != nil:
		return agent.Server{Name: grant.ServerName, Command: files[0], Args: files[1:]}, true
	}
	return agent.Server{}, false
}

// toolHost is the supervisor as the grant sees it.
type toolHost supervisor

// Identity is who the run is now.
func (h *toolHost) Identity() (id grant.Identity, err error) {
	s := (*supervisor)(h)
	o := &s.order // its words may be settled anew meanwhile
	_, err = s.speak(func(c *conversation) (any, error) {
		if c.closing {
			return nil, fault.New(fault.RunNotLive, "the session of run %s is over", o.RunID)
		}
		id = grant.Identity{
			WorkspaceDir: s.w.Dir(), ProjectID: o.ProjectID, RunID: o.RunID, SessionRef: o.SessionRef, AgentID: o.AgentID, WorkingDir: s.workdir,
			TaskID: o.TaskID, MilestoneID: o.MilestoneID, PermissionLevel: string(c.policy.PermissionLevel), Mode: string(c.policy.Mode),
			Interactive: c.order.Interactive, LaunchJobs: c.order.LaunchJobs,
		}
		if o.Away != nil {
			id.Self = o.Away.Self
		}
		return struct{}{}, nil
	})
	return id, err
}

// Mask masks the secrets of the session.
func (h *toolHost) Mask(value []byte) []byte {
	return []byte((*supervisor)(h).secrets.String(string(value)))
}

// Ask asks people what the agent asks by its tools.
func (h *toolHost) Ask(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (record interaction.Record, err error) {
	_, err = (*supervisor)(h).speak(func(c *conversation) (any, error) {
		record, err = c.askTool(r, expires, resolved)
		return struct{}{}, err
	})
	return record, err
}

// StartJob starts the runner of a job in a process that is none of the agent's.
func (h *toolHost) StartJob(ctx context.Context, jobID string) error {
	s := (*supervisor)(h)
	if s.host.StartJob == nil {
		return fault.New(fault.Unsupported, "the process that follows this session starts no jobs")
	}
	return s.host.StartJob(ctx, s.w, s.order.ProjectID, jobID, s.order.Environ)
}

// askTool puts a question of a tool to people. It is durable when it returns.
func (c *conversation) askTool(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (interaction.Record, error) {
	switch {
	case c.closing:
		return interaction.Record{}, fault.New(fault.RunNotLive, "the session of run %s is over", c.s.order.RunID)
	case len(c.open) >= interaction.MaxOpen:
		return interaction.Record{}, fault.New(fault.TooManyOpen, "%d interactions of this run are open", interaction.MaxOpen)
	}
	if expires == 0 && r.Kind == interaction.Question {
		expires = time.Duration(c.order.QuestionMS) * time.Millisecond
	}
	now := c.s.w.Env.Clock.Now()
	r.InteractionID, r.Turn, r.RequestedAt = c.s.w.Env.IDs.New("int"), c.turns, clock.Stamp(now)
	if expires > 0 {
		r.ExpiresAt = new(clock.Stamp(now.Add(expires)))
	}
	i := &openRequest{request: agent.Request{Kind: r.Kind}, resolved: resolved}
	i.Request, i.State = r, interaction.Open
	d := c.draft(events.InteractionRequested, r)
	d.Actor, d.Visibility = c.s.order.AgentID, events.VisibilityTeam
	if err := c.s.recorder.commit(d); err != nil {
		return interaction.Record{}, fault.New(fault.IO, "the question could not be recorded: %w", err)
	}
	if expires > 0 {
		c.after(r.InteractionID, expires, func() { c.expire(i) })
	}
	c.open = append(c.open, i)
	c.callOff("idle") // which begins anew with the answer
	return i.Record, nil
}

// hear has a tool hear of its answer.
func (i *openRequest) hear(a agent.Answer) {
	record := i.Record
	if i.State == interaction.Answered {
		record.Answers = a.Answers
		if i.Kind == interaction.Input {
			record.Text = &a.Text
		}
	}
	i.resolved(record)
}

// waitsForTool reports whether the answer to a tool's question is waited for.
func (c *conversation) waitsForTool() bool {
	return slices.ContainsFunc(c.open, func(i *openRequest) bool { return i.resolved != nil })
}

// rest lets a session that may be idle end when it was idle for long enough. What a
// tool asks counts as work.
func (c *conversation) rest() {
	if c.order.KeepOpen && c.opened && !c.closing && c.turn == nil && !c.waitsForTool() {
		c.after("idle", time.Duration(c.order.IdleMS)*time.Millisecond, c.idled)
	}
}

// toolReply is the answer to a verb of the grant; ok is false for verbs of others.
func toolReply(conn *grant.Conn, request socketRequest, again func(socketReply)) (reply socketReply, ok bool) {
	if conn == nil || request.Version < 2 {
		return reply, false
	}
	later := func(r interaction.Record) { again(socketReply{Version: request.Version, ID: request.ID, Result: r}) }
	result, known, err := conn.Handle(request.Verb, request.Params, later)
	if !known {
		return reply, false
	}
	reply = socketReply{Version: request.Version, ID: request.ID, Result: result}
	if err != nil {
		reply.Result, reply.Error, reply.Reason = nil, err.Error(), string(fault.ReasonOf(err))
		if e, ok := errors.AsType[*fault.Error](err); ok {
			reply.Data = e.Data
		}
	}
	return reply, true
}
