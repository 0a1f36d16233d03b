package workforce

// Share packs: replaying them and, for commands only, creating them.

import (
	"context"
	"encoding/json"
	"os"

	"ac/company"
	"ac/events"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs"
	"ac/runs/sharepack"
	"ac/workspace"
	"ac/workspace/doc"
)

// CreateSharePackParams are the params of the command sharepack:create.
type CreateSharePackParams struct {
	company.Dir
	ProjectID string `json:"project_id" is:"id"`
	CreatedBy string `json:"created_by"`
}

// CreateSharePackResult is a new share pack. Paths are relative to the
// workspace.
type CreateSharePackResult struct {
	SharePackID         string   `json:"share_pack_id"`
	ManifestRelpath     string   `json:"manifest_relpath"`
	BundleRelpath       string   `json:"bundle_relpath"`
	IncludedArtifactIDs []string `json:"included_artifact_ids"`
	IncludedRunIDs      []string `json:"included_run_ids"`
}

// CreateSharePack creates a share pack of a project, atomically and durably. It redacts apparent
// secrets and the values of secret-looking environment variables of this process.
func (c Operations) CreateSharePack(ctx context.Context, p CreateSharePackParams) (CreateSharePackResult, error) {
	if issues := company.NotBlank("created_by", p.CreatedBy); issues != nil {
		return CreateSharePackResult{}, fault.Invalid(issues...)
	}
	redactor := redact.NewRedactor(redact.FromEnviron(os.Environ()))
	made, err := sharepack.Create(ctx, c.Workspace(), redactor, p.ProjectID, p.CreatedBy)
	if err != nil {
		return CreateSharePackResult{}, err
	}
	return CreateSharePackResult{
		SharePackID: made.ID, ManifestRelpath: workspace.SharePackFile(p.ProjectID, made.ID), BundleRelpath: sharepack.BundleDir(p.ProjectID, made.ID),
		IncludedArtifactIDs: made.ArtifactIDs, IncludedRunIDs: made.RunIDs,
	}, nil
}

// SharePacks lists the readable share packs of a project.
func (c Operations) SharePacks(_ context.Context, p company.ProjectParams) ([]doc.SharePack, error) {
	return sharepack.List(c.Workspace(), p.ProjectID)
}

// ReplaySharePackParams are the params of sharepack.replay.
type ReplaySharePackParams struct {
	company.Dir
	ProjectID   string `json:"project_id" is:"id"`
	SharePackID string `json:"share_pack_id" is:"id"`
	RunID       string `json:"run_id" is:"optional,id"`
	Tail        int    `json:"tail" is:"optional,gt=0"`
	Mode        string `json:"mode" is:"default=raw,enum=raw|verified|deterministic"`
}

// ReplaySharePackResult is the result of sharepack.replay.
type ReplaySharePackResult struct {
	SharePackID string        `json:"share_pack_id"`
	ProjectID   string        `json:"project_id"`
	Mode        string        `json:"mode"`
	Runs        []ReplayedRun `json:"runs"`
}

// ReplayedRun is the log of one run in a share pack.
type ReplayedRun struct {
	RunID              string               `json:"run_id"`
	SourceRelpath      string               `json:"source_relpath"`
	BundleRelpath      string               `json:"bundle_relpath"`
	Events             []json.RawMessage    `json:"events"`
	ParseIssues        []events.ParseIssue  `json:"parse_issues"`
	VerificationIssues []events.VerifyIssue `json:"verification_issues"`
	DeterministicOK    bool                 `json:"deterministic_ok"`
}

// ReplaySharePack replays the logs in a share pack. Verification reports redactions and
// omissions, because the hashes are those of the original logs.
func (c Operations) ReplaySharePack(_ context.Context, p ReplaySharePackParams) (ReplaySharePackResult, error) {
	result := ReplaySharePackResult{SharePackID: p.SharePackID, ProjectID: p.ProjectID, Mode: p.Mode, Runs: []ReplayedRun{}}
	replays, err := sharepack.Replay(c.Workspace(), p.ProjectID, p.SharePackID, p.RunID, events.ReplayOptions{Verify: p.Mode != runs.ModeRaw, Tail: p.Tail})
	for _, r := range replays {
		result.Runs = append(result.Runs, ReplayedRun{r.RunID, r.SourceRelpath, r.BundleRelpath, r.Events, r.ParseIssues, r.VerificationIssues, r.DeterministicOK})
	}
	return result, err
}
