package governance

// Memory deltas: lines that somebody proposes for a curated memory, stored as an artifact with a
// patch.

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"ac/internal/fault"
	"ac/internal/patch"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

// DeltaSpec describes a proposal: lines below a line of a file. The default file is the memory of
// the project.
type DeltaSpec struct {
	ProjectID     string
	Title         string
	TargetFile    string
	Under         string
	Lines         []string
	Visibility    string
	ProducedBy    string
	RunID         string
	ContextPackID string
	Evidence      []string
	// Scope selects a version 2 delta; nil selects version 1.
	Scope *doc.DeltaScope
	// Remove proposes to remove the lines below that line instead of inserting them.
	Remove bool
	// AtEnd appends the line, followed by the proposed lines, to a file that does not contain it.
	AtEnd bool
}

// DeltaProposal is a new delta. Names are relative to the workspace.
type DeltaProposal struct {
	ArtifactID      string `json:"artifact_id"`
	ArtifactRelpath string `json:"artifact_relpath"`
	PatchRelpath    string `json:"patch_relpath"`
	TargetFile      string `json:"target_file"`
	// Set for version 2.
	ScopeKind string `json:"scope_kind,omitempty"`
	ScopeRef  string `json:"scope_ref,omitempty"`
}

// ProposeDelta writes a delta and its patch. Both are durable on return. It does not change the
// target.
func ProposeDelta(ctx context.Context, w *workspace.Workspace, spec DeltaSpec) (made DeltaProposal, err error) {
	err = w.Update(ctx, func(u *workspace.Unit) error {
		made, err = PutDelta(u, spec)
		return err
	})
	return made, err
}

// PutDelta adds a delta and its patch to a unit. The patch is verified to produce the new text of
// the target, read as the unit will leave it.
func PutDelta(u *workspace.Unit, spec DeltaSpec) (DeltaProposal, error) {
	w := u.Workspace()
	if err := doc.CheckTitle(spec.Title); err != nil {
		return DeltaProposal{}, err
	}
	if err := mustExist(w, spec.ProjectID); err != nil {
		return DeltaProposal{}, err
	}
	if spec.TargetFile == "" {
		spec.TargetFile = workspace.MemoryFile(spec.ProjectID)
	}
	file, err := targetIn(u, spec)
	if err != nil {
		return DeltaProposal{}, err
	}
	old, err := u.Read(file.resolved)
	if err != nil {
		return DeltaProposal{}, err
	}
	var lines []string
	for _, entry := range spec.Lines {
		lines = append(lines, strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(entry), "\n")...)
	}
	text, difference, err := spec.change(file.name, string(old), lines)
	if errors.Is(err, patch.ErrNoLine) && spec.Remove {
		return DeltaProposal{}, fault.New(fault.NotFound, "%s does not have these lines", file.name)
	}
	if errors.Is(err, patch.ErrNoLine) {
		return DeltaProposal{}, fault.New(fault.NotFound, "%s has no line %q", file.name, spec.Under)
	}
	if err != nil {
		return DeltaProposal{}, fmt.Errorf("%s: %w", file.name, err)
	}
	if max(len(text), len(difference)) > yamldoc.MaxBytes {
		return DeltaProposal{}, fault.New(fault.Conflict, "%s would have more than %d bytes", file.name, yamldoc.MaxBytes)
	}
	head := ArtifactSpec{
		Type: "memory_delta", Title: spec.Title, Visibility: spec.Visibility, ProducedBy: spec.ProducedBy, RunID: spec.RunID, ContextPackID: spec.ContextPackID,
	}.Head(w.Env)
	delta := doc.MemoryDelta{
		Artifact: head, ProjectID: spec.ProjectID, TargetFile: file.name, PatchFile: patchFile(spec.ProjectID, head.ID), Evidence: spec.Evidence,
	}
	if len(spec.Evidence) == 0 {
		delta.Evidence = nil
	}
	if spec.Scope != nil {
		delta.SchemaVersion, delta.DeltaScope = doc.DeltaVersion2, *spec.Scope
	}
	record, err := WriteRecord(doc.MemoryDeltaCodec, delta, deltaBody(delta, spec, lines))
	if err != nil {
		return DeltaProposal{}, err
	}
	if err := u.Write(delta.PatchFile, []byte(difference), 0o644); err != nil {
		return DeltaProposal{}, err
	}
	made := DeltaProposal{
		ArtifactID: head.ID, ArtifactRelpath: ArtifactFile(spec.ProjectID, head.ID), PatchRelpath: delta.PatchFile, TargetFile: file.name,
		ScopeKind: delta.ScopeKind, ScopeRef: delta.ScopeRef,
	}
	return made, CreateArtifact(u, spec.ProjectID, head.ID, record)
}

// change returns the changed text of the target, and the patch that produces it.
func (spec DeltaSpec) change(name, old string, lines []string) (text, difference string, err error) {
	if spec.Remove {
		return patch.Remove(name, old, spec.Under, lines)
	}
	text, difference, err = patch.Insert(name, old, spec.Under, lines)
	if errors.Is(err, patch.ErrNoLine) && spec.AtEnd {
		return patch.Append(name, old, append([]string{spec.Under}, lines...))
	}
	return text, difference, err
}

// patchFile returns the name of a delta's patch file.
func patchFile(project, id string) string {
	return path.Join(workspace.ArtifactsDir(project), id+".patch")
}

// deltaBody returns the Markdown that people read about a delta.
func deltaBody(delta doc.MemoryDelta, spec DeltaSpec, lines []string) []byte {
	var b strings.Builder
	place := "inserted_under"
	if spec.Remove {
		place = "removed_under"
	}
	fmt.Fprintf(&b, "# %s\n\n## Summary\n\n", delta.Title)
	if delta.SchemaVersion == doc.DeltaVersion2 {
		fmt.Fprintf(&b, "- rationale: %s\n", strings.Join(strings.Fields(delta.Rationale), " "))
		for _, bullet := range [][2]string{{"scope_kind", delta.ScopeKind}, {"scope_ref", delta.ScopeRef}, {"sensitivity", delta.Sensitivity}} {
			fmt.Fprintf(&b, "- %s: %s\n", bullet[0], codeSpan(bullet[1]))
		}
		b.WriteByte('\n')
	}
	b.WriteString("## Changes\n\n")
	for _, bullet := range [][2]string{{"target_file", delta.TargetFile}, {"patch_file", delta.PatchFile}, {place, spec.Under}} {
		fmt.Fprintf(&b, "- %s: %s\n", bullet[0], codeSpan(bullet[1]))
	}
	block := strings.Join(lines, "\n")
	fence := strings.Repeat("`", max(3, longestRun(block)+1))
	fmt.Fprintf(&b, "\n%stext\n%s\n%s\n\n## Evidence\n", fence, block, fence)
	for i, id := range delta.Evidence {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(id), " "))
	}
	return []byte(b.String())
}

// codeSpan quotes a text in backticks, with more backticks than any run inside it.
func codeSpan(text string) string {
	fence := strings.Repeat("`", longestRun(text)+1)
	if fence == "`" {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
