package governance

// Proposals of the heartbeat: checking the policy, and denying them. Package inbox carries out
// approvals.

import (
	"context"

	"ac/governance/policy"
	"ac/workspace"
	"ac/workspace/doc"
)

// ProposalQuestion returns the question whether an actor may decide on a proposal.
func ProposalQuestion(r Ruling, proposal doc.HeartbeatProposal) policy.Question {
	return withPlanRule(proposalQuestion(r, proposal.Visibility, proposal.RunID), proposal.Rationale, proposal.ProposedAction.Rationale)
}

func proposalQuestion(r Ruling, visibility, run string) policy.Question {
	resource := policy.Resource{ID: r.ArtifactID, Kind: "heartbeat_action_proposal", Visibility: visibility}
	return policy.Question{Action: policy.Approve, Resource: resource, Actor: r.Actor, RunID: run}
}

// Proposal reads the proposal of a ruling and checks its type and project.
func (g *PolicyUnit) Proposal(r Ruling) (doc.HeartbeatProposal, error) {
	record, err := ReadArtifact(g, r.ProjectID, r.ArtifactID)
	if err != nil {
		return doc.HeartbeatProposal{}, err
	}
	proposal, err := DecodeItem(record, doc.HeartbeatProposalCodec)
	if err != nil {
		return proposal, err
	}
	return proposal, record.InProject(r.ProjectID)
}

// DenyProposal denies a proposal. None of its actions run. The proposal need not be valid:
// unreadable fields are left out.
func DenyProposal(ctx context.Context, w *workspace.Workspace, r Ruling) (resolved Resolution, err error) {
	r.Decision = Denied
	resolved = r.Resolution(KindHeartbeatAction)
	err = Govern(ctx, w, func(g *PolicyUnit) error {
		record, base, err := g.deniable(r)
		if err != nil {
			return err
		}
		action := record.Fields.Get("proposed_action")
		question := withPlanRule(proposalQuestion(r, base.Visibility, base.RunID), record.String("rationale"), action.Get("rationale").Text)
		verdict, err := g.Enforce(r.ProjectID, question)
		if err != nil {
			return err
		}
		resolved.ReviewID, err = g.deny(r, verdict, DecisionResult{SubjectKind: KindHeartbeatAction, ArtifactID: r.ArtifactID, ProposedActionKind: action.Get("kind").Text})
		return err
	})
	return resolved, err
}
