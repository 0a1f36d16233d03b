package decisions

// artifact.list, preview, apply, revert and checkpoints: files that runs, jobs and
// callers propose.

import (
	"context"
	"fmt"
	"strings"

	"ac/company"
	"ac/governance/files"
	"ac/internal/fault"
	"ac/workspace/checkpoint"
)

// ListFilesParams are the params of artifact.list.
type ListFilesParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	RunID     string `json:"run_id,omitempty" is:"optional,id"`
	JobID     string `json:"job_id,omitempty" is:"optional,id"`
}

// Check requires exactly one source.
func (p *ListFilesParams) Check() []fault.Issue {
	return oneOf(paramPresence{"run_id", p.RunID != ""}, paramPresence{"job_id", p.JobID != ""})
}

// paramPresence is whether a param is present.
type paramPresence struct {
	name  string
	there bool
}

// oneOf requires exactly one of several params.
func oneOf(params ...paramPresence) (issues []fault.Issue) {
	n := 0
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.name
		if p.there {
			n++
		}
	}
	if n == 1 {
		return nil
	}
	return []fault.Issue{{Path: []any{params[0].name}, Code: "custom", Message: "give exactly one of " + strings.Join(names, ", ")}}
}

// ListFiles lists the files that a run or a job proposes.
func (c Operations) ListFiles(ctx context.Context, p ListFilesParams) (files.Listing, error) {
	s, err := c.proposals()
	if err != nil {
		return files.Listing{}, err
	}
	return s.List(ctx, p.ProjectID, checkpoint.Source{RunID: p.RunID, JobID: p.JobID})
}

// FileContents are the files that a run or a job proposes, with their contents.
type FileContents struct {
	files.Listing
	// Contents are in the order of the files. An entry is nil for a deletion and for a file with
	// a problem.
	Contents [][]byte
}

// FileContents lists the files that a run or a job proposes, with their contents. It is for code
// of this binary.
func (c Operations) FileContents(ctx context.Context, p ListFilesParams) (FileContents, error) {
	s, err := c.proposals()
	if err != nil {
		return FileContents{}, err
	}
	list, contents, err := s.Contents(ctx, p.ProjectID, checkpoint.Source{RunID: p.RunID, JobID: p.JobID})
	return FileContents{list, contents}, err
}

// ProposedFile is a file sent by a caller.
type ProposedFile struct {
	_       struct{} `is:"strict"`
	ID      string   `json:"id,omitempty" is:"optional"`
	Path    string   `json:"path" is:"empty"`
	Content *string  `json:"content,omitempty" is:"optional,empty"`
	Delete  bool     `json:"delete,omitempty" is:"default=false"`
	Mode    string   `json:"mode,omitempty" is:"optional,enum=0644|0755"`
}

// Check requires content, the id of a proposed file, or delete. Delete excludes content.
func (f *ProposedFile) Check() (issues []fault.Issue) {
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	switch {
	case f.Delete && f.Content != nil:
		refuse("content", "a file that is to be deleted has none")
	case !f.Delete && f.Content == nil && f.ID == "":
		refuse("content", "is required without delete and without an id")
	}
	return issues
}

// FilesTarget is where files are written. Exactly one field is set.
type FilesTarget struct {
	_      struct{} `is:"strict"`
	RepoID string   `json:"repo_id,omitempty" is:"optional"`
	RunID  string   `json:"run_id,omitempty" is:"optional,id"`
}

// Check requires exactly one target.
func (t *FilesTarget) Check() []fault.Issue {
	return oneOf(paramPresence{"repo_id", t.RepoID != ""}, paramPresence{"run_id", t.RunID != ""})
}

// WantedFiles are the params that select files and their target.
type WantedFiles struct {
	ArtifactIDs []string       `json:"artifact_ids,omitempty" is:"optional,minitems=1"`
	Artifacts   []ProposedFile `json:"artifacts,omitempty" is:"optional,minitems=1"`
	Target      *FilesTarget   `json:"target,omitempty" is:"optional"`
}

func (f *WantedFiles) tooMany() (issues []fault.Issue) {
	for name, n := range map[string]int{"artifact_ids": len(f.ArtifactIDs), "artifacts": len(f.Artifacts)} {
		if n > files.MaxFiles {
			maximum, inclusive := float64(files.MaxFiles), true
			issues = append(issues, fault.Issue{
				Path: []any{name}, Code: "too_big", Maximum: &maximum, Inclusive: &inclusive, Message: fmt.Sprintf("must have at most %d items", files.MaxFiles),
			})
		}
	}
	return issues
}

func (f *WantedFiles) wanted() files.Wanted {
	w := files.Wanted{IDs: f.ArtifactIDs}
	for _, a := range f.Artifacts {
		proposal := files.Proposal{ID: a.ID, Path: a.Path, Content: a.Content, Delete: a.Delete}
		if a.Mode != "" {
			program := a.Mode == "0755"
			proposal.Program = &program
		}
		w.Given = append(w.Given, proposal)
	}
	if f.Target != nil {
		w.Target = checkpoint.Target{RepoID: f.Target.RepoID, RunID: f.Target.RunID}
	}
	return w
}

// PreviewFilesParams are the params of artifact.preview.
type PreviewFilesParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	WantedFiles
}

// CheckFields bounds the length of the lists.
func (p *PreviewFilesParams) CheckFields() []fault.Issue { return p.tooMany() }

// Check requires exactly one list of files.
func (p *PreviewFilesParams) Check() []fault.Issue {
	return oneOf(paramPresence{"artifact_ids", p.ArtifactIDs != nil}, paramPresence{"artifacts", p.Artifacts != nil})
}

// PreviewFiles returns what applying files would change.
func (c Operations) PreviewFiles(ctx context.Context, p PreviewFilesParams) (files.Previewed, error) {
	s, err := c.proposals()
	if err != nil {
		return files.Previewed{}, err
	}
	return s.Preview(ctx, p.ProjectID, p.wanted())
}

// ApplyFilesParams are the params of artifact.apply.
type ApplyFilesParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	PreviewID string `json:"preview_id,omitempty" is:"optional"`
	WantedFiles
	// Expect maps paths to the SHA-256 of the files as the caller saw them, null for absent
	// files.
	Expect    map[string]*string `json:"expect,omitempty" is:"optional,empty"`
	OnProblem string             `json:"on_problem" is:"default=refuse,enum=refuse|skip"`
	DryRun    bool               `json:"dry_run" is:"default=false"`
	company.FilesActor
	ClientRef string `json:"client_ref,omitempty" is:"optional,maxbytes=200"`
}

// CheckFields bounds the length of the lists and requires expected contents to be hashes.
func (p *ApplyFilesParams) CheckFields() []fault.Issue {
	issues := p.tooMany()
	for name, hash := range p.Expect {
		if hash != nil && len(*hash) != 64 {
			issues = append(issues, fault.Issue{Path: []any{"expect", name}, Code: "custom", Message: "must be a SHA-256 in hex, or null for a file that is absent"})
		}
	}
	return issues
}

// Check requires exactly one way to name the files.
func (p *ApplyFilesParams) Check() []fault.Issue {
	return oneOf(paramPresence{"preview_id", p.PreviewID != ""}, paramPresence{"artifact_ids", p.ArtifactIDs != nil}, paramPresence{"artifacts", p.Artifacts != nil})
}

// ApplyFiles applies proposed files, all or nothing.
func (c Operations) ApplyFiles(ctx context.Context, p ApplyFilesParams) (files.Result, error) {
	s, err := c.proposals()
	if err != nil {
		return files.Result{}, err
	}
	order := files.Order{
		ProjectID: p.ProjectID, Wanted: p.wanted(), Skip: p.OnProblem == "skip", DryRun: p.DryRun, Actor: p.Actor(), ClientRef: p.ClientRef,
		Expect: map[string]string{},
	}
	order.Wanted.PreviewID = p.PreviewID
	for name, hash := range p.Expect {
		order.Expect[name] = ""
		if hash != nil {
			order.Expect[name] = *hash
		}
	}
	defer c.Host().ForgetChanges()
	return s.Apply(ctx, order)
}

// RevertFilesParams are the params of artifact.revert.
type RevertFilesParams struct {
	company.Dir
	ProjectID    string `json:"project_id" is:"id"`
	CheckpointID string `json:"checkpoint_id" is:"id"`
	OnProblem    string `json:"on_problem" is:"default=refuse,enum=refuse|skip"`
	company.FilesActor
}

// RevertFiles reverts an earlier application of files.
func (c Operations) RevertFiles(ctx context.Context, p RevertFilesParams) (files.UndoResult, error) {
	s, err := c.proposals()
	if err != nil {
		return files.UndoResult{}, err
	}
	defer c.Host().ForgetChanges()
	return s.Revert(ctx, files.Undo{ProjectID: p.ProjectID, CheckpointID: p.CheckpointID, Skip: p.OnProblem == "skip", Actor: p.Actor()})
}

// CheckpointsParams are the params of artifact.checkpoints.
type CheckpointsParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	Limit     int    `json:"limit" is:"default=50,min=1,cut=500"`
}

// Checkpoints lists the applications of files in a project, newest first.
func (c Operations) Checkpoints(_ context.Context, p CheckpointsParams) ([]files.CheckpointRow, error) {
	return files.Checkpoints(c.Workspace(), p.ProjectID, p.Limit, nil)
}
