package autonoma

// Scans of repositories, and feedback on answers.

import (
	"bufio"
	"bytes"
	"context"
	"net/url"
	"path/filepath"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/dialect"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/ulid"
	"ac/runs/transcript"
	"ac/workspace/doc"
)

type scanStarted struct {
	JobID string `json:"job_id"`
}

func scanTechDebt(ctx context.Context, c *call, p scanParams) (any, error) {
	return c.scan(ctx, p, "tech_debt")
}

func scanModernize(ctx context.Context, c *call, p scanParams) (any, error) {
	return c.scan(ctx, p, "modernize")
}

// scanRef is the prefix of the origin ref of a scan's job. The kind of scan follows.
const scanRef = "scan."

func (c *call) scan(ctx context.Context, p scanParams, kind string) (any, error) {
	s := c.server
	repo, err := s.scanned(ctx, p.RepositoryURL)
	if err != nil {
		return nil, err
	}
	who, err := s.helper(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.roomForOne(ctx); err != nil {
		return nil, err
	}
	asked := decisions.ScanCodeParams{Kind: kind}
	asked.Ask(decisions.CodeRequest{
		WorkspaceDir: s.Dir, ProjectID: s.ProjectID, RepoID: repo, WorkerAgentID: who, Actor: s.Actor, Join: true,
		Origin: &doc.JobOrigin{Kind: origin, Ref: scanRef + kind},
	})
	made, err := dialect.Do(ctx, s.Company, decisions.Operations.ScanCode, asked)
	return scanStarted{made.JobID}, err
}

// scanned returns the id of the linked repository that a client names: by id, root, "." for the
// only one, or the URL of its remote. It fetches nothing.
func (s *server) scanned(ctx context.Context, name string) (string, error) {
	list, err := dialect.Do(ctx, s.Company, workforce.Operations.Repositories, company.ProjectParams{Dir: s.In(), ProjectID: s.ProjectID})
	if err != nil {
		return "", err
	}
	if name == "." {
		repo, err := s.repository(ctx)
		return repo.RepoID, err
	}
	root := filepath.Clean(strings.TrimPrefix(name, "file://"))
	if found, err := filepath.EvalSymlinks(root); err == nil {
		root = found
	}
	var ids []string
	for _, repo := range list {
		ids = append(ids, repo.RepoID)
		if repo.RepoID == name || repo.Root == root {
			return repo.RepoID, nil
		}
		if from := originOf(repo.Root); from != "" && plainURL(from) == plainURL(name) {
			return repo.RepoID, nil
		}
	}
	return "", protocolError("only linked repositories can be scanned: " + strings.Join(ids, ", "))
}

// maxConfig bounds how much of a git config is read, in bytes.
const maxConfig = 1 << 20

// originOf returns the URL of the remote origin in the config of a repository, "" if there is none.
func originOf(root string) string {
	dir, err := durable.OpenRoot(root)
	if err != nil {
		return ""
	}
	defer dir.Close()
	config, err := durable.ReadFile(dir, ".git/config", maxConfig)
	if err != nil {
		return "" // without a config, the origin is unknown
	}
	inside := false
	for lines := bufio.NewScanner(bytes.NewReader(config)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inside = line == `[remote "origin"]`
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok && inside && strings.EqualFold(strings.TrimSpace(name), "url") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// plainURL returns a URL without user, password, .git and trailing slashes.
func plainURL(text string) string {
	if u, err := url.Parse(text); err == nil && u.Host != "" {
		u.User = nil
		text = u.String()
	} else if _, rest, found := strings.Cut(text, "@"); found {
		text = rest
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(text, "/"), ".git"), "/")
}

type scanState struct {
	JobID  string      `json:"job_id"`
	Status string      `json:"status"`
	Report *scanReport `json:"report,omitempty"`
	Error  string      `json:"error,omitempty"`
}

type scanReport struct {
	Kind    string            `json:"kind"`
	Summary string            `json:"summary"`
	Issues  []doc.ReviewIssue `json:"issues"`
	// FilesLookedAt is the number of files that the agent read. It is absent if the agent's program
	// does not report that.
	FilesLookedAt int `json:"files_looked_at,omitempty"`
}

func scanStatus(ctx context.Context, c *call, p scanStatusParams) (any, error) {
	e, err := c.server.find(ctx, p.JobID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	kind, ok := "", false
	if e.record != nil && e.record.Order != nil && e.record.Order.Origin != nil {
		kind, ok = strings.CutPrefix(e.record.Order.Origin.Ref, scanRef)
	}
	if !ok {
		return nil, protocolError("unknown task: " + p.JobID)
	}
	c.logID = logID(e.run)
	state := scanState{JobID: e.id, Status: e.taskStatus(), Error: e.failure}
	if e.answer != nil && e.answer.Answer.Review != nil && e.succeeded {
		found := e.answer.Answer.Review
		items, err := c.server.items(ctx, e.answer.AttemptRunID, transcript.KindTool)
		if err != nil {
			return nil, err
		}
		state.Report = &scanReport{kind, found.Summary, append([]doc.ReviewIssue{}, found.Issues...), filesRead(items)}
	}
	return state, nil
}

// filesRead counts the files that an agent's tools read, as far as the tools report them.
func filesRead(items []*transcript.Item) int {
	paths := map[string]struct{}{}
	for _, i := range items {
		if i.Tool == nil || i.Tool.Kind != "read" || i.Tool.Status != "completed" {
			continue
		}
		for _, at := range i.Tool.Locations {
			paths[at.Path] = struct{}{}
		}
	}
	return len(paths)
}

type feedbackTaken struct {
	OK bool `json:"ok"`
}

func submitFeedback(ctx context.Context, c *call, p feedbackParams) (any, error) {
	s := c.server
	run, ok := ulid.OfUUID("run", p.LogID)
	if !ok {
		return nil, protocolError("unknown conversation_log_id: " + p.LogID)
	}
	given := orchestration.FeedbackParams{Signal: p.Signal, Reason: p.Reason}
	given.Act(s.Dir, s.ProjectID, run, s.Actor.ActorID, s.Actor.ActorRole, s.Actor.ActorTeamID)
	_, err := dialect.Do(ctx, s.Company, orchestration.Operations.SubmitFeedback, given)
	if fault.Is(err, fault.NotFound) {
		return nil, protocolError("unknown conversation_log_id: " + p.LogID)
	}
	return feedbackTaken{err == nil}, err
}
