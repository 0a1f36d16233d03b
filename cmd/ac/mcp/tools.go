// Package mcp provides ac's own tools for the agent of a live session: who it is, its task, its
// messages, asking people, and making proposals. The supervisor of the session admits every call.
// The call acts as the run's agent, with its recorded role and team, and uses the operations of
// package company.
//
// Invariants: no tool accepts a run, an agent to act as, a project or a workspace. The supervisor
// masks everything before it is recorded. A refusal is a result that the agent reads.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"ac/company"
	"ac/company/decisions"
	"ac/company/workforce"
	"ac/internal/fault"
	"ac/rpc"
	"ac/runs/grant"
)

// Server holds the tools of one session.
type Server struct {
	Host    *company.Host
	Client  *grant.Client
	Version string // of the program
}

// Toolbox returns the tools for an MCP server.
func (s *Server) Toolbox() rpc.Toolbox {
	who := rpc.NewTool("who_am_i", "Who you are, which run, project and company you work in, what you may do, and your colleagues.", s.whoAmI)
	ask := rpc.NewTool("ask_human", "Ask people, and wait for wait_ms milliseconds for the answer. With options they choose, without they write. While state is open call again with interaction_id alone.", s.askHuman)
	if s.Client.Identity().Self != nil { // the other tools need the workspace, which is on another machine
		return rpc.Toolbox{Version: s.Version, Admit: s.admit, Tools: []rpc.Tool{who, ask}}
	}
	return rpc.Toolbox{Version: s.Version, Admit: s.admit, Tools: []rpc.Tool{
		who,
		rpc.NewTool("my_task", "The task of this run with its milestones; without one, the open tasks that are assigned to you.", s.myTask),
		rpc.Acting(rpc.NewTool("my_messages", "Messages of conversations that you take part in, and those that mention you: unread ones from the oldest on. What you get counts as read unless mark_read is false.", s.myMessages)),
		ask,
		rpc.Acting(rpc.NewTool("propose_memory", "Propose lines for the memory of the project (scope project) or for the guidance of an agent (scope agent, target_agent_id; you when absent). People decide on it.", s.proposeMemory)),
		rpc.Acting(rpc.NewTool("report_milestone", "Report that a milestone is done, with the artifacts that show it. People decide on it. Task and milestone are those of this run when absent.", s.reportMilestone)),
		rpc.NewTool("list_jobs", "The jobs of this project that you may see, the newest first.", s.listJobs),
		rpc.Acting(rpc.NewTool("launch_job", "Hand work to another agent, as a job. Worker is you when absent; permission_level is read-only when absent, and at most that of this run.", s.launchJob)),
	}}
}

type callKey struct{}

// maxArguments bounds the arguments of a call, in bytes.
const maxArguments = 256 << 10

// plain refuses arguments that are too large, and control characters in them, except newlines,
// carriage returns and tabs.
func plain(arguments json.RawMessage) error {
	if len(arguments) > maxArguments {
		return fault.New(fault.TooLarge, "the arguments have %d bytes, more than %d", len(arguments), maxArguments)
	}
	for tokens := json.NewDecoder(bytes.NewReader(arguments)); ; {
		token, err := tokens.Token()
		if err != nil {
			return nil //nolint:nilerr // the end; what is no JSON is refused by the tool
		}
		text, _ := token.(string)
		if at := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\n\r\t", r) }); at >= 0 {
			return fault.New(fault.InvalidParams, "the arguments contain the control character %q at byte %d of a text", text[at:at+1], at)
		}
	}
}

// admit asks the supervisor to admit a call. It fails if the session is over.
func (s *Server) admit(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error) {
	if err := plain(arguments); err != nil {
		return ctx, nil, err
	}
	call, err := s.Client.Call(ctx, arguments)
	return context.WithValue(ctx, callKey{}, call.Identity), call.Arguments, err
}

// callerOf returns the identity that a call was admitted with.
func callerOf(ctx context.Context) grant.Identity {
	id, _ := ctx.Value(callKey{}).(grant.Identity) // Toolbox admits every call
	return id
}

// agentOf returns the agent that a call acts as.
func agentOf(id grant.Identity) company.AsAgent {
	return company.AsAgent{Dir: company.Dir{WorkspaceDir: id.WorkspaceDir}, ProjectID: id.ProjectID, RunID: id.RunID, AgentID: id.AgentID}
}

// do runs an operation on the workspace.
func do[S company.Target, P, R any](ctx context.Context, s *Server, op func(S, context.Context, P) (R, error), p P) (R, error) {
	return company.Do(ctx, s.Host, op, p)
}

// noArguments holds the arguments of tools that take none.
type noArguments struct {
	_ struct{} `is:"strict"`
}

// self is the result of who_am_i.
type self struct {
	workforce.Self
	TaskID          string `json:"task_id,omitempty"`
	MilestoneID     string `json:"milestone_id,omitempty"`
	PermissionLevel string `json:"permission_level"`
	Mode            string `json:"mode"`
	WorkingDir      string `json:"working_dir"`
}

func (s *Server) whoAmI(ctx context.Context, _ noArguments) (self, error) {
	id := callerOf(ctx)
	if id.Self != nil {
		return self{*id.Self, id.TaskID, id.MilestoneID, id.PermissionLevel, id.Mode, id.WorkingDir}, nil
	}
	found, err := do(ctx, s, workforce.Operations.AgentSelf, agentOf(id))
	return self{found, id.TaskID, id.MilestoneID, id.PermissionLevel, id.Mode, id.WorkingDir}, err
}

func (s *Server) myTask(ctx context.Context, _ noArguments) (workforce.AgentTask, error) {
	id := callerOf(ctx)
	return do(ctx, s, workforce.Operations.AgentTask, workforce.AgentTaskParams{AsAgent: agentOf(id), TaskID: id.TaskID})
}

type messagesArguments struct {
	_          struct{} `is:"strict"`
	UnreadOnly bool     `json:"unread_only" is:"default=true"`
	Limit      int      `json:"limit" is:"default=20,min=1,max=100"`
	MarkRead   bool     `json:"mark_read" is:"default=true"`
}

func (s *Server) myMessages(ctx context.Context, a messagesArguments) (workforce.AgentMessages, error) {
	return do(ctx, s, workforce.Operations.AgentMessages, workforce.AgentMessagesParams{
		AsAgent: agentOf(callerOf(ctx)), UnreadOnly: a.UnreadOnly, Limit: a.Limit, MarkRead: a.MarkRead,
	})
}

// proposed is the result of a proposal on which people decide.
type proposed struct {
	ArtifactID string `json:"artifact_id"`
	Status     string `json:"status"`
}

func waiting(id string) proposed { return proposed{id, "waiting for approval"} }

type memoryArguments struct {
	_             struct{} `is:"strict"`
	Scope         string   `json:"scope" is:"enum=project|agent"`
	Title         string   `json:"title"`
	InsertLines   []string `json:"insert_lines" is:"minitems=1"`
	Rationale     string   `json:"rationale"`
	UnderHeading  string   `json:"under_heading" is:"optional"`
	TargetAgentID string   `json:"target_agent_id" is:"optional,id"`
}

func (s *Server) proposeMemory(ctx context.Context, a memoryArguments) (proposed, error) {
	id := callerOf(ctx)
	made, err := do(ctx, s, decisions.Operations.AgentPropose, decisions.AgentProposeParams{
		AsAgent: agentOf(id), OfAgent: a.Scope == "agent", TargetAgentID: a.TargetAgentID,
		Title: a.Title, InsertLines: a.InsertLines, Rationale: a.Rationale, UnderHeading: a.UnderHeading,
	})
	return waiting(made.ArtifactID), err
}

type reportArguments struct {
	_           struct{} `is:"strict"`
	TaskID      string   `json:"task_id" is:"optional,id"`
	MilestoneID string   `json:"milestone_id" is:"optional,id"`
	Title       string   `json:"title"`
	Summary     string   `json:"summary" is:"maxbytes=65536"`
	Evidence    []string `json:"evidence_artifact_ids" is:"optional"`
	Tests       []string `json:"tests" is:"optional"`
}

func (s *Server) reportMilestone(ctx context.Context, a reportArguments) (proposed, error) {
	id := callerOf(ctx)
	made, err := do(ctx, s, decisions.Operations.AgentReport, decisions.AgentReportParams{
		AsAgent: agentOf(id), TaskID: cmp.Or(a.TaskID, id.TaskID), MilestoneID: cmp.Or(a.MilestoneID, id.MilestoneID),
		Title: a.Title, Summary: a.Summary, Evidence: a.Evidence, Tests: a.Tests,
	})
	return waiting(made.ArtifactID), err
}

type jobsArguments struct {
	_      struct{} `is:"strict"`
	Status string   `json:"status" is:"optional,enum=queued|running|completed|canceled"`
	Limit  int      `json:"limit" is:"default=20,min=1,max=100"`
}

type jobs struct {
	Jobs []decisions.AgentJob `json:"jobs"`
}

func (s *Server) listJobs(ctx context.Context, a jobsArguments) (jobs, error) {
	found, err := do(ctx, s, decisions.Operations.AgentJobs, decisions.AgentJobsParams{AsAgent: agentOf(callerOf(ctx)), Status: a.Status, Limit: a.Limit})
	return jobs{found}, err
}
