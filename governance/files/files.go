package files

// Listing and previewing proposed files. This writes nothing.

import (
	"context"
	"errors"
	"slices"

	"ac/internal/fault"
	"ac/workspace/checkpoint"
)

// Proposal is a file sent by a caller. If it has a known id, omitted fields come from that
// artifact.
type Proposal struct {
	ID      string
	Path    string
	Content *string
	Delete  bool
	Program *bool // nil keeps the mode
}

// Wanted selects proposed files. Exactly one of PreviewID, IDs and Given is set.
type Wanted struct {
	PreviewID string
	IDs       []string
	Given     []Proposal
	// Target is empty for the default.
	Target checkpoint.Target
}

// Listing is proposed files, compared with a target.
type Listing struct {
	Target checkpoint.Target `json:"target"`
	Files  []Row             `json:"files"`
}

// Previewed is a listing with diffs. An application can refer to it.
type Previewed struct {
	PreviewID string `json:"preview_id"`
	Listing
}

// List lists the files that a run or a job proposes.
func (s *Service) List(ctx context.Context, project string, source checkpoint.Source) (Listing, error) {
	o, err := s.of(ctx, project, source)
	if err != nil {
		return Listing{}, err
	}
	return s.listing(ctx, project, o)
}

func (s *Service) listing(ctx context.Context, project string, o origin) (Listing, error) {
	s.Memory.met(s.Workspace, o.artifacts)
	place, err := s.target(project, checkpoint.Target{}, o.repo)
	if err != nil {
		return Listing{}, err
	}
	decisions, err := s.judgeUnlocked(ctx, batch{project: project, place: place, artifacts: o.artifacts})
	return Listing{place.Target, rows(decisions)}, err
}

// Contents returns a listing and the proposed contents in its order. A content is nil for a
// deletion and for a file with a problem.
func (s *Service) Contents(ctx context.Context, project string, source checkpoint.Source) (Listing, [][]byte, error) {
	o, err := s.of(ctx, project, source)
	if err != nil {
		return Listing{}, nil, err
	}
	list, err := s.listing(ctx, project, o)
	contents := make([][]byte, len(o.artifacts))
	for i, a := range o.artifacts {
		contents[i] = a.Content
	}
	return list, contents, err
}

func rows(decisions []decision) []Row {
	list := make([]Row, len(decisions))
	for i, d := range decisions {
		list[i] = d.row
	}
	return list
}

// Preview returns what applying files would change, and keeps the preview for an hour.
func (s *Service) Preview(ctx context.Context, project string, wanted Wanted) (Previewed, error) {
	b, err := s.batch(ctx, project, wanted)
	if err != nil {
		return Previewed{}, err
	}
	decisions, err := s.judgeUnlocked(ctx, b)
	if err != nil {
		return Previewed{}, err
	}
	env := s.Workspace.Env
	kept := &preview{id: env.IDs.New(previewPrefix), w: s.Workspace, project: project, at: env.Clock.Now(), place: b.place, artifacts: b.artifacts, seen: map[string]expectation{}}
	withDiffs(decisions, func(d *decision) {
		if d.at.path != "" {
			kept.seen[d.at.path] = expectation{d.now.hash, ChangedSince}
		}
	})
	s.Memory.keep(kept)
	return Previewed{kept.id, Listing{b.place.Target, rows(decisions)}}, nil
}

// withDiffs adds the diffs of files that would change. It calls visit for all files.
func withDiffs(decisions []decision, visit func(*decision)) {
	for i := range decisions {
		d := &decisions[i]
		if visit(d); !d.writes() {
			continue
		}
		var ok bool
		if d.row.Diff, ok = Compare(d.at.path, d.now.Side, d.fresh).Unified(3, maxDiff); !ok {
			d.row.Message = "diff too long"
		}
	}
}

// batch is proposed files with one target.
type batch struct {
	project   string
	place     Place
	artifacts []Artifact
	seen      map[string]expectation
}

// batch finds the files and the target that a call selects.
func (s *Service) batch(ctx context.Context, project string, wanted Wanted) (b batch, err error) {
	b.project = project
	if wanted.PreviewID != "" {
		p := s.Memory.preview(s.Workspace, project, wanted.PreviewID)
		if p == nil {
			return b, fault.New(fault.PreviewGone, "preview %s is gone; send the artifacts, with what you expect of the files", wanted.PreviewID)
		}
		b.place, b.artifacts, b.seen = p.place, p.artifacts, p.seen
		return b, nil
	}
	ids := wanted.IDs
	for _, given := range wanted.Given {
		if given.ID != "" {
			ids = append(slices.Clone(ids), given.ID)
		}
	}
	var found map[string]Artifact
	var madeFor []string
	if len(ids) > 0 {
		if found, madeFor, err = s.find(ctx, project, ids); err != nil {
			return b, err
		}
	}
	for _, id := range wanted.IDs {
		a, ok := found[id]
		if !ok {
			return b, fault.New(fault.NotFound, "no artifact of project %s has the id %s", project, id)
		}
		b.artifacts = append(b.artifacts, a)
	}
	for _, given := range wanted.Given {
		a, err := given.artifact(found)
		if err != nil {
			return b, err
		}
		b.artifacts = append(b.artifacts, a)
	}
	total := 0
	for _, a := range b.artifacts {
		total += len(a.Content)
	}
	if total > MaxTotal {
		field := "artifacts"
		if wanted.Given == nil {
			field = "artifact_ids"
		}
		return b, fault.Invalid(fault.Issue{Path: []any{field}, Code: "too_big", Message: "the contents have more than 16 MiB together"})
	}
	b.place, err = s.commonTarget(project, wanted.Target, madeFor)
	return b, err
}

// artifact returns a file that a caller sent. If it has the id of a known artifact of the same
// path, it keeps that artifact's base version.
func (p Proposal) artifact(found map[string]Artifact) (Artifact, error) {
	a := Artifact{ID: p.ID, Path: p.Path, Delete: p.Delete, Source: checkpoint.Source{Caller: true}}
	if a.ID == "" {
		a.ID = ID(a.Source.ID(), p.Path)
	}
	known, ok := found[p.ID]
	if ok && known.Path == p.Path {
		a = known
		if p.Content != nil || p.Delete {
			a.Problem, a.Message, a.Content, a.Delete = "", "", nil, p.Delete
		}
	} else if p.Content == nil && !p.Delete {
		return a, fault.New(fault.NotFound, "%s has no content, and no artifact of that path has the id %q", p.Path, p.ID)
	}
	if p.Content != nil {
		a.Content = []byte(*p.Content)
	}
	if p.Program != nil {
		a.Mode = 0o644
		if *p.Program {
			a.Mode = 0o755
		}
	}
	return a, nil
}

// maxJudgements bounds how often files are judged again because they changed meanwhile.
const maxJudgements = 5

// judgeUnlocked judges files without holding any lock.
func (s *Service) judgeUnlocked(ctx context.Context, b batch) (decisions []decision, err error) {
	fsys, err := s.Workspace.Env.FS(b.place.dir)
	if err != nil {
		return nil, fault.New(fault.NoTarget, "%w", err)
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	merges := map[mergeKey]mergeResult{}
	for range maxJudgements {
		decisions = newTargetRoot(fsys, b.place.dir).judge(b.artifacts, b.seen, merges)
		if !slices.ContainsFunc(decisions, func(d decision) bool { return d.due != nil }) {
			return decisions, nil
		}
		if err := mergeAll(ctx, s.Environ, decisions, merges); err != nil {
			return nil, fault.New(fault.GitFailed, "%w", err)
		}
	}
	return nil, keepsChangingError(b.place)
}

func keepsChangingError(place Place) error {
	return fault.New(fault.TargetBusy, "the files in %s keep changing", place.dir)
}
