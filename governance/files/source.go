package files

// The sources of proposed files: the worktree of a run, the answer of a job, or a caller.

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/changes"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// maxRead bounds the contents held of one source, in bytes.
const maxRead = 64 << 20

// maxAnswer bounds the answer of a job, in bytes.
const maxAnswer = 512 << 20

// Service works on the proposed files of one workspace. It is safe for concurrent use.
type Service struct {
	Workspace *workspace.Workspace
	Machine   doc.Machine
	Environ   []string // environment of git
	// Alive reports whether a run has a live session.
	Alive func(project, run string) bool
	// Idle reports whether a live session waits for its next turn. It may be nil if that is
	// unknown.
	Idle func(project, run string) bool
	// Memory is the cache of the process.
	Memory *Memory
}

// NewService returns a service for the proposed files of a workspace, with the current
// configuration of this machine. Services may share a memory.
func NewService(w *workspace.Workspace, memory *Memory) (*Service, error) {
	machine, err := w.Machine()
	if err != nil {
		return nil, err
	}
	return &Service{
		Workspace: w, Machine: machine, Environ: os.Environ(), Memory: memory,
		Alive: func(project, run string) bool { return session.RunAlive(w, project, run) },
	}, nil
}

// origin is the files of a source.
type origin struct {
	artifacts []Artifact
	repo      string // the repository they were made for, "" if unknown
}

// of reads the files of a source.
func (s *Service) of(ctx context.Context, project string, source checkpoint.Source) (origin, error) {
	if source.JobID != "" {
		return s.ofJob(ctx, project, source.JobID)
	}
	return s.ofRun(ctx, project, source.RunID, nil)
}

// changesOf returns a reader of the changes of runs.
func (s *Service) changesOf() changes.Reader {
	return changes.Reader{Workspace: s.Workspace, Machine: s.Machine, Environ: s.Environ, Alive: s.Alive}
}

// ReadChanges calls use with the changes of a run, again from the start if the run is landed
// meanwhile.
func (s *Service) ReadChanges(ctx context.Context, project, run string, use func(*changes.Set) error) error {
	return s.changesOf().Read(ctx, project, run, use)
}

// ofRun reads the files that a run changed. If wanted is not nil, it selects some of them by id.
func (s *Service) ofRun(ctx context.Context, project, run string, wanted func(id string) bool) (o origin, err error) {
	err = s.ReadChanges(ctx, project, run, func(set *changes.Set) (err error) {
		o, err = fromRun(ctx, set, wanted)
		return err
	})
	return o, err
}

// fromRun reads the files of a run's changes.
func fromRun(ctx context.Context, set *changes.Set, wanted func(id string) bool) (o origin, err error) {
	run := set.Run.ID
	o.repo = set.RepoID
	chosen := set.Files
	if wanted != nil {
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(f changes.File) bool { return !wanted(ID(run, f.Path)) })
	}
	source := checkpoint.Source{RunID: run}
	total := 0
	err = set.Each(ctx, chosen[:min(len(chosen), MaxFiles)], func(f changes.File, c changes.Content) error {
		a := Artifact{ID: ID(run, f.Path), Path: f.Path, Source: source, Run: run, Content: c.New, Delete: c.New == nil, From: VersionOf(c.From)}
		total += len(c.From) + len(c.New)
		a.Problem, a.Message = unusual(f, c.TooLarge, total)
		if a.Problem != "" {
			a.Content, a.From = nil, nil
		}
		if !a.Delete && (f.OldMode == "" || changes.Executable(f.OldMode) != changes.Executable(f.NewMode)) {
			a.Mode = 0o644
			if changes.Executable(f.NewMode) {
				a.Mode = 0o755
			}
		}
		o.artifacts = append(o.artifacts, a)
		return nil
	})
	for _, f := range chosen[len(o.artifacts):] {
		o.artifacts = append(o.artifacts, Artifact{
			ID: ID(run, f.Path), Path: f.Path, Source: source, Run: run, Problem: TooMany, Message: "a list has 200 files",
		})
	}
	return o, err
}

// unusual returns the problem of a changed file that cannot be applied as text.
func unusual(f changes.File, tooLarge bool, total int) (code, message string) {
	switch {
	case f.Nested:
		return Protected, "it is a repository of its own"
	case f.NewMode == "120000" || f.OldMode == "120000":
		return IsLink, "it is a symlink"
	case !f.Regular():
		return NotAFile, "it is no regular file"
	case tooLarge:
		return TooLarge, "the file has more than 1 MiB"
	case total > maxRead:
		return TooLarge, "the files before it have more than can be read at once"
	}
	return "", ""
}

// answerFile is the part of answer.json about files.
type answerFile struct {
	Type         string `json:"type"`
	AttemptRunID string `json:"attempt_run_id"`
	Kind         string `json:"kind"`
	Answer       struct {
		Files []struct {
			Path    string  `json:"path"`
			Content *string `json:"content"`
			Delete  bool    `json:"delete"`
			Kind    string  `json:"kind"`
		} `json:"files"`
	} `json:"answer"`
	// Files describes the files of the answer, in order, as they were when the answer was read.
	Files []struct {
		ID         string  `json:"id"`
		Path       string  `json:"path"`
		FromSHA256 *string `json:"from_sha256"`
		Problem    string  `json:"problem"`
	} `json:"files"`
}

// placeFile is the part of order.json about where a job works.
type placeFile struct {
	Place struct {
		RepoID string `json:"repo_id"`
	} `json:"place"`
}

// ofJob reads the files that a job answered with. If it has no answer with files, ofJob reads
// what the run of its newest attempt with a worktree changed.
func (s *Service) ofJob(ctx context.Context, project, job string) (origin, error) {
	var o origin
	dir := workspace.JobDir(project, job)
	record, err := workspace.Load(s.Workspace, doc.JobCodec, path.Join(dir, "job.yaml"))
	if fault.Is(err, fault.NotFound) {
		return o, fault.New(fault.NotFound, "job %s does not exist in project %s", job, project)
	}
	if err != nil {
		return o, err
	}
	answer, ok, err := s.answer(dir)
	if err != nil {
		return o, err
	}
	if !ok {
		for _, attempt := range slices.Backward(record.Attempts) {
			if o, err = s.ofRun(ctx, project, attempt.RunID, nil); !fault.Is(err, fault.NoWorktree) && !fault.Is(err, fault.NotFound) {
				return o, err
			}
		}
		return origin{}, nil
	}
	var place placeFile
	if text, err := durable.ReadFile(s.Workspace.FS, path.Join(dir, "order.json"), maxAnswer); err == nil {
		_ = json.Unmarshal(text, &place) // an unreadable order names no repository
	}
	o.repo = place.Place.RepoID
	for i, f := range answer.Files {
		a := Artifact{ID: ID(job, f.Path), Path: f.Path, Source: checkpoint.Source{JobID: job}, Run: answer.AttemptRunID}
		if i < len(answer.Answer.Files) {
			given := answer.Answer.Files[i]
			a.Delete, a.Kind = given.Delete, given.Kind
			if given.Content != nil {
				a.Content = []byte(*given.Content)
			}
		}
		if a.From, err = s.from(dir, f.FromSHA256); err != nil {
			return o, err
		}
		switch {
		case f.Problem != "":
			a.Problem, a.Message = NoSelection, f.Problem
		case a.Content == nil && !a.Delete:
			a.Problem, a.Message = NoSelection, "the answer has no content for it"
		}
		o.artifacts = append(o.artifacts, a)
	}
	return o, nil
}

// answer reads the answer of a job. ok is false if the job has no answer with files.
func (s *Service) answer(dir string) (answer answerFile, ok bool, err error) {
	text, err := durable.ReadFile(s.Workspace.FS, path.Join(dir, "answer.json"), maxAnswer)
	if errors.Is(err, fs.ErrNotExist) {
		return answer, false, nil
	}
	if err != nil {
		return answer, false, fault.New(fault.InvalidFile, "%w", err)
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Type != "job_answer" {
		return answer, false, fault.New(fault.InvalidFile, "%s is no answer of a job: %v", path.Join(dir, "answer.json"), err)
	}
	return answer, answer.Kind == "files", nil
}

// from returns the version of a file that an answer was made from. Its bytes are stored next to
// the answer, or only its hash is known.
func (s *Service) from(dir string, hash *string) (*Version, error) {
	if hash == nil {
		return &Version{}, nil
	}
	if !workspace.SafeID(*hash) {
		return nil, fault.New(fault.InvalidFile, "%s: from_sha256 is no hash", path.Join(dir, "answer.json"))
	}
	text, err := durable.ReadFile(s.Workspace.FS, path.Join(dir, "from", *hash), 2*MaxFile)
	if err != nil || checkpoint.Hash(text) != *hash {
		return &Version{Exists: true, Hash: *hash}, nil //nolint:nilerr // the hash is what is known then
	}
	return VersionOf(append([]byte{}, text...)), nil
}

// find finds artifacts by their ids. It first searches the sources where this process met them,
// and then the answers of jobs and the worktrees of runs, newest first. madeFor is the
// repositories that they were made for, each once, "" for an unknown one.
func (s *Service) find(ctx context.Context, project string, ids []string) (found map[string]Artifact, madeFor []string, err error) {
	found = map[string]Artifact{}
	missing := func(id string) bool { _, ok := found[id]; return !ok && slices.Contains(ids, id) }
	take := func(o origin) {
		for _, a := range o.artifacts {
			if !missing(a.ID) {
				continue
			}
			if found[a.ID] = a; !slices.Contains(madeFor, o.repo) {
				madeFor = append(madeFor, o.repo)
			}
		}
	}
	sources := s.Memory.sources(s.Workspace, ids)
	rest, err := s.sources(project)
	if err != nil {
		return nil, nil, err
	}
	for _, source := range append(sources, rest...) {
		if len(found) == len(ids) {
			break
		}
		var o origin
		if source.JobID != "" {
			o, err = s.ofJob(ctx, project, source.JobID)
		} else {
			o, err = s.ofRun(ctx, project, source.RunID, missing)
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err == nil { // skip unreadable sources
			take(o)
		}
	}
	return found, madeFor, nil
}

// sources returns the jobs with an answer and the runs with a worktree or a branch, each newest
// first.
func (s *Service) sources(project string) (list []checkpoint.Source, err error) {
	w := s.Workspace
	jobs, err := workspace.Dirs(w.FS, path.Dir(workspace.JobDir(project, "job")))
	if err != nil && !durable.IsAbsent(err) {
		return nil, err
	}
	for _, id := range slices.Backward(jobs) {
		if w.Exists(path.Join(workspace.JobDir(project, id), "answer.json")) {
			list = append(list, checkpoint.Source{JobID: id})
		}
	}
	runs, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
	if err != nil && !durable.IsAbsent(err) {
		return nil, err
	}
	for _, id := range slices.Backward(runs) {
		record, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(project, id))
		if _, _, branch := record.Tree(); err == nil && branch != "" {
			list = append(list, checkpoint.Source{RunID: id})
		}
	}
	return list, nil
}
