package policy

// Questions to the policy, verdicts, and the events that record verdicts.

import (
	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
)

// Question is what somebody wants to do. RunID is the run whose log records the verdict, "" for
// none.
type Question struct {
	Action   string
	Resource Resource
	Actor    Actor // as claimed
	RunID    string
}

// Verdict is a question with its decision. Actor is the effective one.
type Verdict struct {
	Question
	Decision Decision
	unknown  error // why the actor cannot be determined
}

// Ask decides. It writes nothing. An actor whose record cannot be read is denied.
func Ask(w *workspace.Workspace, q Question) Verdict {
	actor, err := Effective(w, q.Actor)
	if err != nil {
		return Verdict{q, Decision{false, "actor.record", "actor_record_unreadable"}, err}
	}
	if q.Resource.Approvers == ExecutivesApprove || q.Resource.Approvers == HumansApprove {
		actor.Role = RecordedRole(w, actor)
	}
	q.Actor = actor
	return Verdict{Question: q, Decision: Decide(q.Action, q.Resource, q.Actor)}
}

// Refusal returns the error of a denial, nil if the action is allowed. If agents wait for the
// decision, the error is fault.ActorNotAllowed, otherwise fault.Denied.
func (v Verdict) Refusal() error {
	if v.Decision.Allowed {
		return nil
	}
	if v.unknown != nil {
		return v.unknown
	}
	word := v.Action
	if word == Approve {
		word = "approval"
	}
	denied := fault.New(fault.Denied, "Policy denied %s: %s (%s)", word, v.Decision.RuleID, v.Decision.Reason)
	if len(v.Resource.Askers) > 0 {
		denied.Reason, denied.Data = fault.ActorNotAllowed, ruleData{v.Decision.RuleID}
	}
	return denied
}

// ruleData is the data of fault.ActorNotAllowed: the rule that decided.
type ruleData struct {
	Rule string `json:"rule"`
}

// decisionPayload is the payload of policy.decision.
type decisionPayload struct {
	Decision
	Action             string  `json:"action"`
	ResourceID         string  `json:"resource_id"`
	ResourceKind       *string `json:"resource_kind"`
	ResourceVisibility string  `json:"resource_visibility"`
}

// deniedPayload is the payload of policy.denied.
type deniedPayload struct {
	Action             string   `json:"action"`
	ResourceID         string   `json:"resource_id"`
	ResourceKind       *string  `json:"resource_kind"`
	ResourceVisibility string   `json:"resource_visibility"`
	Policy             Decision `json:"policy"`
}

// Events returns the events that record a verdict: policy.decision and, for a denial,
// policy.denied after it.
func (v Verdict) Events(source events.Source) ([]events.Draft, error) {
	base := events.Draft{RunID: v.RunID, SessionRef: "local_" + v.RunID, Actor: v.Actor.ID, Visibility: events.VisibilityManagers}
	var kind *string
	if v.Resource.Kind != "" {
		kind = &v.Resource.Kind
	}
	base.Type = events.PolicyDecision
	decided, err := source.Draft(base, decisionPayload{v.Decision, v.Action, v.Resource.ID, kind, v.Resource.Visibility})
	if err != nil || v.Decision.Allowed {
		return []events.Draft{decided}, err
	}
	base.Type = events.PolicyDenied
	denied, err := source.Draft(base, deniedPayload{v.Action, v.Resource.ID, kind, v.Resource.Visibility, v.Decision})
	return []events.Draft{decided, denied}, err
}
