package decisions

// code.*: requests of editors to an agent about a piece of code. Each is a read-only job, which
// writes nothing to the repository until somebody applies its files.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/company"
	"ac/governance"
	"ac/governance/files"
	"ac/governance/policy"
	"ac/heartbeat/job"
	"ac/internal/canonjson"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/runs/worktree"
	"ac/workspace/doc"
)

// maxWholeFile bounds the file that an agent receives along with a selection of it, in bytes.
const maxWholeFile = 200 << 10

// codeParams are the params that the methods share.
type codeParams struct {
	company.Dir
	ProjectID     string         `json:"project_id" is:"id"`
	RepoID        string         `json:"repo_id,omitempty" is:"optional"`
	WorkerAgentID string         `json:"worker_agent_id,omitempty" is:"optional,id"`
	WaitMS        int            `json:"wait_ms" is:"default=0,min=0,max=600000"`
	Join          bool           `json:"join" is:"default=false"`
	Origin        *doc.JobOrigin `json:"origin,omitempty" is:"optional"`
	ActorID       string         `json:"actor_id" is:"default=human"`
	ActorRole     string         `json:"actor_role" is:"default=human,role"`
	// Reuse reports whether a finished job of an equal request may be joined as well. It applies
	// only with Join. With nil, only active jobs are joined.
	Reuse func(doc.Job) bool `json:"-"`
}

// CodeRequest describes a request from code of this binary: its project, repository, agent and
// actor.
type CodeRequest struct {
	WorkspaceDir, ProjectID, RepoID, WorkerAgentID string
	Actor                                          company.ActorParams
	Origin                                         *doc.JobOrigin
	Join                                           bool
	Reuse                                          func(doc.Job) bool
}

// Ask copies the request into the params.
func (p *codeParams) Ask(r CodeRequest) {
	p.WorkspaceDir, p.ProjectID, p.RepoID, p.WorkerAgentID = r.WorkspaceDir, r.ProjectID, r.RepoID, r.WorkerAgentID
	p.ActorID, p.ActorRole, p.Origin, p.Join = r.Actor.ActorID, r.Actor.ActorRole, r.Origin, r.Join
	p.Reuse = r.Reuse
}

// CodeParams are the params of code.explain, code.refactor and code.generate_tests.
type CodeParams struct {
	codeParams
	Code         string `json:"code" is:"maxbytes=262144"`
	Language     string `json:"language,omitempty" is:"optional,empty,maxbytes=200"`
	FilePath     string `json:"file_path,omitempty" is:"optional,empty,maxbytes=4096"`
	Instructions string `json:"instructions,omitempty" is:"optional,empty,maxbytes=65536"`
}

// ReviewCodeParams are the params of code.review.
type ReviewCodeParams struct {
	CodeParams
	ReviewType string `json:"review_type" is:"default=all,enum=security|performance|quality|all"`
}

// ScanCodeParams are the params of code.scan.
type ScanCodeParams struct {
	codeParams
	Kind         string `json:"kind" is:"default=tech_debt,enum=tech_debt|modernize"`
	Instructions string `json:"instructions,omitempty" is:"optional,empty,maxbytes=65536"`
}

// CodeFile is a proposed file with its new content, null for a deletion or a file with a
// problem.
type CodeFile struct {
	files.Row
	Content *string `json:"content"`
}

// CodeResult is the result of these methods: the job and, once available, its answer.
type CodeResult struct {
	JobID  string            `json:"job_id"`
	Status string            `json:"status"` // pending completed failed canceled
	Text   string            `json:"text,omitempty"`
	Review *doc.ReviewAnswer `json:"review,omitempty"`
	Files  []CodeFile        `json:"files,omitzero"`
	Error  string            `json:"error,omitempty"`
}

// Statuses of a CodeResult.
const (
	CodePending   = "pending"
	CodeCompleted = "completed"
	CodeFailed    = "failed"
	CodeCanceled  = "canceled"
)

// ExplainCode asks an agent to explain a selection.
func (c Operations) ExplainCode(ctx context.Context, p CodeParams) (CodeResult, error) {
	return c.code(ctx, p.codeParams, p.work("code.explain", doc.AnswerText,
		"Explain the attachment selection to a developer, in plain language, as markdown: what it does, how it does it, and what to watch for. Write nothing else."))
}

// ReviewCode asks an agent to review a selection.
func (c Operations) ReviewCode(ctx context.Context, p ReviewCodeParams) (CodeResult, error) {
	what := "security, performance and quality"
	if p.ReviewType != "all" {
		what = p.ReviewType + " only"
	}
	w := p.work("code.review", doc.AnswerReview, "Review the attachment selection for "+what+
		". Each issue has a severity, a message of one sentence, the line in the selection, counted from 1, and a suggestion where there is one. "+
		"Invent no issue: an empty list is a good answer. The summary is one paragraph.")
	w.params = append(w.params, p.ReviewType)
	return c.code(ctx, p.codeParams, w)
}

// RefactorCode asks an agent to propose a better version of a selection.
func (c Operations) RefactorCode(ctx context.Context, p CodeParams) (CodeResult, error) {
	return c.code(ctx, p.codeParams, p.work("code.refactor", doc.AnswerFiles,
		"Improve the attachment selection. Its behaviour stays as it is unless the instructions ask for another. "+
			"Answer with its file and selection, the new text in place of it. Other files only where they must change with it, as their whole content."))
}

// GenerateTests asks an agent to propose tests for a selection.
func (c Operations) GenerateTests(ctx context.Context, p CodeParams) (CodeResult, error) {
	return c.code(ctx, p.codeParams, p.work("code.generate_tests", doc.AnswerFiles,
		"Write tests for the attachment selection, in the framework that the repository uses already, beside its other tests, as whole files with kind test. "+
			"A test file that exists is extended, not replaced."))
}

// ScanCode asks an agent to review a repository.
func (c Operations) ScanCode(ctx context.Context, p ScanCodeParams) (CodeResult, error) {
	what := "technical debt: what makes the next change slow or dangerous"
	if p.Kind == "modernize" {
		what = "what is out of date: language, libraries, practices"
	}
	return c.code(ctx, p.codeParams, codeWork{
		method: "code.scan", answer: doc.AnswerReview, instructions: p.Instructions, params: []string{p.Kind, p.Instructions},
		goal: "Look through the repository for " + what + ". Each issue has path and line. The most costly one comes first, and there are at most 100. Invent none.",
	})
}

// codeWork describes the work for an agent.
type codeWork struct {
	method, answer, goal, instructions string
	code, language, path               string
	params                             []string // distinguish requests
}

func (p CodeParams) work(method, answer, goal string) codeWork {
	return codeWork{
		method: method, answer: answer, goal: goal, instructions: p.Instructions, code: p.Code, language: p.Language, path: p.FilePath,
		params: []string{p.Code, p.Language, p.FilePath, p.Instructions},
	}
}

// key returns a hash that is equal for equal requests.
func (w codeWork) key(p codeParams) (string, error) {
	text, err := canonjson.Marshal(append([]string{w.method, p.ProjectID, p.RepoID, p.WorkerAgentID}, w.params...))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// code submits the job of a request, or joins one, and waits for it at most WaitMS.
func (c Operations) code(ctx context.Context, p codeParams, w codeWork) (CodeResult, error) {
	key, err := w.key(p)
	if err != nil {
		return CodeResult{}, err
	}
	id := ""
	if p.Join {
		if id, err = c.jobOf(key, p); err != nil {
			return CodeResult{}, err
		}
	}
	if id == "" {
		if id, err = c.submitCode(ctx, p, w, key); err != nil {
			return CodeResult{}, err
		}
	}
	inflight.Leave(ctx)
	named := company.JobParams{Dir: p.Dir, ProjectID: p.ProjectID, JobID: id}
	if p.WaitMS > 0 {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(p.WaitMS)*time.Millisecond)
		_, err = job.Await(waiting, c.Workspace(), c.Host().Runners(), p.ProjectID, id)
		cancel()
		if err != nil && ctx.Err() == nil && waiting.Err() == nil {
			return CodeResult{}, err
		}
	}
	return c.CodeAnswer(ctx, named)
}

// jobOf returns a job of an equal request: an active one, or the newest finished one that Reuse
// admits, or "" for none.
func (c Operations) jobOf(key string, p codeParams) (id string, err error) {
	records, err := job.All(c.Workspace(), p.ProjectID)
	for _, r := range records {
		switch {
		case r.Order == nil || r.Order.RequestKey != key:
		case !r.Over():
			return r.Job.JobID, nil
		case p.Reuse != nil && p.Reuse(r):
			id = r.Job.JobID
		}
	}
	return id, err
}

func (c Operations) submitCode(ctx context.Context, p codeParams, w codeWork, key string) (string, error) {
	worker, err := c.JobWorker(ctx, JobWorkerParams{p.Dir, p.WorkerAgentID})
	if err != nil {
		return "", err
	}
	order := &doc.JobOrder{Answer: w.answer, Origin: p.Origin, RequestKey: key}
	root := ""
	if p.RepoID != "" {
		order.Place = &doc.JobPlace{RepoID: p.RepoID, Isolation: doc.IsolationNone}
		machine, err := c.Workspace().Machine()
		if err != nil {
			return "", err
		}
		root, _ = worktree.Root(machine, p.RepoID) // the job reports a missing repository
	}
	goal := w.goal
	if w.code != "" {
		order.Attachments, err = w.attachments(root)
	}
	if err != nil {
		return "", err
	}
	if w.language != "" {
		goal += "\nThe language is " + w.language + "."
	}
	if strings.TrimSpace(w.instructions) != "" {
		goal += "\nInstructions:\n" + w.instructions
	}
	spec := doc.JobSpec{
		SchemaVersion: doc.Version, Type: "job", JobKind: doc.JobExecution, WorkerKind: doc.AnyWorkerKindOf(worker.Provider), WorkerAgentID: worker.AgentID,
		WorkspaceDir: p.WorkspaceDir, ProjectID: p.ProjectID, Goal: goal, Constraints: []string{}, Deliverables: []string{}, ContextRefs: []doc.ContextRef{},
		PermissionLevel: "read-only", ManagerActorID: p.ActorID, ManagerRole: p.ActorRole,
	}
	made, err := c.SubmitJob(ctx, company.SubmitJobParams{Job: spec, Order: order})
	return made.JobID, err
}

// attachments returns the selection. If that is only a part of a file of at most maxWholeFile, it
// also returns the file.
func (w codeWork) attachments(root string) ([]doc.Attachment, error) {
	name := filepath.ToSlash(w.path)
	if root != "" && filepath.IsAbs(w.path) {
		if rel, err := filepath.Rel(root, w.path); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	inside := root != "" && name != "" && filepath.IsLocal(filepath.FromSlash(name))
	writes := w.answer == doc.AnswerFiles
	if writes && root != "" && !inside {
		return nil, fault.New(fault.Denied, "%s is outside the repository", w.path)
	}
	selection := doc.Attachment{Name: doc.SelectionName, Text: w.code}
	if !inside {
		return []doc.Attachment{selection}, nil
	}
	selection.Path = name
	list := []doc.Attachment{selection}
	dir, err := durable.OpenRoot(root)
	if err != nil {
		return list, nil // the selection is enough
	}
	defer dir.Close()
	whole, err := durable.ReadFile(dir, filepath.FromSlash(name), maxWholeFile)
	if err == nil && string(whole) != w.code {
		list = append(list, doc.Attachment{Name: "file", Text: strings.ToValidUTF8(string(whole), "\uFFFD"), Path: name})
	}
	return list, nil
}

// CodeAnswer returns the current result of a job of one of these methods.
func (c Operations) CodeAnswer(ctx context.Context, p company.JobParams) (CodeResult, error) {
	found, err := c.CollectJob(ctx, p)
	result := CodeResult{JobID: p.JobID, Status: CodePending}
	if err != nil || found.Result == nil {
		return result, err
	}
	switch found.Result.Status {
	case doc.ResultCanceled:
		result.Status = CodeCanceled
		return result, nil
	case doc.ResultSucceeded:
		result.Status = CodeCompleted
	default:
		result.Status, result.Error = CodeFailed, found.Result.Summary
		if len(found.Result.Errors) > 0 {
			result.Error = cmp.Or(found.Result.Errors[0].Message, result.Error)
		}
		return result, nil
	}
	switch answer := found.Answer; {
	case answer == nil:
		return result, fault.New(fault.InvalidFile, "job %s has no answer", p.JobID)
	case answer.Answer.Text != nil:
		result.Text = answer.Answer.Text.Text
	case answer.Answer.Review != nil:
		result.Review = answer.Answer.Review
	case answer.Answer.Files != nil:
		result.Files, err = c.codeFiles(ctx, ListFilesParams{Dir: p.Dir, ProjectID: p.ProjectID, JobID: p.JobID})
	}
	return result, err
}

func (c Operations) codeFiles(ctx context.Context, p ListFilesParams) ([]CodeFile, error) {
	found, err := c.FileContents(ctx, p)
	list := make([]CodeFile, len(found.Files))
	for i, row := range found.Files {
		list[i] = CodeFile{Row: row}
		if found.Contents[i] != nil && row.Problem == "" {
			list[i].Content = new(string(found.Contents[i]))
		}
	}
	return list, err
}

// JobWorkerParams are the params of JobWorker.
type JobWorkerParams struct {
	company.Dir
	AgentID string `json:"agent_id,omitempty" is:"optional,id"`
}

// JobWorker returns the agent for a job: the named one, or the first by name that may do jobs.
// If there is none, the error is fault.NotFound.
func (c Operations) JobWorker(_ context.Context, p JobWorkerParams) (company.AgentRow, error) {
	agents, err := c.Workspace().Agents()
	if err != nil {
		return company.AgentRow{}, err
	}
	i := slices.IndexFunc(agents, func(a doc.Agent) bool {
		if p.AgentID != "" {
			return a.ID == p.AgentID
		}
		return MayDoJobs(a.Role)
	})
	if i < 0 {
		why := "the workspace has no worker and no manager"
		if p.AgentID != "" {
			why = "there is no agent " + p.AgentID
		}
		return company.AgentRow{}, fault.New(fault.NotFound, "no agent can do this: %s", why)
	}
	return company.AgentRowOf(agents[i]), nil
}

// MayDoJobs reports whether agents of a role receive jobs.
func MayDoJobs(role string) bool { return role == "worker" || role == "manager" }

// MayLaunchParams are the params of MayLaunch.
type MayLaunchParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	AgentID   string `json:"agent_id" is:"id"`
	company.ActorParams
}

// MayLaunch checks whether the policy allows an actor to launch a job for an agent, and records
// the decision. A denial is fault.Denied.
func (c Operations) MayLaunch(ctx context.Context, p MayLaunchParams) (company.OK, error) {
	err := governance.Govern(ctx, c.Workspace(), func(g *governance.PolicyUnit) error {
		_, err := g.Enforce(p.ProjectID, policy.Question{Action: policy.Launch, Resource: c.TeamResource("job", p.ProjectID, p.AgentID), Actor: p.Actor()})
		return err
	})
	return company.OK{OK: err == nil}, err
}
