package autonoma

// Code actions: requests to an agent about a selection. The client waits for the answer.

import (
	"context"
	"fmt"
	"sync"
	"time"

	"ac/company/decisions"
	"ac/dialect"
	"ac/internal/clock"
	"ac/workspace/doc"
)

// holds is how long a repeated request may still get an undelivered answer.
const holds = 15 * time.Minute

// codeMemory records which answers were delivered, which requests wait, and which connections gave
// up waiting.
type codeMemory struct {
	since   time.Time  // process start: no earlier process delivered an answer after this
	submits sync.Mutex // serializes submissions, so that concurrent equal requests become one job

	mu       sync.Mutex
	met      map[string]bool // jobs that this process waited for; true if the answer was delivered
	waiting  map[string]int
	timedOut map[string][]*connection
}

func newCodeMemory(since time.Time) *codeMemory {
	return &codeMemory{since: since, met: map[string]bool{}, waiting: map[string]int{}, timedOut: map[string][]*connection{}}
}

// serves reports whether a finished job has an answer that was not delivered yet.
func (m *codeMemory) serves(record doc.Job, now time.Time, within time.Duration) bool {
	began, _ := clock.Parse(record.CreatedAt)
	ended, ok := clock.Parse(record.UpdatedAt)
	if !ok || now.Sub(ended) > holds {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delivered, met := m.met[record.Job.JobID]
	if !met {
		return ended.After(m.since) || ended.Sub(began) > within
	}
	return !delivered
}

func (m *codeMemory) wait(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.met[id] = m.met[id] || false
	m.waiting[id]++
}

// done ends a wait. If the answer was not delivered, late will notify the connection.
func (m *codeMemory) done(id string, c *connection, delivered bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting[id]--; m.waiting[id] == 0 {
		delete(m.waiting, id)
	}
	if delivered {
		m.met[id] = true
		return
	}
	m.timedOut[id] = append(m.timedOut[id], c)
}

// late notifies the connections that gave up waiting for a job that the job has ended. It does
// nothing if the answer was or will be delivered to another connection.
func (m *codeMemory) late(ctx context.Context, s *server, e execution) {
	m.mu.Lock()
	clients := m.timedOut[e.id]
	delete(m.timedOut, e.id)
	answered := m.waiting[e.id] > 0 || m.met[e.id]
	m.mu.Unlock()
	if len(clients) == 0 || answered {
		return
	}
	result, err := s.result(ctx, e)
	if err != nil {
		s.Log.Warn("the files of an execution cannot be read", "execution", e.id, "error", err)
		return
	}
	for _, c := range clients {
		c.tell("execution.complete", result, "")
	}
}

// codeRequest is a request to an agent: how to submit it, and how to format its answer.
type codeRequest struct {
	submit func(ctx context.Context, r decisions.CodeRequest) (decisions.CodeResult, error)
	tell   func(decisions.CodeResult) (any, error)
	// writes means that the answer contains files, so a repository is required.
	writes bool
}

// submitAndWait submits a request, or joins an equal one, and waits for its answer up to AnswerWithin.
func (c *call) submitAndWait(ctx context.Context, a codeRequest) (any, error) {
	s := c.server
	leave, err := c.slow(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	id, err := c.submitAsk(ctx, a)
	if err != nil {
		return nil, err
	}
	s.codes.wait(id)
	over, forget := s.watch.ending(id)
	defer forget()
	c.release()
	limit := time.NewTimer(s.opts.AnswerWithin - s.Clock.Now().Sub(c.arrived))
	defer limit.Stop()
	select {
	case <-over:
		s.codes.done(id, c.connection, true)
		return c.codeAnswer(ctx, id, a)
	case <-limit.C:
	case <-c.gone:
	}
	s.codes.done(id, c.connection, false)
	return nil, protocolError(fmt.Sprintf("still working: task %s; ask again in a moment to get its answer, or see background.output", id))
}

func (c *call) submitAsk(ctx context.Context, a codeRequest) (id string, err error) {
	s := c.server
	repo, err := s.repository(ctx)
	if err != nil && (a.writes || !noRepository(err)) {
		return "", err
	}
	who, err := s.helper(ctx)
	if err != nil {
		return "", err
	}
	s.codes.submits.Lock()
	defer s.codes.submits.Unlock()
	if err := s.roomForOne(ctx); err != nil {
		return "", err
	}
	result, err := a.submit(ctx, decisions.CodeRequest{
		WorkspaceDir: s.Dir, ProjectID: s.ProjectID, RepoID: repo.RepoID, WorkerAgentID: who, Actor: s.Actor, Join: true,
		Origin: &doc.JobOrigin{Kind: origin, Ref: c.method},
		Reuse:  func(record doc.Job) bool { return s.codes.serves(record, s.Clock.Now(), s.opts.AnswerWithin) },
	})
	return result.JobID, err
}

// helper returns the id of the agent for requests that name none.
func (s *server) helper(ctx context.Context) (string, error) {
	if s.AgentID != "" {
		a, err := s.findUsableAgent(ctx, s.AgentID)
		return a.AgentID, err
	}
	all, err := s.agents(ctx)
	if err != nil {
		return "", err
	}
	why := "there is no agent"
	for _, a := range all {
		if a.status != offline {
			return a.AgentID, nil
		}
		if decisions.MayDoJobs(a.Role) || why == "there is no agent" {
			why = a.Name + ": " + a.why
		}
	}
	return "", protocolError("no agent can do this: " + why)
}

// codeAnswer returns the answer of a finished job.
func (c *call) codeAnswer(ctx context.Context, id string, a codeRequest) (any, error) {
	s := c.server
	result, err := dialect.Do(ctx, s.Company, decisions.Operations.CodeAnswer, s.named(id))
	if err != nil {
		return nil, err
	}
	switch result.Status {
	case decisions.CodeCanceled:
		return nil, protocolError("cancelled")
	case decisions.CodeFailed:
		return nil, protocolError(result.Error)
	}
	if record, err := s.record(ctx, id); err == nil && record.Last() != nil {
		c.logID = logID(record.Last().RunID)
	}
	return a.tell(result)
}

func explainCode(ctx context.Context, c *call, p codeParams) (any, error) {
	return c.submitAndWait(ctx, codeRequest{
		submit: func(ctx context.Context, r decisions.CodeRequest) (decisions.CodeResult, error) {
			return submitCode(ctx, c.server, decisions.Operations.ExplainCode, p, "", r)
		},
		tell: func(r decisions.CodeResult) (any, error) { return r.Text, nil },
	})
}

// reviewed is a review as clients see it.
type reviewed struct {
	Issues  []reviewedIssue `json:"issues"`
	Summary string          `json:"summary"`
}

type reviewedIssue struct {
	Severity   string `json:"severity"`
	Message    string `json:"message"`
	Line       int    `json:"line,omitempty"`
	Suggestion string `json:"suggestion,omitempty"`
}

func reviewCode(ctx context.Context, c *call, p reviewParams) (any, error) {
	return c.submitAndWait(ctx, codeRequest{
		submit: func(ctx context.Context, r decisions.CodeRequest) (decisions.CodeResult, error) {
			asked := decisions.ReviewCodeParams{CodeParams: codeOf(p.codeParams, "", r), ReviewType: p.ReviewType}
			return dialect.Do(ctx, c.server.Company, decisions.Operations.ReviewCode, asked)
		},
		tell: func(r decisions.CodeResult) (any, error) {
			told := reviewed{Issues: make([]reviewedIssue, len(r.Review.Issues)), Summary: r.Review.Summary}
			for i, issue := range r.Review.Issues {
				told.Issues[i] = reviewedIssue{issue.Severity, issue.Message, issue.Line, issue.Suggestion}
			}
			return told, nil
		},
	})
}

func refactorCode(ctx context.Context, c *call, p refactorParams) (any, error) {
	return c.propose(ctx, decisions.Operations.RefactorCode, p.codeParams, p.Instructions)
}

func generateTests(ctx context.Context, c *call, p codeParams) (any, error) {
	return c.propose(ctx, decisions.Operations.GenerateTests, p, "")
}

type codeOperation = func(decisions.Operations, context.Context, decisions.CodeParams) (decisions.CodeResult, error)

// propose asks an agent for files.
func (c *call) propose(ctx context.Context, op codeOperation, p codeParams, instructions string) (any, error) {
	repo, err := c.server.repository(ctx)
	if err != nil {
		return nil, err
	}
	if _, inside := dialect.Within(repo.Root, p.FilePath); !inside {
		return nil, protocolError(p.FilePath + " is outside the repository")
	}
	return c.submitAndWait(ctx, codeRequest{
		writes: true,
		submit: func(ctx context.Context, r decisions.CodeRequest) (decisions.CodeResult, error) {
			return submitCode(ctx, c.server, op, p, instructions, r)
		},
		tell: func(r decisions.CodeResult) (any, error) {
			list, problem := []artifact{}, ""
			for _, f := range r.Files {
				if f.Problem != "" {
					problem = f.Path + ": " + describe(f.Problem, f.Message)
					continue
				}
				var content []byte
				if f.Content != nil {
					content = []byte(*f.Content)
				}
				list = append(list, newArtifact(f.Row, content))
			}
			if len(list) == 0 && problem != "" {
				return nil, protocolError(problem)
			}
			return list, nil
		},
	})
}

func codeOf(p codeParams, instructions string, r decisions.CodeRequest) decisions.CodeParams {
	asked := decisions.CodeParams{Code: p.Code, Language: p.Language, FilePath: p.FilePath, Instructions: instructions}
	asked.Ask(r)
	return asked
}

func submitCode(ctx context.Context, s *server, op codeOperation, p codeParams, instructions string, r decisions.CodeRequest) (decisions.CodeResult, error) {
	return dialect.Do(ctx, s.Company, op, codeOf(p, instructions, r))
}
