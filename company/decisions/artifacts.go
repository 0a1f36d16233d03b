package decisions

// Artifacts: listing them, and reading them and their evidence under the policy.

import (
	"context"

	"ac/company"
	"ac/governance"
	"ac/internal/shape"
	"ac/workspace/doc"
)

// ReadArtifactParams are the params of artifact.read.
type ReadArtifactParams struct {
	company.Dir
	company.ActorParams
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	RunID      string `json:"run_id,omitempty" is:"optional,id"`
}

// ReadArtifactResult is the result of artifact.read. Markdown is the unchanged content of the
// file.
type ReadArtifactResult struct {
	ArtifactID      string      `json:"artifact_id"`
	ArtifactRelpath string      `json:"artifact_relpath"`
	Frontmatter     shape.Value `json:"frontmatter"`
	Markdown        string      `json:"markdown"`
}

// ReadArtifact reads an artifact if the actor may see it. It logs the policy's decision.
func (c Operations) ReadArtifact(ctx context.Context, p ReadArtifactParams) (ReadArtifactResult, error) {
	record, err := governance.ReadAs(ctx, c.Workspace(), p.ProjectID, p.ArtifactID, p.RunID, p.Actor())
	if err != nil {
		return ReadArtifactResult{}, err
	}
	return ReadArtifactResult{record.String("id"), record.Name, record.Fields, string(record.Text)}, nil
}

// ArtifactNames lists the readable artifacts of a project by id. It writes nothing.
func (c Operations) ArtifactNames(_ context.Context, p company.ProjectParams) ([]doc.Artifact, error) {
	return governance.Artifacts(c.Workspace(), p.ProjectID)
}

// EvidenceParams are the params of artifact.evidence.
type EvidenceParams struct {
	company.Dir
	ProjectID  string `json:"project_id" is:"id"`
	ArtifactID string `json:"artifact_id" is:"id"`
	Mask       bool   `json:"mask" is:"default=true"`
	company.FilesActor
}

// Evidence reads the evidence of a milestone report, if the actor may read the report. It logs
// the policy's decision.
func (c Operations) Evidence(ctx context.Context, p EvidenceParams) (governance.MilestoneEvidence, error) {
	if _, err := governance.ReadAs(ctx, c.Workspace(), p.ProjectID, p.ArtifactID, "", p.Actor()); err != nil {
		return governance.MilestoneEvidence{}, err
	}
	return governance.ReportEvidence(c.Workspace(), governance.Item{ProjectID: p.ProjectID, ArtifactID: p.ArtifactID}, p.Mask)
}
