package crashtest

// The mixed writes that clients request from servers until these are killed, and the
// ledger of acknowledged writes.

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
)

// ledger records what servers acknowledged. Its methods are safe for concurrent use.
type ledger struct {
	mu       sync.Mutex
	projects []string
	things   map[string]bool // by the name that a survey gives them
	plans    map[string]plan // by task
	answers  map[string]int  // by method
	runners  int             // killed
}

// plan is what a task's only planning client knows of its plans.
type plan struct{ asked, acknowledged int64 }

func newLedger() *ledger {
	return &ledger{things: map[string]bool{}, plans: map[string]plan{}, answers: map[string]int{}}
}

// name returns the name of a thing in ledger and survey.
func name(words ...string) string { return strings.Join(words, " ") }

func (l *ledger) note(method string, words ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if method != "" { // "" for what the ground itself made
		l.answers[method]++
	}
	if len(words) > 0 {
		l.things[name(words...)] = true
	}
	if len(words) == 2 && words[0] == "project" {
		l.projects = append(l.projects, words[1])
	}
}

func (l *ledger) killedRunner() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runners++
}

func (l *ledger) plan(task string, change func(*plan)) plan {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.plans[task]
	change(&p)
	l.plans[task] = p
	return p
}

// add adds the counts of another workspace's ledger.
func (l *ledger) add(other *ledger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other == nil {
		return
	}
	for method, n := range other.answers {
		l.answers[method] += n
	}
	l.runners += other.runners
}

func (l *ledger) anyProject(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.projects[r.IntN(len(l.projects))]
}

// client sends requests to a server until it is gone. No other client decides in its
// own project or plans its task.
type client struct {
	s          *server
	l          *ledger
	r          *rand.Rand
	dir        string
	executable string
	own, task  string
}

// made has the fields that these tests need from the results of writes.
type made struct {
	ID         string `json:"id"`
	ProjectID  string `json:"project_id"`
	RunID      string `json:"run_id"`
	SessionRef string `json:"session_ref"`
	ArtifactID string `json:"artifact_id"`
	ReviewID   string `json:"review_id"`
	CommentID  string `json:"comment_id"`
	JobID      string `json:"job_id"`
	Message    struct {
		ID string `json:"id"`
	} `json:"message"`
}

// writes returns the requests that a client draws from. Repeated ones are drawn more
// often. Each reports whether the server still answers.
func writes() []func(*client) bool {
	return []func(*client) bool{
		(*client).project, (*client).link, (*client).link, (*client).run, (*client).run, (*client).launch, (*client).launch,
		(*client).comment, (*client).comment, (*client).message, (*client).message, (*client).message, (*client).channel,
		(*client).decide, (*client).decide, (*client).plan, (*client).plan, (*client).sync, (*client).rebuild, (*client).job,
		(*client).job,
	}
}

func (c *client) work() {
	all := writes()
	for all[c.r.IntN(len(all))](c) {
	}
}

// call sends a request for the workspace and records what was acknowledged.
func (c *client) call(method string, params object, noted func(made) []string) bool {
	_, ok := c.ask(method, params, noted)
	return ok
}

func (c *client) ask(method string, params object, noted func(made) []string) (answer made, ok bool) {
	params["workspace_dir"] = c.dir
	if !c.s.call(method, params, &answer) {
		return answer, false
	}
	var words []string
	if noted != nil {
		words = noted(answer)
	}
	c.l.note(method, words...)
	return answer, true
}

func (c *client) word() string { return strconv.FormatUint(c.r.Uint64(), 36) }

func (c *client) project() bool {
	return c.call("workspace.project.create_with_defaults", object{"name": "P", "repo_ids": []string{"r"}}, func(m made) []string {
		return []string{"project", m.ProjectID}
	})
}

func (c *client) link() bool {
	project, repo := c.l.anyProject(c.r), "repo"+c.word()
	return c.call("workspace.project.link_repo", object{"project_id": project, "repo_id": repo}, func(made) []string {
		return []string{"link", project, repo}
	})
}

func (c *client) run() bool {
	_, _, ok := c.newRun()
	return ok
}

func (c *client) newRun() (project, run string, ok bool) {
	project = c.l.anyProject(c.r)
	m, ok := c.ask("run.create", object{"project_id": project, "agent_id": "a", "provider": "cmd"}, func(m made) []string {
		return []string{"run", project, m.RunID}
	})
	return project, m.RunID, ok
}

func (c *client) launch() bool {
	project, run, ok := c.newRun()
	return ok && c.call("session.launch", object{"project_id": project, "run_id": run, "argv": []string{c.executable, workCommand}}, func(m made) []string {
		return []string{"session", m.SessionRef}
	})
}

func (c *client) comment() bool {
	project, run, ok := c.newRun()
	params := object{"project_id": project, "author_id": "human", "author_role": "human", "body": "said", "target_run_id": run}
	return ok && c.call("comment.add", params, func(m made) []string { return []string{"comment", project, m.CommentID} })
}

func (c *client) message() bool {
	project := c.l.anyProject(c.r)
	params := object{
		"scope": "project", "project_id": project, "conversation_id": "conv_" + project + "_home",
		"author_id": "human_ceo", "author_role": "ceo", "body": strings.Repeat("said ", 1+c.r.IntN(200)),
	}
	return c.call("conversation.message.send", params, func(m made) []string { return []string{"message", project, m.Message.ID} })
}

func (c *client) channel() bool {
	project := c.l.anyProject(c.r)
	params := object{"scope": "project", "project_id": project, "name": "C", "slug": "c" + c.word(), "created_by": "human"}
	return c.call("conversation.create_channel", params, func(m made) []string { return []string{"conversation", project, m.ID} })
}

// decide proposes a line for the memory, and then approves or denies it.
func (c *client) decide() bool {
	line := "- " + c.word()
	m, ok := c.ask("memory.propose_delta", object{
		"project_id": c.own, "title": "T", "under_heading": "## Decisions", "insert_lines": []string{line}, "visibility": "org",
		"produced_by": "human", "run_id": "run_manual", "context_pack_id": "ctx_manual",
	}, func(m made) []string { return []string{"artifact", c.own, m.ArtifactID} })
	if !ok {
		return false
	}
	item := object{"project_id": c.own, "artifact_id": m.ArtifactID, "actor_id": "human", "actor_role": "human"}
	review := func(m made) []string { return []string{"review", m.ReviewID} }
	if c.r.IntN(3) == 0 {
		item["decision"] = "denied"
		return c.call("inbox.resolve", item, review)
	}
	ok = c.call("memory.approve_delta", item, review)
	if ok {
		c.l.note("", "memory", c.own, line)
	}
	return ok
}

// plan sets a higher token budget on the task than ever before.
func (c *client) plan() bool {
	hint := c.l.plan(c.task, func(p *plan) { p.asked++ }).asked
	ok := c.call("task.update_plan", object{"project_id": c.own, "task_id": c.task, "execution_plan": object{"token_budget_hint": hint}}, nil)
	if ok {
		c.l.plan(c.task, func(p *plan) { p.acknowledged = hint })
	}
	return ok
}

func (c *client) sync() bool { return c.call("index.sync", object{}, nil) }

func (c *client) rebuild() bool { return c.call("index.rebuild", object{}, nil) }

// job submits a job to a worker that needs one attempt.
func (c *client) job() bool {
	project := c.l.anyProject(c.r)
	spec := object{
		"worker_kind": "codex", "workspace_dir": c.dir, "project_id": project, "job_id": "job_" + c.word(), "goal": "g",
		"constraints": []string{}, "deliverables": []string{}, "permission_level": "read-only", "context_refs": []any{},
	}
	var m made
	if !c.s.call("job.submit", object{"job": spec}, &m) {
		return false
	}
	c.l.note("job.submit", "job", project, m.JobID)
	return true
}
