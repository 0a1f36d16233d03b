package job

// Jobs with a planned context. Submission chooses the context, and each attempt keeps the plan that
// it started with.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"

	"ac/events"
	"ac/governance/contextplan"
	"ac/governance/policy"
	"ac/workspace"
	"ac/workspace/doc"
)

// planRequest returns the plan request of a job.
func planRequest(spec doc.JobSpec, seeds []doc.ContextRef) contextplan.Request {
	return contextplan.Request{
		ProjectID: spec.ProjectID, Manager: policy.Actor{ID: spec.ManagerActorID, Role: spec.ManagerRole, Team: spec.ManagerTeamID},
		WorkerID: spec.WorkerAgentID, JobKind: spec.JobKind, Goal: spec.Goal, Seeds: seeds, MaxRefs: spec.MaxContextRefs,
	}
}

// addPlannedContext adds the planned context to the spec of a job that asks for one: first the seeds that the
// plan kept, then the rest of the plan.
func addPlannedContext(w *workspace.Workspace, spec doc.JobSpec) (doc.JobSpec, error) {
	if spec.ContextMode != doc.ContextAuto {
		return spec, nil
	}
	plan, err := contextplan.For(w, planRequest(spec, spec.ContextRefs))
	if err != nil {
		return spec, err
	}
	refs := []doc.ContextRef{}
	for _, seed := range spec.ContextRefs {
		if containsRef(plan.Refs, seed) && !containsRef(refs, seed) {
			refs = append(refs, seed)
		}
	}
	for _, ref := range plan.Refs {
		if !containsRef(refs, ref) {
			refs = append(refs, ref)
		}
	}
	spec.ContextRefs = refs
	return spec, nil
}

// containsRef reports whether a list contains the same reference.
func containsRef(refs []doc.ContextRef, ref doc.ContextRef) bool {
	return slices.ContainsFunc(refs, func(r doc.ContextRef) bool { return r.Kind == ref.Kind && r.Value == ref.Value })
}

// planDocument is context_plan.json.
type planDocument struct {
	SchemaVersion int                `json:"schema_version"`
	Type          string             `json:"type"`
	GeneratedAt   string             `json:"generated_at"`
	RunID         string             `json:"run_id"`
	ContextPackID string             `json:"context_pack_id"`
	ProjectID     string             `json:"project_id"`
	WorkerAgentID string             `json:"worker_agent_id,omitempty"`
	ManagerID     string             `json:"manager_actor_id"`
	ManagerRole   string             `json:"manager_role"`
	Scope         planScope          `json:"scope"`
	Result        contextplan.Choice `json:"result"`
}

type planScope struct {
	Goal      string `json:"goal"`
	JobKind   string `json:"job_kind"`
	MaxRefs   int    `json:"max_refs"`
	ScopeKind string `json:"scope_kind"`
	ScopeRef  string `json:"scope_ref"`
}

// planPayload is the payload of context.plan.generated.
type planPayload struct {
	ContextPackID string   `json:"context_pack_id"`
	Relpath       string   `json:"context_plan_relpath"`
	Hash          string   `json:"context_plan_hash"`
	Layers        []string `json:"layers_used"`
	Refs          int      `json:"context_ref_count"`
	Policy        int      `json:"filtered_by_policy_count"`
	Sensitivity   int      `json:"filtered_by_sensitivity_count"`
	Secret        int      `json:"filtered_by_secret_count"`
}

// keepPlan writes the plan of an attempt before its worker starts. One unit writes the document,
// its hash in the attempt's record, and the event. It is a no-op for a job without a planned
// context.
func (r *runner) keepPlan(ctx context.Context, a *doc.JobAttempt) error {
	if r.spec.ContextMode != doc.ContextAuto {
		return nil
	}
	plan, err := r.replan()
	if err != nil {
		return err
	}
	text, err := indented(planDocument{
		SchemaVersion: doc.Version, Type: "context_plan", GeneratedAt: plan.GeneratedAt, RunID: a.RunID, ContextPackID: a.ContextPackID,
		ProjectID: r.project, WorkerAgentID: r.spec.WorkerAgentID, ManagerID: r.spec.ManagerActorID, ManagerRole: r.spec.ManagerRole,
		Scope:  planScope{r.spec.Goal, r.spec.JobKind, plan.MaxRefs, plan.ScopeKind, plan.ScopeRef},
		Result: plan.Choice,
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	a.ContextPlanRelpath = path.Join(workspace.ContextPackDir(r.project, a.ContextPackID), "bundle", "context_plan.json")
	a.ContextPlanHash = hex.EncodeToString(sum[:])
	draft, err := r.w.Events.Draft(events.Draft{
		RunID: a.RunID, SessionRef: a.SessionRef, Actor: r.spec.ManagerActorID, Visibility: events.VisibilityManagers, Type: events.ContextPlanned,
	}, planPayload{
		a.ContextPackID, a.ContextPlanRelpath, a.ContextPlanHash, plan.Layers, len(plan.Refs), plan.Policy, plan.Sensitivity, plan.Secret,
	})
	if err != nil {
		return err
	}
	return r.w.Update(ctx, func(u *workspace.Unit) error {
		record, err := r.loadIn(u)
		if err != nil {
			return err
		}
		record.Attempts = slices.Clone(record.Attempts)
		if kept := attemptIn(&record, a.Attempt); kept != nil {
			kept.ContextPlanRelpath, kept.ContextPlanHash = a.ContextPlanRelpath, a.ContextPlanHash
		}
		if err := u.Write(a.ContextPlanRelpath, text, 0o644); err != nil {
			return err
		}
		if err := r.put(u, record); err != nil {
			return err
		}
		u.Append(workspace.LogFile(r.project, a.RunID), draft)
		return nil
	})
}

// replan plans the job's context again. Its seeds are the job's references that the plan does not
// suggest by itself.
func (r *runner) replan() (contextplan.Plan, error) {
	offered := planRequest(r.spec, nil)
	offered.MaxRefs = contextplan.MaxRefs
	plan, err := contextplan.For(r.w, offered)
	if err != nil {
		return plan, err
	}
	seeds := slices.DeleteFunc(slices.Clone(r.spec.ContextRefs), func(ref doc.ContextRef) bool { return containsRef(plan.Refs, ref) })
	return contextplan.For(r.w, planRequest(r.spec, seeds))
}
