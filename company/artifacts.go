package company

// Artifacts: reading them under the policy, and, for commands only, making and
// checking their files.

import (
	"context"

	"ac/governance"
	"ac/internal/shape"
	"ac/workspace/doc"
)

// ReadArtifactParams are the params of artifact.read.
type ReadArtifactParams struct {
	Dir
	ActorParams
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	RunID      string `json:"run_id,omitempty" is:"optional,id"`
}

// ReadArtifactResult is the result of artifact.read. Markdown is the unchanged
// file.
type ReadArtifactResult struct {
	ArtifactID      string      `json:"artifact_id"`
	ArtifactRelpath string      `json:"artifact_relpath"`
	Frontmatter     shape.Value `json:"frontmatter"`
	Markdown        string      `json:"markdown"`
}

// ReadArtifact reads an artifact if the actor may see it. The policy's decision
// is logged.
func (c *Company) ReadArtifact(ctx context.Context, p ReadArtifactParams) (ReadArtifactResult, error) {
	record, err := governance.ReadAs(ctx, c.w, p.ProjectID, p.ArtifactID, p.RunID, p.actor())
	if err != nil {
		return ReadArtifactResult{}, err
	}
	return ReadArtifactResult{record.String("id"), record.Name, record.Fields, string(record.Text)}, nil
}

// NewArtifact writes the template of an artifact to any file. It replaces an
// existing one only with force.
func (cs *Host) NewArtifact(file string, spec governance.ArtifactSpec, force bool) error {
	text, err := governance.Template(spec.Head(cs.env))
	if err != nil {
		return err
	}
	return governance.WriteFile(cs.env, file, text, force)
}

// ArtifactNames lists the readable artifacts of a project by id. It does not
// write.
func (c *Company) ArtifactNames(_ context.Context, p ProjectParams) ([]doc.Artifact, error) {
	return governance.Artifacts(c.w, p.ProjectID)
}

// EvidenceParams are the params of artifact.evidence.
type EvidenceParams struct {
	Dir
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	Mask       bool   `json:"mask" is:"default=true"`
	FilesActor
}

// Evidence reads what a milestone report offers as proof, if the actor may read the report.
// The policy's decision is logged.
func (c *Company) Evidence(ctx context.Context, p EvidenceParams) (governance.MilestoneEvidence, error) {
	if _, err := governance.ReadAs(ctx, c.w, p.ProjectID, p.ArtifactID, "", p.actor()); err != nil {
		return governance.MilestoneEvidence{}, err
	}
	return governance.ReportEvidence(c.w, governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ArtifactID}, p.Mask)
}
