package supervisor

// ac's own tools for a live session's agent: the grant by which `ac mcp:serve` proves its
// session, and the supervisor's side of the tools.

import (
	"context"
	"time"

	"ac/internal/fault"
	"ac/runs/agent"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/runs/provider"
	"ac/runs/session/live"
)

// tools is the state of a session that has ac's own tools.
type tools struct {
	server *grant.Server
	file   string // path of the grant
}

// openTools writes the grant for a session whose agent gets ac's own tools, and registers its
// token as a secret.
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

// closeTools removes the grant. It runs before the end of the session is recorded.
func (s *supervisor) closeTools() { grant.Remove(s.socket.dir, s.socket.name) }

// toolServer returns how the agent starts ac's own MCP server, false for none. The server offers
// the session's tools or, in a job without commands, tools that read files.
func (s *supervisor) toolServer() (agent.Server, bool) {
	files := s.order.Live.Files
	if files != nil && s.order.Worker != nil { // the order's paths are those of another machine
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

// toolHost is the supervisor as seen by the grant.
type toolHost supervisor

// Identity returns the run's current identity and permissions.
func (h *toolHost) Identity() (id grant.Identity, err error) {
	s := (*supervisor)(h)
	o := &s.order // a pointer, because its Argv may change meanwhile
	_, err = s.runInConversation(func(c *live.Conversation) (any, error) {
		policy, ending := c.CurrentPolicy()
		if ending {
			return nil, fault.New(fault.RunNotLive, "the session of run %s is over", o.RunID)
		}
		id = grant.Identity{
			WorkspaceDir: s.w.Dir(), ProjectID: o.ProjectID, RunID: o.RunID, SessionRef: o.SessionRef, AgentID: o.AgentID, WorkingDir: s.workdir,
			TaskID: o.TaskID, MilestoneID: o.MilestoneID, PermissionLevel: string(policy.PermissionLevel), Mode: string(policy.Mode),
			Interactive: o.Live.Interactive, LaunchJobs: o.Live.LaunchJobs,
		}
		if o.Worker != nil {
			id.Self = o.Worker.Self
		}
		return struct{}{}, nil
	})
	return id, err
}

// Mask masks the session's secrets.
func (h *toolHost) Mask(value []byte) []byte {
	return []byte((*supervisor)(h).secrets.String(string(value)))
}

// Ask forwards to people what the agent asks through its tools.
func (h *toolHost) Ask(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (record interaction.Record, err error) {
	_, err = (*supervisor)(h).runInConversation(func(c *live.Conversation) (any, error) {
		record, err = c.AskTool(r, expires, resolved)
		return struct{}{}, err
	})
	return record, err
}

// StartJob starts the runner of a job, in a process outside the agent's.
func (h *toolHost) StartJob(ctx context.Context, jobID string) error {
	s := (*supervisor)(h)
	if s.host.StartJob == nil {
		return fault.New(fault.Unsupported, "the process that follows this session starts no jobs")
	}
	return s.host.StartJob(ctx, s.w, s.order.ProjectID, jobID, s.order.Environ)
}
