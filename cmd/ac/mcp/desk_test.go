package mcp_test

// The test fixture: a workspace, a session, and a client of the tools.

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/cmd/ac/mcp"
	"ac/company"
	"ac/events"
	"ac/internal/canonjson"
	"ac/runs"
	"ac/runs/grant"
	"ac/runs/grant/granttest"
	"ac/workspace"
)

type object = map[string]any

// desk is an agent at work: a workspace with a run, the supervisor of its session, and an SDK
// client instead of the agent.
type desk struct {
	t          *testing.T
	w          *workspace.Workspace
	dir        string
	project    string
	run        string
	agent      string // a worker of the team
	manager    string // manager of the team
	mate       string // another worker of the team
	stranger   string // a worker of another team
	team       string
	supervisor *granttest.Supervisor
	client     *sdk.ClientSession
	progress   chan string
	now        atomic.Int64 // seconds of the supervisor's clock
}

func newDesk(t *testing.T, change func(*desk, *grant.Identity)) *desk {
	t.Helper()
	d := &desk{t: t, dir: filepath.Join(t.TempDir(), "ws"), progress: make(chan string, 100)}
	ctx, env := t.Context(), workspace.SystemEnv()
	must(t, workspace.Init(ctx, env, d.dir, workspace.InitOptions{CompanyName: "Acme"}))
	var err error
	d.w, err = workspace.Open(env, d.dir)
	must(t, err)
	t.Cleanup(func() { _ = d.w.Close() })
	project, err := d.w.CreateProjectWithDefaults(ctx, "Checkout", "", nil)
	must(t, err)
	d.project, d.team = project.ID, "team_pay"
	d.put("org/teams/team_pay/team.yaml", "schema_version: 1\ntype: team\nid: team_pay\nname: Pay\ncreated_at: 2026-01-01T00:00:00Z\n")
	d.agent, d.manager, d.mate, d.stranger = d.hire("agent_ann", "worker", "team_pay"), d.hire("agent_mo", "manager", "team_pay"), d.hire("agent_max", "worker", "team_pay"), d.hire("agent_zoe", "worker", "team_other")
	made, err := runs.Create(ctx, d.w, d.project, d.agent, "codex")
	must(t, err)
	d.run = made.RunID
	d.supervisor = &granttest.Supervisor{Now: func() time.Time { return time.Unix(d.now.Load(), 0) }, Who: grant.Identity{
		WorkspaceDir: d.dir, ProjectID: d.project, RunID: d.run, SessionRef: "local_" + d.run, AgentID: d.agent, WorkingDir: "/repo",
		PermissionLevel: "patch", Mode: "default", Interactive: true,
	}}
	if change != nil {
		change(d, &d.supervisor.Who)
	}
	d.connect()
	return d
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d *desk) put(name, text string) {
	d.t.Helper()
	file := filepath.Join(d.dir, filepath.FromSlash(name))
	must(d.t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(d.t, os.WriteFile(file, []byte(text), 0o644))
}

func (d *desk) hire(id, role, team string) string {
	d.t.Helper()
	d.put("org/agents/"+id+"/agent.yaml", fmt.Sprintf("schema_version: 1\ntype: agent\nid: %s\nname: %s\nrole: %s\nprovider: codex\nteam_id: %s\ncreated_at: 2026-01-01T00:00:00Z\n", id, strings.TrimPrefix(id, "agent_"), role, team))
	return id
}

func (d *desk) task(id, visibility, assignee, status string) string {
	d.t.Helper()
	d.put(workspace.TaskFile(d.project, id), fmt.Sprintf("---\nschema_version: 1\ntype: task\nid: %s\nproject_id: %s\ntitle: Task %s\ncreated_at: 2026-01-01T00:00:00Z\nstatus: %s\nvisibility: %s\nteam_id: team_pay\nassignee_agent_id: %s\n"+
		"schedule: {planned_start: 2026-02-01}\nmilestones:\n  - {id: ms_1, title: First, kind: coding, status: ready, acceptance_criteria: [it works]}\n---\n\n## Contract\n\nDo it.\n\n## Milestones\n", id, d.project, id, status, visibility, assignee))
	return id
}

// connect serves the tools and connects an SDK client to them.
func (d *desk) connect() {
	d.t.Helper()
	sockets, err := os.MkdirTemp("", "ac-m") // socket paths have a length limit
	must(d.t, err)
	d.t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	host := company.New(company.Options{Env: workspace.SystemEnv(), Executable: "/nowhere/ac"})
	granted, err := grant.Open(d.t.Context(), d.supervisor.Serve(d.t, sockets))
	must(d.t, err)
	fromAgent, agentOut := io.Pipe()
	agentIn, toAgent := io.Pipe()
	served := make(chan error)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := (&mcp.Server{Host: host, Client: granted, Version: "1"}).Toolbox().Serve(ctx, fromAgent, toAgent)
		_ = toAgent.Close()
		served <- err
	}()
	agent := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { d.progress <- r.Params.Message },
	})
	d.client, err = agent.Connect(d.t.Context(), &sdk.IOTransport{Reader: agentIn, Writer: agentOut}, nil)
	must(d.t, err)
	d.t.Cleanup(func() {
		_ = d.client.Close()
		_ = agentOut.Close()
		if err := <-served; err != nil {
			d.t.Error(err)
		}
		cancel()
		if err := host.Close(); err != nil {
			d.t.Error(err)
		}
		_ = granted.Close()
	})
}

// call calls a tool. It returns the data of the result, or the text of a refusal.
func (d *desk) call(name string, arguments object) (data object, refusal string) {
	d.t.Helper()
	result, err := d.client.CallTool(d.t.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	if len(result.Content) != 1 {
		d.t.Fatalf("%s: %d parts", name, len(result.Content))
	}
	text, ok := result.Content[0].(*sdk.TextContent)
	if !ok {
		d.t.Fatalf("%s: %T", name, result.Content[0])
	}
	if result.IsError {
		return nil, text.Text
	}
	must(d.t, json.Unmarshal([]byte(text.Text), &data))
	if diff := cmp.Diff(data, result.StructuredContent); diff != "" {
		d.t.Errorf("%s: text (-) and data (+) differ: %s", name, diff)
	}
	return data, ""
}

func (d *desk) must(name string, arguments object) object {
	d.t.Helper()
	data, refusal := d.call(name, arguments)
	if refusal != "" {
		d.t.Fatalf("%s %v: %s", name, arguments, refusal)
	}
	return data
}

func (d *desk) refused(name string, arguments object, want string) {
	d.t.Helper()
	if _, refusal := d.call(name, arguments); !strings.HasPrefix(refusal, want) {
		d.t.Errorf("%s %v: %q, want %s", name, arguments, refusal, want)
	}
}

// logged returns the payloads of the events of a type in the run's log.
func (d *desk) logged(kind string) (payloads []string) {
	d.t.Helper()
	text, err := d.w.Read(workspace.LogFile(d.project, d.run))
	must(d.t, err)
	for line := range strings.Lines(string(text)) {
		if events.Type([]byte(line)) != kind {
			continue
		}
		must(d.t, canonjson.Members([]byte(strings.TrimSpace(line)), func(m canonjson.Member) {
			if string(m.Key) == "payload" {
				payloads = append(payloads, string(m.Value))
			}
		}))
	}
	return payloads
}

func pick(o any, path ...string) any {
	for _, step := range path {
		o = o.(object)[step]
	}
	return o
}
