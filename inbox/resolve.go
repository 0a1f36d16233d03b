package inbox

// Deciding on an item according to its type.

import (
	"context"

	"ac/governance"
	"ac/governance/files"
	"ac/heartbeat"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// Launcher launches the jobs of approved proposals.
type Launcher = heartbeat.JobLauncher

// Resolve decides on an item. The decision is durable on return, with its review and its events.
// An item is decided only once. launcher launches jobs; if it is nil, proposals that launch jobs
// can only be denied. For an artifact that is not an item, the error is fault.Unsupported. Other
// errors are those of the decisions in package governance.
func Resolve(ctx context.Context, w *workspace.Workspace, r governance.Ruling, launcher Launcher) (governance.Resolution, error) {
	record, err := governance.ReadArtifact(w, r.ProjectID, r.ArtifactID)
	if err != nil {
		return governance.Resolution{}, err
	}
	approved := r.Decision == governance.Approved
	switch kind := record.String("type"); {
	case kind == "memory_delta":
		return decideDelta(ctx, w, r)
	case kind == "milestone_report" && approved:
		return governance.ApproveMilestone(ctx, w, governance.MilestoneRuling{Ruling: r})
	case kind == "milestone_report":
		return governance.DenyMilestone(ctx, w, r)
	case kind == "heartbeat_action_proposal" && approved:
		return approveProposal(ctx, w, r, launcher)
	case kind == "heartbeat_action_proposal":
		return governance.DenyProposal(ctx, w, r)
	case kind == "proposal" && record.String("proposes") == doc.ProposesFiles:
		service, err := files.NewService(w, files.NewMemory())
		if err != nil {
			return governance.Resolution{}, err
		}
		return service.Resolve(ctx, r)
	default:
		return governance.Resolution{}, fault.New(fault.Unsupported, "%s is a %q; only memory_delta, milestone_report and heartbeat_action_proposal can be decided on", record.Name, kind)
	}
}

func decideDelta(ctx context.Context, w *workspace.Workspace, r governance.Ruling) (resolved governance.Resolution, err error) {
	resolved = r.Resolution(governance.KindMemoryDelta)
	resolved.ReviewID, err = governance.DecideDelta(ctx, w, r)
	return resolved, err
}
