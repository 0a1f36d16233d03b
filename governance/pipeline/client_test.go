package pipeline_test

import (
	"slices"
	"strings"
	"testing"

	"ac/governance"
	"ac/governance/pipeline"
	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestClientIntakeFilled has a model write the plans. It checks that an approval covers only the
// plan that it names, and no longer covers that plan once its text changes.
func TestClientIntakeFilled(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	made, err := pipeline.TakeInClient(t.Context(), c.Workspace, c.conductor(), pipeline.ClientSpec{
		Name: "Shop", CEOActor: "human_ceo", ExecutiveManager: c.claude, Text: "Sell coffee.", Model: "some-model",
	})
	if err != nil {
		t.Fatal(err)
	}
	if g := made.Generation; g.Mode != "provider_with_fallback" || g.Attempted != 3 || g.Succeeded+g.Failed != 3 || g.Succeeded == 0 {
		t.Errorf("%+v", g)
	}
	log, err := c.Read(made.Generation.AuditLog)
	if err != nil || strings.Count(string(log), "\n") != 3 || !strings.Contains(string(log), `"event":"provider_fill_succeeded"`) {
		t.Errorf("%s (%v)", log, err)
	}
	// Each line has the time at which its own fill ended.
	var times []string
	for line := range strings.Lines(string(log)) {
		times = append(times, line[:len(`{"ts":"2026-11-20T14:59:44.066Z"`)])
	}
	if !slices.IsSorted(times) || times[0] == times[len(times)-1] {
		t.Errorf("%q", times)
	}
	item := governance.Item{ProjectID: made.ProjectID, ArtifactID: made.Artifacts.Approval}
	plan := made.Artifacts.ExecutivePlan
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, plan); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("before the approval: %v", err)
	}
	// A manager claims to be a human and approves an item whose key alone refers to the plan.
	usurp(t, c, made.ProjectID, plan)
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, plan); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("approved by a manager who claims to be a human: %v", err)
	}
	approve(t, c.Workspace, item, policy.Actor{ID: "human", Role: "human"})
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, plan); err != nil {
		t.Errorf("after the approval: %v", err)
	}
	file := governance.ArtifactFile(made.ProjectID, plan)
	text, err := c.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	other := governance.ArtifactFile(made.ProjectID, plan[:len(plan)-1])
	shorter := strings.Replace(string(text), "id: "+plan+"\n", "id: "+plan[:len(plan)-1]+"\n", 1)
	if err := c.Replace(other, []byte(shorter), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, plan[:len(plan)-1]); !fault.Is(err, fault.ApprovalRequired) {
		t.Errorf("a plan whose id is part of another's: %v", err)
	}
	if err := c.Replace(file, append(text, "\nOne more thing.\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, plan); !fault.Is(err, fault.Conflict) {
		t.Errorf("a plan that was changed: %v", err)
	}
	c.project = made.ProjectID
	c.sound()
}

// TestApprovalByRecord has the CEO approve under another role. It checks that the role in the
// agent's record counts, so the plan is approved.
func TestApprovalByRecord(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	ceo, err := c.NewAgent(t.Context(), workspace.AgentSpec{Name: "Cleo", Role: "ceo", Provider: "manual"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := pipeline.TakeInClient(t.Context(), c.Workspace, c.conductor(), pipeline.ClientSpec{Name: "Shop", CEOActor: ceo, ExecutiveManager: c.claude})
	if err != nil {
		t.Fatal(err)
	}
	approve(t, c.Workspace, governance.Item{ProjectID: made.ProjectID, ArtifactID: made.Artifacts.Approval}, policy.Actor{ID: ceo, Role: "manager"})
	if err := governance.ApprovedPlan(c.Workspace, made.ProjectID, made.Artifacts.ExecutivePlan); err != nil {
		t.Errorf("approved by the CEO: %v", err)
	}
	reviews, err := governance.Reviews(c.Workspace, 10)
	if err != nil || len(reviews) != 1 || reviews[0].ActorRole != "ceo" {
		t.Errorf("%+v (%v)", reviews, err)
	}
}

// approve writes the review that an approval of the proposal by this actor leaves.
func approve(t *testing.T, w *workspace.Workspace, item governance.Item, actor policy.Actor) {
	t.Helper()
	r := governance.Ruling{Item: item, Decision: governance.Approved, Actor: actor}
	err := governance.Govern(t.Context(), w, func(g *governance.PolicyUnit) error {
		proposal, err := g.Proposal(r)
		if err != nil {
			return err
		}
		verdict, err := g.Enforce(r.ProjectID, governance.ProposalQuestion(r, proposal))
		if err != nil {
			return err
		}
		_, err = g.Review(r, verdict, governance.DecisionResult{SubjectKind: governance.KindHeartbeatAction, ArtifactID: item.ArtifactID, ProposedActionKind: doc.ActionCreateApproval})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// usurp has a manager who claims to be a human approve its own proposal for a plan.
func usurp(t *testing.T, c *company, project, plan string) {
	t.Helper()
	head := governance.ArtifactSpec{Type: "heartbeat_action_proposal", Title: "Tidy up", Visibility: "managers", ProducedBy: c.claude}.Head(c.Env)
	text, err := governance.WriteRecord(doc.HeartbeatProposalCodec, doc.HeartbeatProposal{
		Artifact: head, ProjectID: project,
		ProposedAction: doc.Action{ActionBody: doc.ActionBody{Kind: doc.ActionNoop, IdempotencyKey: "tidy:" + plan, Risk: "low", Reason: "r"}},
	}, []byte("## Summary\n\n## Proposed Action\n\n## Policy\n"))
	if err == nil {
		err = c.Replace(governance.ArtifactFile(project, head.ID), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	approve(t, c.Workspace, governance.Item{ProjectID: project, ArtifactID: head.ID}, policy.Actor{ID: c.claude, Role: "human"})
}
