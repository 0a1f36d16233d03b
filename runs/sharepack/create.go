package sharepack

// Creating a share pack.

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/redact"
	"ac/internal/shape"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	bundleDir  = "bundle"
	logsDir    = "bundle/run_events"
	memoryName = "project_memory"
)

// included reports whether a pack may contain items of a visibility.
func included(visibility string) bool {
	return visibility == events.VisibilityManagers || visibility == events.VisibilityOrg
}

// CreateResult describes a new share pack.
type CreateResult struct {
	ID          string
	ArtifactIDs []string // sorted
	RunIDs      []string
}

// Create creates a share pack of a project, atomically and durably. On an error it leaves
// nothing behind. It reads sources without a lock, so they do not form one consistent snapshot.
// Its memory use is bounded by the longest line of a log.
func Create(ctx context.Context, w *workspace.Workspace, redactor *redact.Redactor, project, by string) (made CreateResult, err error) {
	if _, err := w.Project(project); err != nil {
		return CreateResult{}, err
	}
	stage, err := w.NewStaging()
	if err != nil {
		return CreateResult{}, err
	}
	defer func() {
		if err = errors.Join(err, stage.Discard()); err != nil {
			made = CreateResult{}
		}
	}()
	b := builder{
		w: w, redactor: redactor, stage: stage, project: project, runs: map[string]bool{}, sources: map[string]string{},
		manifest: doc.SharePack{
			SchemaVersion: doc.Version, Type: "share_pack", ID: w.Env.IDs.New("share"), CreatedAt: clock.Stamp(w.Env.Clock.Now()),
			ProjectID: project, CreatedBy: by, Visibility: events.VisibilityManagers,
			IncludedArtifacts: []doc.IncludedArtifact{}, IncludedFiles: []doc.IncludedFile{}, IncludedRuns: []doc.IncludedRun{},
		},
	}
	b.dir = workspace.SharePackDir(project, b.manifest.ID)
	if err := b.build(ctx); err != nil {
		return CreateResult{}, err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if _, err := w.Project(project); err != nil {
			return err
		}
		return u.Place(b.dir, stage)
	})
	return b.created(), err
}

// builder builds the staging directory of one pack.
type builder struct {
	w        *workspace.Workspace
	redactor *redact.Redactor
	stage    *workspace.Staging
	project  string
	dir      string
	manifest doc.SharePack
	runs     map[string]bool   // runs of the included artifacts
	sources  map[string]string // source files by id
	logs     bool              // the logs directory exists
	leftOut  leftOut
}

func (b *builder) build(ctx context.Context) error {
	if err := b.stage.Mkdir(bundleDir); err != nil {
		return err
	}
	if err := b.memory(); err != nil {
		return err
	}
	names, err := workspace.Files(b.w.FS, workspace.ArtifactsDir(b.project), ".md")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := errors.Join(ctx.Err(), b.artifact(path.Join(workspace.ArtifactsDir(b.project), name))); err != nil {
			return err
		}
	}
	for _, run := range b.sortedRuns() {
		if err := b.run(ctx, run); err != nil {
			return err
		}
	}
	if err := b.writeLeftOut(); err != nil {
		return err
	}
	text, err := doc.SharePackCodec.Encode(b.manifest)
	if err != nil {
		return err
	}
	if err := b.stage.WriteFile("manifest.yaml", text); err != nil {
		return err
	}
	return b.stage.Seal()
}

// memory adds the project's memory file, if it is readable.
func (b *builder) memory() error {
	source := workspace.MemoryFile(b.project)
	text, err := b.w.Read(source)
	if err != nil {
		return nil //nolint:nilerr // a pack without memory is a pack
	}
	b.sources[memoryName] = source
	name := path.Join(bundleDir, memoryName+".md")
	b.manifest.IncludedFiles = append(b.manifest.IncludedFiles, doc.IncludedFile{SourceRelpath: source, BundleRelpath: path.Join(b.dir, name)})
	return b.stage.WriteFile(name, []byte(b.redactor.Text(string(text))))
}

// artifact validates an artifact and adds it if its visibility allows that. It validates a stray
// copy, whose id differs from its file name, but does not add it.
func (b *builder) artifact(source string) error {
	text, err := b.w.Read(source)
	if err != nil {
		return err
	}
	artifact, err := readArtifact(source, text)
	if err != nil || !included(artifact.Visibility) {
		return err
	}
	if problem := shape.CheckID(artifact.ID); problem != "" {
		return fault.New(fault.InvalidFile, "%s: id: %s", source, problem)
	}
	if other, twice := b.sources[artifact.ID]; twice {
		return fault.New(fault.Conflict, "%s and %s would both become %s.md in the share pack", other, source, artifact.ID)
	}
	b.sources[artifact.ID] = source
	if artifact.ID != strings.TrimSuffix(path.Base(source), ".md") {
		return nil
	}
	if shape.CheckID(artifact.RunID) == "" {
		b.runs[artifact.RunID] = true
	}
	name := path.Join(bundleDir, artifact.ID+".md")
	b.manifest.IncludedArtifacts = append(b.manifest.IncludedArtifacts, doc.IncludedArtifact{
		ArtifactID: artifact.ID, Type: artifact.Type, Visibility: artifact.Visibility,
		SourceRelpath: source, BundleRelpath: path.Join(b.dir, name),
	})
	return b.stage.WriteFile(name, []byte(b.redactor.Text(string(text))))
}

// readArtifact parses an artifact and validates its headings.
func readArtifact(name string, text []byte) (doc.Artifact, error) {
	head, body, err := frontmatter.Split(text)
	if err != nil {
		return doc.Artifact{}, fault.New(fault.InvalidFile, "%s is not a valid artifact: %w", name, err)
	}
	artifact, err := workspace.Decode(doc.ArtifactCodec, name, head)
	if err != nil {
		return artifact, fmt.Errorf("not a valid artifact: %w", err)
	}
	for _, heading := range doc.Headings(artifact.Type) {
		if !frontmatter.HasHeading(body, heading) {
			return artifact, fault.New(fault.InvalidFile, "%s is not a valid artifact: the heading %s is missing", name, heading)
		}
	}
	return artifact, nil
}

func (b *builder) sortedRuns() []string {
	runs := make([]string, 0, len(b.runs))
	for run := range b.runs {
		runs = append(runs, run)
	}
	slices.Sort(runs)
	return runs
}

func (b *builder) created() CreateResult {
	made := CreateResult{ID: b.manifest.ID, ArtifactIDs: []string{}, RunIDs: []string{}}
	for _, a := range b.manifest.IncludedArtifacts {
		made.ArtifactIDs = append(made.ArtifactIDs, a.ArtifactID)
	}
	slices.Sort(made.ArtifactIDs)
	for _, r := range b.manifest.IncludedRuns {
		made.RunIDs = append(made.RunIDs, r.RunID)
	}
	return made
}

// BundleDir returns the directory of a pack's copies.
func BundleDir(project, id string) string {
	return path.Join(workspace.SharePackDir(project, id), bundleDir)
}
