package rpc

// The method table: every method, its scope, and its typed handler.

import (
	"context"
	"reflect"
	"sync"

	"ac/company"
	"ac/company/decisions"
	"ac/company/equipment"
	"ac/company/maintenance"
	"ac/company/orchestration"
	"ac/company/provisioning"
	"ac/company/workforce"
	"ac/internal/fault"
	"ac/internal/param"
	"ac/workspace"
)

// Access determines how a method is ordered among other requests.
type Access string

// The kinds of access. A read waits for earlier writes to what it reads. Writes run one by one in
// order of arrival. A wait has a short first step like a read and then blocks no one. An inline
// method without a workspace or subscription is served before the next request is read. Other
// inline methods wait for earlier writes on their keys, and later requests on these keys wait for
// them.
const (
	Read   Access = "read"
	Write  Access = "write"
	Wait   Access = "wait"
	Inline Access = "inline"
)

// Method is one entry of the table.
type Method struct {
	Name    string
	Summary string
	Access  Access
	// Streams marks methods that send notifications to a client. One-shot calls cannot use them.
	Streams bool
	// Index is the method's access to the chain of index jobs of its workspace, empty if it uses
	// none.
	Index Access

	params  func() *param.Decoder
	result  reflect.Type
	prepare func(decoder *param.Decoder, raw []byte) (scope requestScope, run runner, err error)
}

// runner runs a request with decoded params.
type runner func(ctx context.Context, all *company.Host) (any, error)

// inWorkspace is implemented by the params of methods that name a workspace.
type inWorkspace interface{ InWorkspace() string }

// ofSubscription is implemented by the params of methods that may name a
// subscription.
type ofSubscription interface{ OfSubscription() string }

// readsToo is implemented by the params of methods that read other workspaces
// besides the one they write.
type readsToo interface{ Reads() []string }

// requestScope is what a request names, "" for nothing.
type requestScope struct {
	dir, subscription string
	// canonical is the canonical path of dir, resolved once per request.
	canonical string
	reads     []string // besides dir
}

// dependsOn returns the keys that the request waits for but does not hold: later requests on them
// do not wait for it.
func (t requestScope) dependsOn() (keys []string) {
	for _, dir := range t.reads {
		keys = append(keys, workspace.Canonical(dir))
	}
	return keys
}

// keys returns the keys of a request in the order. Only subscriptions exist without a workspace.
// Any other request without a workspace conflicts with all workspaces.
func (t requestScope) keys() (keys []string) {
	if t.subscription != "" {
		keys = append(keys, subscriptionKey+t.subscription)
	}
	if t.dir != "" {
		keys = append(keys, t.canonical)
	}
	if keys == nil {
		keys = append(keys, everywhere)
	}
	return keys
}

// on makes the entry of a method. The receiver of its operation determines the target: the host, a
// folder, or an opened workspace.
func on[S company.Target, P, R any](name string, access Access, op func(S, context.Context, P) (R, error), summary string) Method {
	return entry(name, access, summary, reflect.TypeFor[P](), reflect.TypeFor[R](),
		func(ctx context.Context, all *company.Host, folder *company.Folder, params any) (any, error) {
			target, err := company.Reach[S](ctx, all, folder)
			if err != nil {
				return nil, err
			}
			return op(target, ctx, *params.(*P))
		})
}

// entry makes the entry of a method. call runs the operation with a pointer to params. It is
// separate from on because the compiler copies the generic code for each method.
func entry(name string, access Access, summary string, params, result reflect.Type,
	call func(ctx context.Context, all *company.Host, folder *company.Folder, params any) (any, error)) Method {
	return Method{
		Name: name, Access: access, Summary: summary, result: result,
		params: sync.OnceValue(func() *param.Decoder { return param.NewDecoder(params) }),
		prepare: func(decoder *param.Decoder, raw []byte) (scope requestScope, run runner, err error) {
			p := reflect.New(params).Interface()
			if err := decoder.Decode(raw, p); err != nil {
				return scope, nil, err
			}
			scope = scopeOf(p)
			return scope, func(ctx context.Context, all *company.Host) (any, error) {
				folder := all.At(scope.dir, scope.canonical)
				result, err := call(ctx, all, folder, p)
				return result, folder.WithCallerPaths(err)
			}, nil
		},
	}
}

// scopeOf returns what decoded params name.
func scopeOf(params any) (scope requestScope) {
	if named, ok := params.(inWorkspace); ok && named.InWorkspace() != "" {
		scope.dir = named.InWorkspace()
		scope.canonical = workspace.Canonical(scope.dir)
	}
	if named, ok := params.(ofSubscription); ok {
		scope.subscription = named.OfSubscription()
	}
	if others, ok := params.(readsToo); ok {
		scope.reads = others.Reads()
	}
	return scope
}

func streams(m Method) Method {
	m.Streams = true
	return m
}

// builds marks methods that update the index. Methods that list the index wait for them.
func builds(m Method) Method {
	m.Index = Write
	return m
}

// lists marks methods that read the current index.
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
		on("system.ping", Inline, ping, "Check that the server is alive."),
		on("system.capabilities", Inline, t.capabilities(version), "Return the methods, limits and protocol versions of this server."),

		on("server.health", Inline, (*company.Host).Health, "Return the identity of this process, what it serves, and what is wrong with it."),

		on("workspace.open", Read, maintenance.Folder.Open, "Report whether a folder is a valid workspace, with its issues."),
		on("workspace.init", Write, provisioning.Folder.Init, "Make a folder a workspace."),
		on("workspace.validate", Read, maintenance.Folder.Validate, "Validate every document of a workspace."),
		on("workspace.mend", Write, maintenance.Folder.MendAs, "Repair what can be repaired of a workspace without loss."),
		on("workspace.doctor", Wait, maintenance.Folder.Doctor, "Diagnose a workspace and recommend a fix for each finding."),
		on("workspace.diagnostics", Wait, maintenance.Folder.Diagnostics, "Write a diagnostics bundle without secrets."),
		on("workspace.projects.list", Write, (*company.Folder).Projects, "List the projects with their counts, newest first."),
		on("workspace.agents.list", Read, (*company.Folder).Agents, "List the agents by name."),
		on("workspace.teams.list", Read, (*company.Folder).Teams, "List the teams by name."),
		on("workspace.bootstrap.enterprise", Write, provisioning.Folder.BootstrapEnterprise, "Create a company of departments, or what is missing of one."),
		on("workspace.enterprise.ensure_defaults", Write, provisioning.Folder.EnsureEnterprise, "Create a company of departments if there is no company yet."),
		on("workspace.project.create_with_defaults", Write, workforce.Operations.CreateProject, "Create a project with its secretary and conversations."),
		on("workspace.project.link_repo", Write, workforce.Operations.LinkRepo, "Link a repository to a project."),
		on("workspace.repo_root.set", Write, workforce.Operations.SetRepoRoot, "Map a repository to a directory of this machine."),
		on("workspace.migrate", Write, maintenance.Operations.Migrate, "Seal the events of older programs; logs whose seals do not match are skipped."),
		on("workspace.export", Write, provisioning.Folder.Export, "Copy a workspace to another place, atomically."),
		on("workspace.import", Write, provisioning.Folder.Import, "Make a workspace from a copy of one."),

		on("worktree.cleanup", Wait, decisions.Operations.CleanUpWorktrees, "Remove the worktrees of finished runs."),

		on("mcp.server.list", Read, equipment.Operations.ListMCPServers, "List the MCP servers that agents get, without their secrets."),
		on("mcp.server.put", Write, equipment.Operations.PutMCPServer, "Add an MCP server, or change the given members of one; it counts from the next launch on."),
		on("mcp.server.remove", Write, equipment.Operations.RemoveMCPServer, "Remove an MCP server with its secrets."),
		on("mcp.server.replace", Write, equipment.Operations.ReplaceMCPServers, "Make the given MCP servers all that there are, or change nothing."),

		on("model.profile.list", Read, equipment.Operations.ListModelProfiles, "List the model profiles, without their keys."),
		on("model.profile.put", Write, equipment.Operations.PutModelProfile, "Add a model profile, or change the given members of one."),
		on("model.profile.remove", Write, equipment.Operations.RemoveModelProfile, "Remove a model profile with its key."),
		on("model.profile.set_default", Write, equipment.Operations.SetDefaultModelProfile, "Set the profile that clients offer first; launches do not apply it by themselves."),
		on("model.profile.probe", Wait, equipment.Operations.ProbeModelProfile, "Ask the server of a profile which models it has; only hosts that were allowed."),

		on("skill.list", Read, equipment.Operations.ListSkills, "List the skills that agents find in a repository, and the built-in commands."),
		on("skill.read", Read, equipment.Operations.ReadSkill, "Return the text of a skill."),
		on("terminal.list", Inline, equipment.Operations.ListTerminals, "List the consoles that this process has of a workspace."),
		on("terminal.shells", Read, equipment.Operations.Shells, "List the shells that consoles are offered."),
		on("terminal.create", Write, equipment.Operations.CreateTerminal, "Start a shell in a new console."),
		streams(on("terminal.attach", Inline, equipment.Operations.AttachTerminal, "Stream the output of a console from a cursor on.")),
		streams(on("terminal.detach", Inline, equipment.Operations.DetachTerminal, "End a subscription to a console.")),
		on("terminal.read", Read, equipment.Operations.ReadTerminal, "Return output of a console from a cursor on, and wait for some."),
		on("terminal.write", Inline, equipment.Operations.WriteTerminal, "Type into a console."),
		on("terminal.resize", Inline, equipment.Operations.ResizeTerminal, "Change the size of a console."),
		on("terminal.rename", Inline, equipment.Operations.RenameTerminal, "Change the title of a console."),
		on("terminal.close", Write, equipment.Operations.CloseTerminal, "End a console with everything that it started."),

		on("run.create", Write, orchestration.Operations.CreateRun, "Create a run with its context pack."),
		on("run.list", Read, (*company.Folder).ListRuns, "List the runs, newest first."),
		on("workflow.list", Read, orchestration.Operations.ListWorkflows, "List the workflow templates of the workspace."),
		on("workflow.get", Read, orchestration.Operations.GetWorkflow, "Show a workflow template."),
		on("workflow.check", Read, orchestration.Operations.CheckWorkflow, "Check a workflow template, and which agents it would have; starts nothing."),
		on("workflow.put", Write, orchestration.Operations.PutWorkflow, "Write a workflow template."),
		on("workflow.run", Write, orchestration.Operations.RunWorkflow, "Start a run of a workflow."),
		on("workflow.status", Read, orchestration.Operations.StatusOfWorkflow, "Show a run of a workflow."),
		on("workflow.runs", Read, orchestration.Operations.ListWorkflowRuns, "List the runs of workflows of a project, newest first."),
		on("workflow.continue", Write, orchestration.Operations.ContinueWorkflow, "Run the flow of a finished run once more, over the same record."),
		on("workflow.cancel", Write, orchestration.Operations.CancelWorkflow, "Cancel a run of a workflow."),
		on("run.start", Wait, orchestration.Operations.StartRun, "Make a run and launch it, or do neither; with dry_run, say what would be done."),
		on("run.retry", Wait, orchestration.Operations.RetryRun, "Start a run like one that is over."),
		on("run.discard", Write, orchestration.Operations.DiscardRun, "End a run that was created and never launched."),
		on("run.land", Write, decisions.Operations.LandRun, "Bring the work of a run into a branch of its repository as one commit."),
		on("run.replay", Read, orchestration.Operations.Replay, "Return the log of a run, verified on request."),
		on("run.transcript", Read, orchestration.Operations.Transcript, "Return the transcript of a run: messages, tool calls, questions and notices."),
		on("run.output", Read, orchestration.Operations.Output, "Return what a run printed, readable or raw, by offsets."),
		on("run.changes", Read, decisions.Operations.Changes, "Return what a run changed in its worktree, with diffs."),
		on("sharepack.replay", Read, workforce.Operations.ReplaySharePack, "Return the logs in a share pack, verified on request."),

		on("run.review", Wait, orchestration.Operations.Review, "Write comments on what a run changed, and send them to its agent."),
		on("artifact.read", Write, decisions.Operations.ReadArtifact, "Return an artifact, if the actor may see it."),
		on("artifact.list", Read, decisions.Operations.ListFiles, "List the files that a run or a job proposes, compared with their target."),
		on("artifact.preview", Read, decisions.Operations.PreviewFiles, "Show what applying proposed files would change, with diffs."),
		on("artifact.apply", Write, decisions.Operations.ApplyFiles, "Apply proposed files, all or none."),
		on("artifact.revert", Write, decisions.Operations.RevertFiles, "Put files back as they were before they were applied."),
		on("artifact.checkpoints", Read, decisions.Operations.Checkpoints, "List what was applied in a project, newest first."),
		on("memory.propose_delta", Write, decisions.Operations.ProposeDelta, "Propose lines for a memory."),
		on("memory.list_deltas", Read, decisions.Operations.ListDeltas, "List the memory deltas that the actor may read, newest first."),
		on("memory.preview_delta", Read, decisions.Operations.PreviewDelta, "Show what approving a proposal would change now."),
		on("memory.approve_delta", Write, decisions.Operations.ApproveDelta, "Apply a proposal to its memory."),
		on("inbox.list_reviews", Read, decisions.Folder.ListReviews, "List the decisions, newest first."),

		on("session.launch", Write, orchestration.Operations.Launch, "Launch the session of a run; it outlives the server."),
		on("session.list", Read, (*company.Host).ListSessions, "List the sessions, newest first."),
		on("session.poll", Read, (*company.Host).PollSession, "Return the current state of a session."),
		on("session.collect", Wait, (*company.Host).CollectSession, "Wait for the end of a session."),
		on("run.continue", Wait, orchestration.Operations.Continue, "Continue a run that is over or idle."),
		on("run.steer", Write, orchestration.Operations.Steer, "Send a message to the agent of a run."),
		on("run.interrupt", Write, orchestration.Operations.Interrupt, "Stop the turn of a run."),
		on("run.compact", Write, orchestration.Operations.Compact, "Make the conversation of a run's agent smaller."),
		on("run.attach", Write, orchestration.Operations.Attach, "Keep a file beside a run, for texts to name."),
		on("run.plan.clear", Write, orchestration.Operations.ClearPlan, "Clear the displayed plan of a run's agent."),
		on("run.policy.get", Read, orchestration.Operations.RunPolicy, "Return the policy that answers the requests of a run's agent."),
		on("run.policy.set", Write, orchestration.Operations.SetRunPolicy, "Change the policy of a run; open requests are decided again."),
		on("interaction.respond", Write, orchestration.Operations.Respond, "Answer a request of a run's agent."),
		on("session.stop", Write, (*company.Host).StopSession, "Stop a session."),
		on("session.abandon", Write, orchestration.Operations.AbandonSession, "Give up a session whose machine cannot be reached."),

		on("hub.status", Read, orchestration.Operations.HubStatus, "Return whether the hub runs, which executes sessions on other machines, and how it does."),
		on("hub.config", Write, orchestration.Operations.ConfigureHub, "Change settings of the hub, and return all of them."),
		on("worker.list", Read, orchestration.Operations.ListWorkers, "List the machines that execute sessions for the hub, by name."),
		on("worker.invite", Write, orchestration.Operations.InviteWorker, "Invite a machine to execute sessions, and return the token to join with."),
		on("worker.update", Write, orchestration.Operations.UpdateWorker, "Change the name, the labels or the slots of a worker."),
		on("worker.drain", Write, orchestration.Operations.DrainWorker, "Say whether a worker takes new sessions."),
		on("worker.revoke", Write, orchestration.Operations.RevokeWorker, "End a worker for good, and the sessions that it has."),

		on("interaction.list", Read, orchestration.Operations.ListInteractions, "List the requests of agents to people, open ones first."),
		on("interaction.get", Read, orchestration.Operations.Interaction, "Return one interaction, from the log of its run."),

		on("policy.defaults.get", Read, orchestration.Operations.PolicyDefaults, "Return the preferred mode of a project's runs."),
		on("policy.defaults.set", Write, orchestration.Operations.SetPolicyDefaults, "Set the preferred mode of a project's runs; launches do not apply it by themselves."),

		on("pm.snapshot", Read, workforce.Operations.Plan, "Return the portfolio, and the schedule of a project with its critical path."),
		on("pm.recommend_allocations", Read, workforce.Operations.Recommend, "Recommend agents for the open tasks of a project."),
		on("pm.apply_allocations", Write, workforce.Operations.Apply, "Assign tasks to agents, all of them or none."),
		on("workspace.home.snapshot", Read, workforce.Operations.HomeSnapshot, "Return the home of a company."),
		on("desktop.bootstrap.snapshot", Write, workforce.Operations.Desktop, "Return everything that the desktop app shows, as one snapshot."),

		on("conversation.list", Write, workforce.Operations.Conversations, "List the conversations of a company or of a project."),
		on("conversation.create_channel", Write, workforce.Operations.CreateChannel, "Create a channel."),
		on("conversation.create_dm", Write, workforce.Operations.CreateDM, "Return the direct messages of two, created if there are none."),
		on("conversation.messages.list", Read, workforce.Operations.Messages, "List the newest messages of a conversation."),
		on("conversation.message.send", Write, workforce.Operations.Send, "Send a message to a conversation."),
		on("conversation.members.sync", Write, workforce.Operations.SyncMembers, "Bring the default conversations of a project up to date."),
		on("ui.resolve", Write, decisions.Operations.ResolveUI, "Decide as inbox.resolve does, and return the screen afterwards."),
		on("inbox.resolve", Write, decisions.Operations.Resolve, "Approve or deny an item that waits for a decision."),
		on("inbox.list_help_requests", Read, decisions.Folder.ListHelpRequests, "List the help requests, newest first."),
		on("inbox.resolve_many", Write, decisions.Operations.ResolveMany, "Decide on several items, each by itself."),
		on("artifact.evidence", Read, decisions.Operations.Evidence, "Return the evidence of a milestone report, and what the milestone asks for."),
		on("needs.list", Read, decisions.Operations.ListNeeds, "List what waits for a person: requests, items to decide, runs that failed."),
		on("needs.get", Read, decisions.Operations.Need, "Return one thing that waits, with what is to be looked at before acting on it."),
		on("needs.dismiss", Write, decisions.Operations.DismissNeeds, "Set runs that failed, or went wrong in another way, aside."),
		on("needs.restore", Write, decisions.Operations.RestoreNeeds, "Bring dismissed needs back."),
		on("help.get", Write, decisions.Operations.Help, "Return a help request with its question and its response."),
		on("help.answer", Write, decisions.Operations.AnswerHelp, "Answer a help request, and notify the agent that asked."),
		on("milestone.approve", Write, decisions.Operations.ApproveMilestone, "Approve a milestone by its report and its evidence."),

		on("agent.record_mistake", Write, workforce.Operations.RecordMistake, "Count a mistake of an agent; a recurring one becomes a rule of its guidance."),
		on("agent.self_improve_cycle", Write, workforce.Operations.Improve, "Count a mistake, evaluate it in a run and propose a rule against it; waits for the evaluation."),
		on("agent.refresh_context", Write, workforce.Operations.RefreshContext, "Update the index of an agent's work in its guidance."),
		on("task.list", Read, workforce.Operations.ListTasks, "List the tasks of a project with their milestones, newest first."),
		on("task.get", Read, workforce.Operations.Task, "Return a task with its text, its milestones and its runs."),
		on("task.create", Write, workforce.Operations.CreateTask, "Create a draft task."),
		on("task.update_plan", Write, workforce.Operations.UpdatePlan, "Change the schedule and the assignee of a task."),
		on("pipeline.client_intake.run", Write, workforce.Operations.TakeInClient, "Set up a project with plans that wait for the CEO's approval."),
		on("pipeline.department.assign_tasks", Write, workforce.Operations.AssignTasks, "Assign the work of an approved plan to the workers of a department."),
		on("context.plan_for_job", Read, decisions.Operations.PlanContext, "Plan the context of a job, with the reason for each reference."),
		on("memory.extract_candidates", Write, decisions.Operations.ExtractCandidates, "Suggest memory from the results of a job; nothing is proposed."),
		on("code.explain", Write, decisions.Operations.ExplainCode, "Have an agent explain code; a job that only reads."),
		on("code.review", Write, decisions.Operations.ReviewCode, "Have an agent review code."),
		on("code.refactor", Write, decisions.Operations.RefactorCode, "Have an agent propose a better form of code; artifact.apply writes it."),
		on("code.generate_tests", Write, decisions.Operations.GenerateTests, "Have an agent propose tests of code; artifact.apply writes them."),
		on("code.scan", Write, decisions.Operations.ScanCode, "Have an agent look through a repository for technical debt, or for what is out of date."),
		on("feedback.submit", Write, orchestration.Operations.SubmitFeedback, "Record what a person thought of a run."),
		on("job.submit", Write, (*company.Company).SubmitJob, "Submit a job to a worker; it outlives the server."),
		on("job.list", Read, (*company.Folder).ListJobs, "List the jobs of a project by id, or the newest first."),
		on("job.poll", Read, (*company.Company).PollJob, "Return the current state of a job."),
		on("job.collect", Read, (*company.Company).CollectJob, "Return the current state of a job, with its result."),
		on("job.cancel", Write, (*company.Company).CancelJob, "Cancel a job and stop its session."),

		on("heartbeat.status", Read, orchestration.Operations.HeartbeatStatus, "Return the heartbeat's config, state and runtime status."),
		on("heartbeat.tick", Write, orchestration.Operations.Tick, "Wake the workers who have something to do, and carry out their actions."),
		on("heartbeat.config.get", Read, orchestration.Operations.HeartbeatConfig, "Return the effective config of the heartbeat."),
		on("heartbeat.config.set", Write, orchestration.Operations.SetHeartbeatConfig, "Change the config of the heartbeat."),

		builds(on("index.rebuild", Read, maintenance.Operations.RebuildIndex, "Rebuild the index from the files.")),
		builds(on("index.sync", Read, maintenance.Operations.SyncIndex, "Bring the index up to date with the files.")),
		lists(on("index.stats", Read, maintenance.Operations.IndexStats, "Count the rows of the index.")),
		lists(on("index.list_runs", Read, maintenance.Operations.IndexRuns, "List the runs in the index, newest first.")),
		lists(on("index.list_events", Read, maintenance.Operations.IndexEvents, "List the events of one run or of many.")),
		lists(on("index.list_event_parse_errors", Read, maintenance.Operations.IndexParseErrors, "List the lines of logs that are not events.")),
		lists(on("index.list_reviews", Read, maintenance.Operations.IndexReviews, "List the reviews in the index, newest first.")),
		lists(on("index.list_help_requests", Read, maintenance.Operations.IndexHelpRequests, "List the help requests in the index, newest first.")),

		on("adapter.status", Wait, equipment.Operations.Adapters, "Report which agent CLIs this machine has."),

		on("index.sync_worker_status", Inline, (*company.Host).SyncWorkerStatus, "Return the status of the worker that keeps the indexes up to date."),
		on("index.sync_worker_flush", Wait, (*company.Host).FlushSyncWorker, "Bring the indexes up to date with all noticed changes, now."),

		on("monitor.snapshot", Read, (*company.Company).Monitor, "List the runs with their sessions and the latest events."),
		on("inbox.snapshot", Read, (*company.Company).Inbox, "List the items that wait for a decision, and the decisions."),
		on("usage.analytics", Read, (*company.Company).Usage, "Report the usage of runs, in total and for each run."),
		on("usage.report", Read, workforce.Operations.UsageReport, "Report what was used by day, model, project, agent and provider."),
		on("resources.snapshot", Read, (*company.Company).Resources, "Report the workforce, its work and its cost."),
		on("usage.series", Read, workforce.Operations.UsageSeries, "Report usage over time, with what was reported, rated and estimated apart."),
		on("usage.reconciliation.record", Write, workforce.Operations.RecordStatement, "Record a bill of a provider."),
		on("usage.reconciliation.snapshot", Read, workforce.Operations.Reconciliation, "Compare the bills of providers with the usage of runs."),
		on("search.query", Read, (*company.Company).Search, "Find runs, tasks, people, artifacts, messages and comments by words."),
		on("room.read", Read, (*company.Company).ReadRoom, "Return the rows that people look at all day: runs, needs, people, projects, counts."),
		on("agent.profile.snapshot", Read, (*company.Company).Profile, "Return one agent with its figures."),
		on("ui.snapshot", Read, (*company.Company).UI, "Return a manager's screen, as one snapshot."),

		on("comment.add", Write, decisions.Operations.AddComment, "Comment on an agent, an artifact or a run."),
		on("comment.list", Read, decisions.Folder.ListComments, "List the comments of a project, newest first."),

		on("events.replay", Read, orchestration.Operations.ReplayEvents, "Return the events of a run from a seq on, in pages."),
		streams(on("events.subscribe", Inline, (*company.Host).Subscribe, "Stream events as they happen, after a backfill of recent ones.")),
		streams(on("events.unsubscribe", Inline, (*company.Host).Unsubscribe, "End a subscription.")),
		streams(on("room.subscribe", Inline, (*company.Company).SubscribeRoom, "Stream the rows that people look at all day: all of them, then what changes.")),
		streams(on("room.unsubscribe", Inline, (*company.Host).Unsubscribe, "End a subscription to the room.")),
		streams(on("events.ack", Inline, (*company.Host).Ack, "Acknowledge the events of a subscription up to a point.")),
	}
	for i := range t.methods {
		t.byName[t.methods[i].Name] = &t.methods[i]
	}
	return t
}

// Methods lists the table in its order.
func (t *Table) Methods() []Method { return t.methods }

// Access returns a method's access, "" for an unknown method.
func (t *Table) Access(method string) Access {
	if m := t.byName[method]; m != nil {
		return m.Access
	}
	return ""
}

// Params lists the names of a method's params in order, nil for an unknown
// method.
func (t *Table) Params(method string) []string {
	m := t.byName[method]
	if m == nil {
		return nil
	}
	return m.params().Names()
}

// Nothing is the params of methods without params.
type Nothing struct{}

func ping(*company.Host, context.Context, Nothing) (company.OK, error) { //nolint:revive // called as methods are
	return company.OK{OK: true}, nil
}

// Call serves one request outside a server, without subscriptions. ToWire maps
// its error.
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

// shuttingDown is the answer to requests that still wait at shutdown.
func shuttingDown() error { return fault.New(fault.ShuttingDown, "the server is shutting down") }
