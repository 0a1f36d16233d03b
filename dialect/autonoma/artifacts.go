package autonoma

// Artifacts: the files that agents propose. Clients list, preview and apply them.

import (
	"context"
	"path"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/dialect"
	"ac/governance/files"
	"ac/internal/fault"
)

// artifact is a proposed file. The id comes first, because one client depends on that.
type artifact struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Path     string `json:"path"`
	Content  string `json:"content"`
	Language string `json:"language"`
}

// Limits of the artifacts in one reply.
const (
	maxArtifacts     = 200
	maxArtifactBytes = 8 << 20
)

// artifacts returns the applicable files that a job or a run proposes, and how many of them it left
// out because of the limits.
func (s *server) artifacts(ctx context.Context, source decisions.ListFilesParams) (list []artifact, omitted int, err error) {
	list = []artifact{}
	found, err := dialect.Do(ctx, s.Company, decisions.Operations.FileContents, source)
	if fault.Is(err, fault.NoWorktree) || noRepository(err) {
		return list, 0, nil // it proposes no files
	}
	if err != nil {
		return nil, 0, err
	}
	total := 0
	for i, row := range found.Files {
		if row.Problem != "" {
			continue
		}
		if total += len(found.Contents[i]); len(list) == maxArtifacts || total > maxArtifactBytes {
			omitted++
			continue
		}
		list = append(list, newArtifact(row, found.Contents[i]))
	}
	return list, omitted, nil
}

func newArtifact(row files.Row, content []byte) artifact {
	a := artifact{ID: row.ID, Type: typeOf(row.Path), Path: row.Path, Content: string(content), Language: row.Language}
	switch {
	case content == nil:
		a.Type = typeDelete
	case row.Kind == typeTest:
		a.Type = typeTest
	}
	return a
}

// typeTest is the type of a test, according to its name or its agent.
const typeTest = "test"

// typeOf returns the type of a file according to its name.
func typeOf(name string) string {
	base := path.Base(name)
	stem, ext := strings.TrimSuffix(base, path.Ext(base)), strings.ToLower(path.Ext(base))
	switch {
	case strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, ".test") || strings.HasSuffix(stem, ".spec") || strings.HasSuffix(stem, "_spec"),
		strings.HasPrefix(stem, "test_") && ext == ".py",
		(strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests")) && (ext == ".java" || ext == ".kt" || ext == ".cs" || ext == ".php" || ext == ".swift"):
		return typeTest
	}
	switch ext {
	case ".md", ".rst", ".txt":
		return "doc"
	case ".json", ".yaml", ".yml", ".toml", ".ini":
		return "config"
	}
	return "code"
}

// previewed identifies what a preview showed of a file.
type previewed struct {
	path, content string
	deleted       bool
}

type previewResult struct {
	Files []filePreview `json:"files"`
}

type filePreview struct {
	Path   string `json:"path"`
	Action string `json:"action"`
	Diff   string `json:"diff,omitempty"`
}

type applyResult struct {
	Applied      int      `json:"applied"`
	Skipped      int      `json:"skipped"`
	Errors       []string `json:"errors"`
	CheckpointID string   `json:"checkpointId,omitempty"`
}

// batch is the artifacts of a request, converted for the operations. refused maps the index of an
// artifact to why it is refused.
type batch struct {
	sent    []sentArtifact
	files   []decisions.ProposedFile // those that are not refused
	at      []int                    // the index in sent of each file
	refused map[int]string
	target  *decisions.FilesTarget
}

// batch reads and converts the artifacts of a request.
func (s *server) batch(ctx context.Context, p artifactsParams) (b batch, err error) {
	if b.sent, err = readArtifacts(p.Artifacts); err != nil || len(b.sent) == 0 {
		return b, err
	}
	repo, err := s.repository(ctx)
	if err != nil {
		return b, err
	}
	b.target, b.refused = &decisions.FilesTarget{RepoID: repo.RepoID}, map[int]string{}
	for i, a := range b.sent {
		file := decisions.ProposedFile{ID: a.ID, Path: a.Path, Content: a.Content}
		if rel, inside := dialect.Within(repo.Root, a.Path); inside && path.IsAbs(a.Path) {
			file.Path = rel
		}
		if a.ID != "" && (a.Content == nil || a.Type == typeDelete) {
			known, err := s.knows(ctx, a.ID, b.target)
			if err != nil {
				return b, err
			}
			switch {
			case !known && a.Content == nil:
				b.refused[i] = "artifact_not_found: it has no content, and no artifact has the id " + a.ID
			case known && a.Type == typeDelete:
				file.Content, file.Delete = nil, true
			}
		} else if a.Content == nil {
			b.refused[i] = "artifact_not_found: it has no content and no id"
		}
		if b.refused[i] == "" {
			b.files, b.at = append(b.files, file), append(b.at, i)
		}
	}
	return b, nil
}

// knows reports whether an artifact with an id exists.
func (s *server) knows(ctx context.Context, id string, target *decisions.FilesTarget) (bool, error) {
	_, err := dialect.Do(ctx, s.Company, decisions.Operations.PreviewFiles, decisions.PreviewFilesParams{
		Dir: s.In(), ProjectID: s.ProjectID, WantedFiles: decisions.WantedFiles{ArtifactIDs: []string{id}, Target: target},
	})
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil, err
}

func (b batch) wanted() decisions.WantedFiles {
	return decisions.WantedFiles{Artifacts: b.files, Target: b.target}
}

func (b batch) key(n int) previewed {
	key := previewed{path: b.files[n].Path, deleted: b.files[n].Delete}
	if b.files[n].Content != nil {
		key.content = *b.files[n].Content
	}
	return key
}

func previewArtifacts(ctx context.Context, c *call, p artifactsParams) (any, error) {
	s := c.server
	b, err := s.batch(ctx, p)
	if err != nil {
		return nil, err
	}
	rows := make([]filePreview, len(b.sent))
	for i, why := range b.refused {
		rows[i] = refusedPreview(b.sent[i].Path, why)
	}
	if len(b.files) > 0 {
		found, err := dialect.Do(ctx, s.Company, decisions.Operations.PreviewFiles, decisions.PreviewFilesParams{
			Dir: s.In(), ProjectID: s.ProjectID, WantedFiles: b.wanted(),
		})
		if err != nil {
			return nil, err
		}
		for n, row := range found.Files {
			rows[b.at[n]] = previewOf(b.sent[b.at[n]].Path, row)
			c.remember(b.key(n), row.BaseSHA256)
		}
	}
	return previewResult{rows}, nil
}

// previewOf converts a row for the client. A row with a problem has the reason instead of a diff.
func previewOf(given string, row files.Row) filePreview {
	p := filePreview{Path: given, Action: row.Action, Diff: row.Diff}
	if first, rest, _ := strings.Cut(row.Diff, "\n"); strings.HasPrefix(first, "diff --git ") && strings.HasPrefix(rest, "--- ") {
		p.Diff = rest // clients expect the diff without this header line
	}
	switch {
	case row.Problem != "":
		return refusedPreview(given, describe(row.Problem, row.Message))
	case row.Action == files.Skip:
		p.Diff = ""
	case row.Action == "delete":
		p.Action = "modify"
	}
	return p
}

func refusedPreview(given, why string) filePreview {
	return filePreview{given, files.Skip, "# " + given + ": " + why + "\n"}
}

func describe(problem, message string) string {
	if message == "" {
		return problem
	}
	return message
}

// maxPreviews bounds the previews that a connection remembers.
const maxPreviews = 2000

// remember stores the base of a previewed file, to detect changes before the apply that follows.
func (c *call) remember(key previewed, base *string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.previews) >= maxPreviews {
		clear(c.previews) // later applies then use the current files as their base
	}
	c.previews[key] = base
}

func applyArtifacts(ctx context.Context, c *call, p artifactsParams) (any, error) {
	s := c.server
	b, err := s.batch(ctx, p)
	if err != nil {
		return nil, err
	}
	result := applyResult{Errors: []string{}}
	for i := range b.sent {
		if why, refused := b.refused[i]; refused {
			result.Errors = append(result.Errors, b.sent[i].Path+": "+why)
		}
	}
	if len(b.files) == 0 {
		return result, nil
	}
	order := decisions.ApplyFilesParams{
		Dir: s.In(), ProjectID: s.ProjectID, WantedFiles: b.wanted(), OnProblem: "skip", Expect: map[string]*string{},
		FilesActor: company.FilesActor{ActorID: s.Actor.ActorID, ActorRole: s.Actor.ActorRole, ActorTeamID: s.Actor.ActorTeamID},
	}
	c.mu.Lock()
	for n, file := range b.files {
		if base, ok := c.previews[b.key(n)]; ok {
			order.Expect[file.Path] = base
		}
	}
	c.mu.Unlock()
	done, err := dialect.Do(ctx, s.Company, decisions.Operations.ApplyFiles, order)
	if err != nil {
		return nil, err
	}
	result.Applied, result.Skipped = done.Applied, done.Skipped
	for _, e := range done.Errors {
		why := describe(e.Reason, e.Message)
		if e.Reason == files.ChangedSince {
			why = "the file changed since the preview; preview again"
		}
		result.Errors = append(result.Errors, e.Path+": "+why)
	}
	if done.CheckpointID != nil {
		result.CheckpointID = *done.CheckpointID
	}
	return result, nil
}
