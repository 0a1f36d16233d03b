package governance

// Artifacts: Markdown files with front matter that agents produce for others to read.

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"ac/events"
	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/frontmatter"
	"ac/internal/shape"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// Reader reads documents from a workspace or from a unit of it.
type Reader interface {
	Read(name string) ([]byte, error)
}

// ArtifactFile returns the name of an artifact's file.
func ArtifactFile(project, id string) string {
	return path.Join(workspace.ArtifactsDir(project), id+".md")
}

// Record is a Markdown file with front matter.
type Record struct {
	Name string // relative to the workspace
	Text []byte // the whole file
	Head []byte // YAML
	Body []byte
	// Fields is the parsed front matter, always a map.
	Fields shape.Value
}

// ParseRecord parses a record. A text without readable front matter is fault.InvalidFile.
func ParseRecord(name string, text []byte) (Record, error) {
	r := Record{Name: name, Text: text}
	var err error
	if r.Head, r.Body, err = frontmatter.Split(text); err != nil {
		return r, fault.New(fault.InvalidFile, "%s: %w", name, err)
	}
	if r.Fields, err = yamldoc.Parse(r.Head); err != nil {
		return r, fault.New(fault.InvalidFile, "%s: frontmatter_yaml_parse_error: %w", name, err)
	}
	if r.Fields.Kind != shape.Map {
		return r, fault.New(fault.InvalidFile, "%s: the front matter is no mapping", name)
	}
	return r, nil
}

// String returns a string field of the front matter, "" if there is none.
func (r Record) String(key string) string {
	if v := r.Fields.Get(key); v.Kind == shape.String {
		return v.Text
	}
	return ""
}

// ReadArtifact reads the artifact in the file of an id, whatever its type. A
// missing one is fault.NotFound.
func ReadArtifact(r Reader, project, id string) (Record, error) {
	name := ArtifactFile(project, id)
	text, err := r.Read(name)
	if fault.Is(err, fault.NotFound) {
		return Record{Name: name}, fault.New(fault.NotFound, "artifact %s does not exist in project %s", id, project)
	}
	if err != nil {
		return Record{Name: name}, err
	}
	return ParseRecord(name, text)
}

// Artifacts lists the readable artifacts of a project by id. It skips files whose name is not
// their id.
func Artifacts(w *workspace.Workspace, project string) ([]doc.Artifact, error) {
	names, err := workspace.Files(w.FS, workspace.ArtifactsDir(project), ".md")
	if err != nil {
		return nil, err
	}
	return workspace.ReadEach(names, func(name string) (doc.Artifact, error) {
		file := path.Join(workspace.ArtifactsDir(project), name)
		head, err := workspace.LoadHead(w, doc.ArtifactCodec, file)
		if err != nil {
			return head, err
		}
		return head, workspace.CheckID(file, strings.TrimSuffix(name, ".md"), head.ID)
	}), nil
}

// DecodeItem decodes the front matter of an item to be decided. It applies the rules of the
// item's type, and requires the id to match the file name.
func DecodeItem[T any](record Record, codec yamldoc.Codec[T]) (T, error) {
	head, err := codec.Bind(&record.Fields)
	if err != nil {
		return head, fault.New(fault.InvalidFile, "%s: %w", record.Name, err)
	}
	return head, workspace.CheckID(record.Name, strings.TrimSuffix(path.Base(record.Name), ".md"), record.String("id"))
}

// InProject checks that an item belongs to the given project.
func (r Record) InProject(project string) error {
	if got := r.String("project_id"); got != project {
		return fault.New(fault.Conflict, "%s belongs to project %s, not to %s", r.Name, got, project)
	}
	return nil
}

// ValidateArtifact checks the front matter and the headings of an artifact.
func ValidateArtifact(text []byte) []frontmatter.Issue {
	return frontmatter.Check(text, doc.ArtifactCodec, func(a doc.Artifact) []string { return doc.Headings(a.Type) })
}

// ArtifactSpec describes a new artifact. Empty fields get the values of artifacts that people
// write by hand. An empty ID is generated.
type ArtifactSpec struct {
	ID            string
	Type          string
	Title         string
	Visibility    string
	ProducedBy    string
	RunID         string
	ContextPackID string
}

// Head returns the front matter of a new artifact, created now.
func (s ArtifactSpec) Head(env workspace.Env) doc.Artifact {
	head := doc.Artifact{
		SchemaVersion: doc.Version, Type: s.Type, ID: s.ID, CreatedAt: clock.Stamp(env.Clock.Now()), Title: s.Title, Visibility: s.Visibility,
		ProducedBy: s.ProducedBy, RunID: s.RunID, ContextPackID: s.ContextPackID,
	}
	for _, f := range []struct {
		field    *string
		fallback string
	}{{&head.Title, "Untitled"}, {&head.Visibility, "team"}, {&head.ProducedBy, "human"}, {&head.RunID, ManualRun}, {&head.ContextPackID, ManualContext}} {
		if *f.field == "" {
			*f.field = f.fallback
		}
	}
	if head.ID == "" {
		head.ID = env.IDs.New("art")
	}
	return head
}

// The ids of the run and the context pack of artifacts that people write by hand.
const (
	ManualRun     = "run_manual"
	ManualContext = "ctx_manual"
)

// Template returns the text of a new artifact: front matter, title and the empty sections of its
// type.
func Template(head doc.Artifact) ([]byte, error) {
	if doc.Headings(head.Type) == nil {
		return nil, fault.InvalidField("type", "must be one of %s", strings.Join(doc.ArtifactTypes(), ", "))
	}
	if err := doc.CheckTitle(head.Title); err != nil {
		return nil, err
	}
	if !slices.Contains(doc.Visibilities(), head.Visibility) {
		return nil, fault.InvalidField("visibility", "must be one of %s", strings.Join(doc.Visibilities(), ", "))
	}
	var body bytes.Buffer
	body.WriteString("# " + head.Title + "\n")
	for _, heading := range doc.Headings(head.Type) {
		body.WriteString("\n" + heading + "\n")
	}
	return WriteRecord(doc.ArtifactCodec, head, body.Bytes())
}

// WriteRecord returns the text of a Markdown document with front matter.
func WriteRecord[T any](codec yamldoc.Codec[T], head T, body []byte) ([]byte, error) {
	text, err := codec.Encode(head)
	if err != nil {
		return nil, err
	}
	return frontmatter.Join(text, body), nil
}

// CreateArtifact adds a new artifact to a unit. Its project must exist, and its file must not.
func CreateArtifact(u *workspace.Unit, project, id string, text []byte) error {
	if err := mustExist(u.Workspace(), project); err != nil {
		return err
	}
	name := ArtifactFile(project, id)
	if u.Exists(name) {
		return fault.New(fault.Conflict, "%s exists already", name)
	}
	return u.Write(name, text, 0o644)
}

// ReadAs reads an artifact on behalf of an actor, if the policy allows it. The resource has the
// team of the agent that produced it. The decision is recorded in the log of run or, if run is
// "", of the artifact's own run.
func ReadAs(ctx context.Context, w *workspace.Workspace, project, id, run string, actor policy.Actor) (Record, error) {
	record, err := ReadArtifact(w, project, id)
	if err != nil {
		return record, err
	}
	visibility, producer := record.String("visibility"), record.String("produced_by")
	for _, key := range []string{"id", "visibility", "produced_by"} {
		if record.String(key) == "" {
			return record, fault.New(fault.InvalidFile, "%s: %s: must be a string", record.Name, key)
		}
	}
	if !slices.Contains(doc.Visibilities(), visibility) {
		return record, fault.New(fault.InvalidFile, "%s: visibility: must be one of %s", record.Name, strings.Join(doc.Visibilities(), ", "))
	}
	if run == "" {
		run = record.String("run_id")
	}
	q := readingArtifact(w, record.String("id"), visibility, producer, actor)
	q.RunID = run
	_, err = Enforce(ctx, w, project, q)
	return record, err
}

// MayReadArtifact reports whether an actor may read an artifact. It records no decision.
func MayReadArtifact(w *workspace.Workspace, id, visibility, producer string, actor policy.Actor) bool {
	return policy.Ask(w, readingArtifact(w, id, visibility, producer, actor)).Decision.Allowed
}

func readingArtifact(w *workspace.Workspace, id, visibility, producer string, actor policy.Actor) policy.Question {
	resource := policy.Resource{ID: id, Kind: "artifact", Visibility: visibility, Producer: producer}
	if workspace.SafeID(producer) {
		resource.Team = w.AgentTeam(producer)
	}
	return policy.Question{Action: policy.Read, Resource: resource, Actor: actor}
}

// producedPayload is the payload of artifact.produced for artifacts.
type producedPayload struct {
	ArtifactID   string `json:"artifact_id"`
	Relpath      string `json:"relpath"`
	ArtifactType string `json:"artifact_type"`
}

// ArtifactProduced returns the event that records an artifact in the log of its run.
func ArtifactProduced(w *workspace.Workspace, head doc.Artifact, relpath string) (events.Draft, error) {
	return w.Events.Draft(events.Draft{
		RunID: head.RunID, SessionRef: "local_" + head.RunID, Actor: head.ProducedBy, Visibility: head.Visibility, Type: events.ArtifactProduced,
	}, producedPayload{head.ID, relpath, head.Type})
}
