package rpc

// The method table: every method, what it touches, and its typed handler.

import (
	"context"
	"reflect"
	"sync"

	"ac/company"
	"ac/internal/fault"
	"ac/internal/param"
	"ac/workspace"
)

// Access is how a method takes part in the order of requests.
type Access string

// The kinds of access. Reads wait for earlier writes of what they read; writes
// run one by one in order of arrival; waits take a short first step like a read
// and then hold nothing; inline methods are served on the spot where they touch
// nothing that others have to finish first, and before the next request on what
// they touch.
const (
	Read   Access = "read"
	Write  Access = "write"
	Wait   Access = "wait"
	Inline Access = "inline"
)

// Method is one line of the table.
type Method struct {
	Name    string
	Summary string
	Access  Access
	// Streams marks methods that need a client that listens; one-shot calls do
	// not have them.
	Streams bool
	// Index says how the method takes part in the order of what concerns the
	// index of its workspace; empty where it does not.
	Index Access

	params  func() *param.Decoder
	result  reflect.Type
	prepare func(decoder *param.Decoder, raw []byte) (touches touched, run runner, err error)
}

// runner carries a request out whose params are decoded.
type runner func(ctx context.Context, all *company.Host) (any, error)

// inWorkspace is implemented by the params of methods that name a workspace.
type inWorkspace interface{ InWorkspace() string }

// ofSubscription is implemented by the params of methods that may name a
// subscription.
type ofSubscription interface{ OfSubscription() string }

// readsToo is implemented by the params of methods that read other workspaces
// than the one they write.
type readsToo interface{ Reads() []string }

// touched is what a request names, "" for nothing.
type touched struct {
	dir, subscription string
	// place is the directory that dir leads to; resolved once for each request.
	place string
	reads []string // beside dir
}

// behind are the places whose earlier changes a request waits for without
// taking one there.
func (t touched) behind() (keys []string) {
	for _, dir := range t.reads {
		keys = append(keys, workspace.Canonical(dir))
	}
	return keys
}

// keys are the places of a request in the order. Only subscriptions live without
// a workspace; whatever else names none concerns them all.
func (t touched) keys() (keys []string) {
	if t.subscription != "" {
		keys = append(keys, subscriptionKey+t.subscription)
	}
	if t.dir != "" {
		keys = append(keys, t.place)
	}
	if keys == nil {
		keys = append(keys, everywhere)
	}
	return keys
}

// on makes the entry of a method. What it works on is that which its operation names:
// everything, a folder, or the workspace in one, opened.
func on[S company.Place, P, R any](name string, access Access, op func(S, context.Context, P) (R, error), summary string) Method {
	return Method{
		Name: name, Access: access, Summary: summary, result: reflect.TypeFor[R](),
		params: sync.OnceValue(func() *param.Decoder { return param.NewDecoder(reflect.TypeFor[P]()) }),
		prepare: func(decoder *param.Decoder, raw []byte) (touches touched, run runner, err error) {
			var p P
			if err := decoder.Decode(raw, &p); err != nil {
				return touches, nil, err
			}
			if named, ok := any(p).(inWorkspace); ok && named.InWorkspace() != "" {
				touches.dir = named.InWorkspace()
				touches.place = workspace.Canonical(touches.dir)
			}
			if named, ok := any(p).(ofSubscription); ok {
				touches.subscription = named.OfSubscription()
			}
			if others, ok := any(p).(readsToo); ok {
				touches.reads = others.Reads()
			}
			return touches, func(ctx context.Context, all *company.Host) (any, error) {
				place, err := company.Reach[S](ctx, all, all.At(touches.dir, touches.place))
				if err != nil {
					return nil, err
				}
				return op(place, ctx, p)
			}, nil
		},
	}
}

func streams(m Method) Method {
	m.Streams = true
	return m
}

// builds marks methods that bring the index up to date: those that list it wait
// for them.
func builds(m Method) Method {
	m.Index = Write
	return m
}

// lists marks methods that read the index as it is.
func lists(m Method) Method {
	m.Index = Read
	return m
}

// Table is the methods by name. It is immutable and safe for concurrent use.
type Table struct {
	methods []Method
	byName  map[string]*Method
}

// NewTable makes the table of all methods.
func NewTable(version string) *Table {
	t := &Table{byName: map[string]*Method{}}
	t.methods = []Method{
		on("system.ping", Inline, ping, "Answer at once; for clients that look whether the server is there."),
		on("system.capabilities", Inline, t.capabilities(version), "What this server is and can do."),

		on("workspace.open", Read, (*company.Folder).Open, "The state of a folder: valid, or what is wrong with it."),
		on("workspace.init", Write, (*company.Folder).Init, "Make a folder a workspace."),
		on("workspace.validate", Read, (*company.Folder).Validate, "Check every document of a workspace."),
		on("workspace.doctor", Wait, (*company.Folder).Doctor, "Look a workspace over, and say in plain words what to do."),
		on("workspace.diagnostics", Wait, (*company.Folder).Diagnostics, "Make a bundle of diagnostics without secrets."),
		on("workspace.projects.list", Write, (*company.Folder).Projects, "The projects with their counts, the newest first."),
		on("workspace.agents.list", Read, (*company.Folder).Agents, "The agents by name."),
		on("workspace.teams.list", Read, (*company.Folder).Teams, "The teams by name."),
		on("workspace.bootstrap.enterprise", Write, (*company.Folder).BootstrapEnterprise, "Make a company of departments, or what is missing of one."),
		on("workspace.enterprise.ensure_defaults", Write, (*company.Folder).EnsureEnterprise, "Make a company of departments where there is no company yet."),
		on("workspace.project.create_with_defaults", Write, (*company.Company).CreateProject, "Make a project with its secretary and conversations."),
		on("workspace.project.link_repo", Write, (*company.Company).LinkRepo, "Tie a repository to a project."),
		on("workspace.repo_root.set", Write, (*company.Company).SetRepoRoot, "Say where a repository lies on this machine."),
		on("workspace.migrate", Write, (*company.Company).Migrate, "Seal the events of older programs; what does not fit its seal stays."),
		on("workspace.export", Write, (*company.Folder).Export, "Copy a workspace to another place, as a whole or not at all."),
		on("workspace.import", Write, (*company.Folder).Import, "Make a workspace from a copy of one."),

		on("worktree.cleanup", Wait, (*company.Company).CleanUpWorktrees, "Remove the worktrees of runs that are over."),

		on("run.create", Write, (*company.Company).CreateRun, "Make a run with its context pack."),
		on("run.list", Read, (*company.Folder).ListRuns, "The runs, the newest first."),
		on("workflow.list", Read, (*company.Company).ListWorkflows, "List the workflow templates of the workspace."),
		on("workflow.get", Read, (*company.Company).GetWorkflow, "Show a workflow template."),
		on("workflow.check", Read, (*company.Company).CheckWorkflow, "Check a workflow template, and which agents it would have; starts nothing."),
		on("workflow.put", Write, (*company.Company).PutWorkflow, "Write a workflow template."),
		on("workflow.run", Write, (*company.Company).RunWorkflow, "Start a run of a workflow."),
		on("workflow.status", Read, (*company.Company).StatusOfWorkflow, "Show a run of a workflow."),
		on("workflow.runs", Read, (*company.Company).ListWorkflowRuns, "List the runs of workflows of a project, newest first."),
		on("workflow.continue", Write, (*company.Company).ContinueWorkflow, "Run the flow of a finished run once more, over the same record."),
		on("workflow.cancel", Write, (*company.Company).CancelWorkflow, "Cancel a run of a workflow."),
		on("run.discard", Write, (*company.Company).DiscardRun, "End a run that was made and never launched."),
		on("run.replay", Read, (*company.Company).Replay, "The log of a run, verified when asked for."),
		on("sharepack.replay", Read, (*company.Company).ReplaySharePack, "The logs in a share pack, verified when asked for."),

		on("artifact.read", Write, (*company.Company).ReadArtifact, "An artifact, for somebody who may see it."),
		on("memory.propose_delta", Write, (*company.Company).ProposeDelta, "Propose lines for a memory."),
		on("memory.list_deltas", Read, (*company.Company).ListDeltas, "The memory deltas that somebody may read, the newest first."),
		on("memory.preview_delta", Read, (*company.Company).PreviewDelta, "What the approval of a proposal would change now."),
		on("memory.approve_delta", Write, (*company.Company).ApproveDelta, "Put proposed lines into their memory."),
		on("inbox.list_reviews", Read, (*company.Folder).ListReviews, "What was decided, the newest first."),

		on("session.launch", Write, (*company.Company).Launch, "Start the session of a run; it outlives the server."),
		on("session.list", Read, (*company.Host).ListSessions, "The sessions, the newest first."),
		on("session.poll", Read, (*company.Host).PollSession, "How a session is now."),
		on("session.collect", Wait, (*company.Host).CollectSession, "Wait for the end of a session."),
		on("session.stop", Write, (*company.Host).StopSession, "Ask a session to stop."),

		on("pm.snapshot", Read, (*company.Company).Plan, "The portfolio, and the schedule of a project with its critical path."),
		on("pm.recommend_allocations", Read, (*company.Company).Recommend, "Who should do the open tasks of a project."),
		on("pm.apply_allocations", Write, (*company.Company).Apply, "Give tasks to agents, all of them or none."),
		on("workspace.home.snapshot", Read, (*company.Company).HomeSnapshot, "The home of a company."),
		on("desktop.bootstrap.snapshot", Write, (*company.Company).Desktop, "Everything that the desktop shows at once, of one moment."),

		on("conversation.list", Write, (*company.Company).Conversations, "The conversations of a company or of a project."),
		on("conversation.create_channel", Write, (*company.Company).CreateChannel, "Make a channel."),
		on("conversation.create_dm", Write, (*company.Company).CreateDM, "Make the conversation of two, or get the one they have."),
		on("conversation.messages.list", Read, (*company.Company).Messages, "The newest messages of a conversation."),
		on("conversation.message.send", Write, (*company.Company).Send, "Say something in a conversation."),
		on("conversation.members.sync", Write, (*company.Company).SyncMembers, "Bring the conversations that a project always has up to date."),
		on("ui.resolve", Write, (*company.Company).ResolveUI, "Decide as inbox.resolve does, and show the screen after it."),
		on("inbox.resolve", Write, (*company.Company).Resolve, "Approve or deny what waits for a decision."),
		on("inbox.list_help_requests", Read, (*company.Folder).ListHelpRequests, "The requests for help, the newest first."),
		on("milestone.approve", Write, (*company.Company).ApproveMilestone, "Approve a milestone by its report and its evidence."),

		on("agent.record_mistake", Write, (*company.Company).RecordMistake, "Count a mistake of an agent; a recurring one becomes a rule of its guidance."),
		on("agent.self_improve_cycle", Write, (*company.Company).Improve, "Count a mistake, evaluate it in a run, propose the rule against it; waits for the evaluation."),
		on("agent.refresh_context", Write, (*company.Company).RefreshContext, "Write into an agent's guidance where what it works on lies."),
		on("task.list", Read, (*company.Company).ListTasks, "The tasks of a project with their milestones, the newest first."),
		on("task.update_plan", Write, (*company.Company).UpdatePlan, "Change when a task is planned and who is to do it."),
		on("pipeline.client_intake.run", Write, (*company.Company).TakeInClient, "Set a project up with plans that wait for the CEO."),
		on("pipeline.department.assign_tasks", Write, (*company.Company).AssignTasks, "Give the workers of a department the work of an approved plan."),
		on("context.plan_for_job", Read, (*company.Company).PlanContext, "What a worker would be told before a job, and why."),
		on("memory.extract_candidates", Write, (*company.Company).ExtractCandidates, "Suggest memory from what a job left; nothing is proposed."),
		on("job.submit", Write, (*company.Company).SubmitJob, "Give a worker a job; it outlives the server."),
		on("job.list", Read, (*company.Folder).ListJobs, "The jobs of a project by id."),
		on("job.poll", Read, (*company.Company).PollJob, "How a job is now."),
		on("job.collect", Read, (*company.Company).CollectJob, "How a job is now, with its result."),
		on("job.cancel", Write, (*company.Company).CancelJob, "Cancel a job and stop what runs of it."),

		on("heartbeat.status", Read, (*company.Company).HeartbeatStatus, "How the heartbeat is: config, state, and what this server knows of it."),
		on("heartbeat.tick", Write, (*company.Company).Tick, "Look who has reason to be woken, wake them, carry out what they ask for."),
		on("heartbeat.config.get", Read, (*company.Company).HeartbeatConfig, "The config of the heartbeat as it counts."),
		on("heartbeat.config.set", Write, (*company.Company).SetHeartbeatConfig, "Change the config of the heartbeat."),

		builds(on("index.rebuild", Read, (*company.Company).RebuildIndex, "Build the index anew.")),
		builds(on("index.sync", Read, (*company.Company).SyncIndex, "Bring the index up to date with the files.")),
		lists(on("index.stats", Read, (*company.Company).IndexStats, "How many rows the index has.")),
		lists(on("index.list_runs", Read, (*company.Company).IndexRuns, "Runs as the index has them, the newest first.")),
		lists(on("index.list_events", Read, (*company.Company).IndexEvents, "Events of one run or of many.")),
		lists(on("index.list_event_parse_errors", Read, (*company.Company).IndexParseErrors, "Lines of logs that are no events.")),
		lists(on("index.list_reviews", Read, (*company.Company).IndexReviews, "Reviews as the index has them, the newest first.")),
		lists(on("index.list_help_requests", Read, (*company.Company).IndexHelpRequests, "Help requests as the index has them, the newest first.")),

		on("adapter.status", Wait, (*company.Company).Adapters, "Which agent CLIs this machine has."),

		on("index.sync_worker_status", Inline, (*company.Host).SyncWorkerStatus, "How the worker is that keeps indexes fresh."),
		on("index.sync_worker_flush", Wait, (*company.Host).FlushSyncWorker, "Bring the indexes up to date with what was noticed, now."),

		on("monitor.snapshot", Read, (*company.Company).Monitor, "The runs with their sessions and what their logs say."),
		on("inbox.snapshot", Read, (*company.Company).Inbox, "What waits for a decision, and what was decided."),
		on("usage.analytics", Read, (*company.Company).Usage, "What runs consumed, in sum and one by one."),
		on("resources.snapshot", Read, (*company.Company).Resources, "Who and what works, and what it costs."),
		on("usage.reconciliation.record", Write, (*company.Company).RecordStatement, "Keep what a provider billed."),
		on("usage.reconciliation.snapshot", Read, (*company.Company).Reconciliation, "What the providers billed, against what the runs say."),
		on("agent.profile.snapshot", Read, (*company.Company).Profile, "One agent with its figures."),
		on("ui.snapshot", Read, (*company.Company).UI, "What a manager's screen shows, all of one moment."),

		on("comment.add", Write, (*company.Company).AddComment, "Say something about an agent, an artifact or a run."),
		on("comment.list", Read, (*company.Folder).ListComments, "What was said in a project, the newest first."),

		streams(on("events.subscribe", Inline, (*company.Host).Subscribe, "Get events as they happen, and the recent ones before.")),
		streams(on("events.unsubscribe", Inline, (*company.Host).Unsubscribe, "End a subscription.")),
		streams(on("events.ack", Inline, (*company.Host).Ack, "Say how far a subscription was read.")),
	}
	for i := range t.methods {
		t.byName[t.methods[i].Name] = &t.methods[i]
	}
	return t
}

// Methods lists the table in its order.
func (t *Table) Methods() []Method { return t.methods }

// Params lists the names of a method's params in their order, none of a method
// that does not exist.
func (t *Table) Params(method string) []string {
	m := t.byName[method]
	if m == nil {
		return nil
	}
	return m.params().Names()
}

// Nothing is the params of methods that take none.
type Nothing struct{}

func ping(*company.Host, context.Context, Nothing) (company.OK, error) { //nolint:revive // called as methods are
	return company.OK{OK: true}, nil
}

// Call carries one request out by itself, as a server without subscriptions
// would. The error is what ToWire maps.
func (t *Table) Call(ctx context.Context, all *company.Host, method string, params []byte) (any, error) {
	m := t.byName[method]
	if m == nil || m.Streams {
		return nil, unknownMethod(method)
	}
	_, run, err := m.prepare(m.params(), params)
	if err != nil {
		return nil, err
	}
	return run(ctx, all)
}

func unknownMethod(name string) error {
	return &WireError{Code: CodeMethodNotFound, Message: "Unknown method: " + name}
}

// shuttingDown is the answer to what still waits when the server ends.
func shuttingDown() error { return fault.New(fault.ShuttingDown, "the server is shutting down") }
