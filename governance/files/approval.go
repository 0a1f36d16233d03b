package files

// Files that wait for a human's approval, if their project requires it. They are stored with an
// artifact of the inbox. Approving the artifact applies them.

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

// Waiting is the data of fault.ApprovalRequired.
type Waiting struct {
	ArtifactID string `json:"artifact_id"`
}

// pending is the file stored next to a proposal's artifact.
type pending struct {
	SchemaVersion int               `json:"schema_version"`
	Type          string            `json:"type"` // file_proposal
	Target        checkpoint.Target `json:"target"`
	Skip          bool              `json:"skip,omitempty"`
	ContentHash   string            `json:"content_hash"`
	Files         []pendingFile     `json:"files"`
	// Landing is the work of a run that waits to be landed. It is set instead of Files.
	Landing *pendingLanding `json:"landing,omitempty"`
}

// pendingFile is a proposed file, with the hash of the file that it was compared with.
type pendingFile struct {
	ID      string            `json:"id"`
	Path    string            `json:"path"`
	Content string            `json:"content,omitempty"`
	Delete  bool              `json:"delete,omitempty"`
	Mode    fs.FileMode       `json:"mode,omitempty"`
	From    *pendingFrom      `json:"from,omitempty"`
	Source  checkpoint.Source `json:"source"`
	Run     string            `json:"run_id,omitempty"`
	Base    string            `json:"base_sha256"`
}

type pendingFrom struct {
	Exists  bool    `json:"exists"`
	Hash    string  `json:"sha256,omitempty"`
	Content *string `json:"content,omitempty"`
}

const pendingType = "file_proposal"

func pendingName(project, artifact string) string {
	return path.Join(workspace.ArtifactsDir(project), artifact+".json")
}

// needsApproval reports whether the project lets only humans apply files, and the actor is not
// one.
func (a *application) needsApproval() (bool, error) {
	if a.reverts != "" {
		return false, nil
	}
	return a.s.needsHuman(a.o.ProjectID, a.o.Actor)
}

func (s *Service) needsHuman(project string, actor policy.Actor) (bool, error) {
	record, err := s.Workspace.Project(project)
	if err != nil || record.FileArtifacts == nil || record.FileArtifacts.Approval != doc.ApprovalRequired {
		return false, err
	}
	return policy.RecordedRole(s.Workspace, actor) != "human", nil
}

// propose stores the files and requests a decision on them. If the same files are waiting
// already, it stores nothing. Once they wait, it returns fault.ApprovalRequired.
func (a *application) propose(ctx context.Context) error {
	w := a.s.Workspace
	decisions, err := a.s.judgeUnlocked(ctx, a.b)
	if err != nil {
		return err
	}
	if result := a.result(decisions); len(result.Errors) > 0 && !a.o.Skip {
		return refused(result.Errors)
	}
	waits := pending{SchemaVersion: 1, Type: pendingType, Target: a.b.place.Target, Skip: a.o.Skip, ContentHash: a.contentHash()}
	id := w.Env.IDs.New("art")
	text, err := a.proposal(id, decisions)
	if err != nil {
		return err
	}
	for i, d := range decisions {
		if d.row.Problem == "" {
			waits.Files = append(waits.Files, pendingFileOf(a.b.artifacts[i], d))
		}
	}
	return a.s.ask(ctx, id, text, waits, a.question(), a.o.ProjectID)
}

// ask adds a proposal to the inbox, once for the same content. Once it waits there, ask returns
// fault.ApprovalRequired.
func (s *Service) ask(ctx context.Context, id string, text []byte, waits pending, q policy.Question, project string) error {
	w := s.Workspace
	content, err := json.Marshal(waits)
	if err != nil {
		return err
	}
	err = governance.Govern(ctx, w, func(g *governance.PolicyUnit) error {
		if _, err := g.Enforce(project, q); err != nil {
			return err
		}
		if known, err := waitingFor(w, project, waits.ContentHash); err != nil || known != "" {
			id = known
			return err
		}
		if err := governance.CreateArtifact(g.Unit, project, id, text); err != nil {
			return err
		}
		if err := g.Write(pendingName(project, id), append(content, '\n'), 0o644); err != nil {
			return err
		}
		return g.Emit(project, q.RunID, events.Draft{Type: events.ArtifactProduced, Actor: q.Actor.ID}, struct {
			ArtifactID   string `json:"artifact_id"`
			Relpath      string `json:"relpath"`
			ArtifactType string `json:"artifact_type"`
		}{id, path.Join("artifacts", id+".md"), "proposal"})
	})
	if err != nil {
		return err
	}
	return fault.New(fault.ApprovalRequired, "a human has to approve this: artifact %s waits in the inbox", id).With(Waiting{id})
}

// pendingFileOf converts a proposed file to its stored form.
func pendingFileOf(a Artifact, d decision) pendingFile {
	f := pendingFile{ID: a.ID, Path: d.at.path, Content: string(a.Content), Delete: a.Delete, Mode: a.Mode, Source: a.Source, Run: a.Run, Base: d.now.hash}
	if a.From != nil {
		f.From = &pendingFrom{Exists: a.From.Exists, Hash: a.From.Hash}
		if a.From.Content != nil {
			text := string(a.From.Content)
			f.From.Content = &text
		}
	}
	return f
}

// artifact converts the stored form back to a proposed file.
func (f pendingFile) artifact() Artifact {
	a := Artifact{ID: f.ID, Path: f.Path, Delete: f.Delete, Mode: f.Mode, Source: f.Source, Run: f.Run}
	if !f.Delete {
		a.Content = []byte(f.Content)
	}
	if f.From != nil {
		a.From = &Version{Exists: f.From.Exists, Hash: f.From.Hash}
		if f.From.Content != nil {
			a.From.Content = []byte(*f.From.Content)
		}
	}
	return a
}

// proposal returns the text of the artifact that requests the decision.
func (a *application) proposal(id string, decisions []decision) ([]byte, error) {
	source, run := a.source()
	head := doc.FilesProposal{
		Artifact: governance.ArtifactSpec{
			ID: id, Type: "proposal", Title: fmt.Sprintf("Apply %d files of %s", len(decisions), source.ID()), Visibility: "managers",
			ProducedBy: a.o.Actor.ID, RunID: run,
		}.Head(a.s.Workspace.Env),
		ProjectID: a.o.ProjectID, Proposes: doc.ProposesFiles,
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n## Summary\n\n%s asks to apply these files to %s%s.\n\n## Plan\n\n", head.Title, a.o.Actor.ID, a.b.place.RepoID, a.b.place.RunID)
	for _, d := range decisions {
		fmt.Fprintf(&b, "- %s %q (+%d -%d)\n", d.row.Action, d.row.Path, d.row.Added, d.row.Removed)
	}
	b.WriteString("\n## Risks\n\nThe files become uncommitted changes; artifact.revert takes them back.\n")
	return governance.WriteRecord(doc.FilesProposalCodec, head, []byte(b.String()))
}

// waitingFor returns the artifact of the same files that is waiting already, "" for none.
func waitingFor(w *workspace.Workspace, project, hash string) (string, error) {
	names, err := workspace.Files(w.FS, workspace.ArtifactsDir(project), ".json")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		id := strings.TrimSuffix(name, ".json")
		waits, err := loadPending(w, project, id)
		if err != nil || waits.ContentHash != hash {
			continue // artifacts have other .json files as well
		}
		state, err := governance.StateOf(w, governance.Item{ProjectID: project, ArtifactID: id}, governance.KindFiles)
		if err != nil {
			return "", err
		}
		if state.Pending() {
			return id, nil
		}
	}
	return "", nil
}

func loadPending(w *workspace.Workspace, project, artifact string) (waits pending, err error) {
	name := pendingName(project, artifact)
	text, err := durable.ReadFile(w.FS, name, maxAnswer)
	if err == nil {
		err = json.Unmarshal(text, &waits)
	}
	if err == nil && waits.Type != pendingType {
		err = fmt.Errorf("%s holds no files that wait", name)
	}
	if err != nil {
		return waits, fault.New(fault.InvalidFile, "%w", err)
	}
	return waits, nil
}

// batch returns the waiting files, with the hashes of the files they were compared with.
func (p pending) batch(project string) batch {
	b := batch{project: project, seen: map[string]expectation{}}
	for _, f := range p.Files {
		b.artifacts = append(b.artifacts, f.artifact())
		b.seen[f.Path] = expectation{f.Base, ChangedSince}
	}
	return b
}

// PreviewPending returns what approving the waiting files would change now.
func (s *Service) PreviewPending(ctx context.Context, item governance.Item) (Listing, error) {
	waits, err := loadPending(s.Workspace, item.ProjectID, item.ArtifactID)
	if err != nil {
		return Listing{}, err
	}
	b := waits.batch(item.ProjectID)
	if waits.Landing != nil {
		o, err := s.of(ctx, item.ProjectID, checkpoint.Source{RunID: waits.Landing.RunID})
		if err != nil {
			return Listing{}, err
		}
		b.artifacts = o.artifacts
	}
	if b.place, err = s.target(item.ProjectID, waits.Target, ""); err != nil {
		return Listing{}, err
	}
	decisions, err := s.judgeUnlocked(ctx, b)
	withDiffs(decisions, func(*decision) {})
	return Listing{b.place.Target, rows(decisions)}, err
}

// Resolve decides on waiting files. An approval applies them like Apply, together with its
// review. If files are refused, nothing is decided.
func (s *Service) Resolve(ctx context.Context, r governance.Ruling) (resolved governance.Resolution, err error) {
	resolved = r.Resolution(governance.KindFiles)
	record, err := governance.ReadArtifact(s.Workspace, r.ProjectID, r.ArtifactID)
	if err != nil {
		return resolved, err
	}
	if _, err := governance.DecodeItem(record, doc.FilesProposalCodec); err != nil {
		return resolved, err
	}
	if err := record.InProject(r.ProjectID); err != nil {
		return resolved, err
	}
	waits, err := loadPending(s.Workspace, r.ProjectID, r.ArtifactID)
	if err != nil {
		return resolved, err
	}
	if waits.Landing != nil {
		resolved.ReviewID, err = s.resolveLanding(ctx, r, *waits.Landing)
		return resolved, err
	}
	a := &application{s: s, o: Order{ProjectID: r.ProjectID, Skip: waits.Skip, Actor: r.Actor}, b: waits.batch(r.ProjectID), merges: map[mergeKey]mergeResult{}, ruling: &r}
	if r.Decision == governance.Denied {
		resolved.ReviewID, err = s.deny(ctx, r, a.question())
		return resolved, err
	}
	if a.b.place, err = s.target(r.ProjectID, waits.Target, ""); err != nil {
		return resolved, err
	}
	result, err := a.run(ctx)
	if result.CheckpointID != nil {
		resolved.CheckpointID = *result.CheckpointID
	}
	resolved.ReviewID = a.review
	return resolved, err
}

// undecided returns an error if the ruling's item is already decided.
func (a *application) undecided(g *governance.PolicyUnit) error {
	if a.ruling == nil {
		return nil
	}
	_, err := g.CheckUndecided(*a.ruling, governance.KindFiles)
	return err
}

// decide adds the review of a ruling to the unit.
func (a *application) decide(g *governance.PolicyUnit, verdict policy.Verdict) (err error) {
	if a.ruling != nil {
		a.review, err = g.Review(*a.ruling, verdict, governance.DecisionResult{SubjectKind: governance.KindFiles, ArtifactID: a.ruling.ArtifactID})
	}
	return err
}

// deny denies a waiting proposal, once. q is the same question that approving it asks.
func (s *Service) deny(ctx context.Context, r governance.Ruling, q policy.Question) (review string, err error) {
	err = governance.Govern(ctx, s.Workspace, func(g *governance.PolicyUnit) error {
		verdict, err := g.Enforce(r.ProjectID, q)
		if err != nil {
			return err
		}
		if review, err = g.CheckUndecided(r, governance.KindFiles); err != nil || review != "" {
			return err
		}
		review, err = g.Review(r, verdict, governance.DecisionResult{SubjectKind: governance.KindFiles, ArtifactID: r.ArtifactID})
		return err
	})
	return review, err
}
