package governance

// Executive plans: who decides on a proposal to approve one, and whether a plan was approved in
// its current state.

import (
	"math"
	"strings"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// planMark precedes the id of an executive plan in a rationale. hashMark precedes the hash of the
// plan's text.
const (
	planMark = "executive_plan_artifact_id="
	hashMark = "sha256="
)

// PlanProposal returns a proposal that asks a CEO to approve an executive plan. text is the
// content of the plan's file.
func PlanProposal(env workspace.Env, project, projectName, producer, plan string, text []byte) (id string, record []byte, err error) {
	head := ArtifactSpec{
		Type: "heartbeat_action_proposal", Title: "CEO Approval Required: " + projectName + " Executive Plan", Visibility: "managers", ProducedBy: producer,
	}.Head(env)
	key, rationale := "approval:executive-plan:"+project+":"+plan, planMark+plan
	proposal := doc.HeartbeatProposal{
		Artifact: head, ProjectID: project, Rationale: rationale + " " + hashMark + hashOf(text),
		ProposedAction: doc.Action{
			ActionBody: doc.ActionBody{
				Kind: doc.ActionCreateApproval, IdempotencyKey: key, Risk: "medium", NeedsApproval: true, ProjectID: project,
			},
			Title: "Approve executive plan " + plan, Rationale: rationale,
			ProposedAction: &doc.ActionBody{
				Kind: doc.ActionNoop, IdempotencyKey: key + ":noop", Risk: "low", Reason: "The approval itself is what is asked for.",
			},
		},
	}
	body := "# " + head.Title + "\n\n## Summary\n\nThe executive plan `" + plan + "` waits for the CEO. Departments assign no work before it is approved.\n\n" +
		"## Proposed Action\n\nApprove the executive plan `" + plan + "` as it is now.\n\n## Policy\n\nA human or a CEO decides.\n"
	record, err = WriteRecord(doc.HeartbeatProposalCodec, proposal, []byte(body))
	return head.ID, record, err
}

// withPlanRule adds the rule of executive plans to a question if one of the proposal's rationales names
// a plan.
func withPlanRule(q policy.Question, rationales ...string) policy.Question {
	if strings.Contains(strings.Join(rationales, "\n"), planMark) {
		q.Resource.Approvers = policy.ExecutivesApprove
	}
	return q
}

// ApprovedPlan checks that an artifact of a project is an executive plan that a CEO or a human
// approved in its current state. A plan without approval is fault.ApprovalRequired. A plan that
// was changed after its approval is fault.Conflict.
func ApprovedPlan(w *workspace.Workspace, project, plan string) error {
	record, err := ReadArtifact(w, project, plan)
	if err != nil {
		return err
	}
	if _, err := DecodeItem(record, doc.ArtifactCodec); err != nil {
		return err
	}
	if kind := record.String("type"); kind != "executive_plan" {
		return fault.New(fault.InvalidFile, "%s is of type %s, not executive_plan", record.Name, kind)
	}
	reviews, err := Reviews(w, math.MaxInt)
	if err != nil {
		return err
	}
	changed := false
	for _, review := range reviews {
		about := review.Subject
		if review.Decision != Approved || about.Kind != KindHeartbeatAction || about.ProjectID != project || !byExecutive(w, review) {
			continue
		}
		hash, names := approvalOf(w, project, about.ArtifactID, plan)
		if names && (hash == "" || hash == hashOf(record.Text)) {
			return nil
		}
		changed = changed || names
	}
	if changed {
		return fault.New(fault.Conflict, "executive plan %s was changed after its approval; have it approved again", plan)
	}
	return fault.New(fault.ApprovalRequired, "CEO approval required for executive plan %s", plan)
}

// byExecutive reports whether a CEO or a human decided. The claimed role must be one of these and,
// for a recorded agent, the recorded role as well.
func byExecutive(w *workspace.Workspace, review doc.Review) bool {
	claimed := review.ActorRole
	recorded := policy.RecordedRole(w, policy.Actor{ID: review.ActorID, Role: claimed})
	return (claimed == "ceo" || claimed == "human") && (recorded == "ceo" || recorded == "human")
}

// approvalOf reports whether a proposal names a plan. hash is the plan's hash in the proposal, ""
// for none.
func approvalOf(w *workspace.Workspace, project, artifact, plan string) (hash string, names bool) {
	if !workspace.SafeID(artifact) {
		return "", false
	}
	record, err := ReadArtifact(w, project, artifact)
	if err != nil {
		return "", false
	}
	proposal, err := DecodeItem(record, doc.HeartbeatProposalCodec)
	if err != nil || proposal.ProjectID != project {
		return "", false
	}
	action := proposal.ProposedAction
	for _, rationale := range []string{proposal.Rationale, action.Rationale} {
		names = names || hasWord(rationale, planMark+plan)
	}
	for _, key := range []string{action.IdempotencyKey, innerKey(action)} {
		names = names || strings.HasSuffix(key, ":"+plan) || strings.HasSuffix(key, ":"+plan+":noop")
	}
	for word := range strings.FieldsSeq(proposal.Rationale) {
		if rest, ok := strings.CutPrefix(word, hashMark); ok {
			hash = rest
		}
	}
	return hash, names
}

func innerKey(action doc.Action) string {
	if action.ProposedAction == nil {
		return ""
	}
	return action.ProposedAction.IdempotencyKey
}

// hasWord reports whether a text contains a word that is not part of a longer id.
func hasWord(text, word string) bool {
	for word != "" {
		at := strings.Index(text, word)
		if at < 0 {
			return false
		}
		before, after := text[:at], text[at+len(word):]
		rest := strings.TrimLeft(after, ".")
		whole := after == "" || !strings.ContainsAny(after[:1], idCharacters) || after[0] == '.' && (rest == "" || !strings.ContainsAny(rest[:1], idCharacters))
		if whole && (before == "" || !strings.ContainsAny(before[len(before)-1:], idCharacters)) {
			return true
		}
		text = after
	}
	return false
}
