package governance

// Proposing version 2 memory deltas. Their scope determines the target file, and nothing that
// looks like a secret may be in them.

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/workspace"
	"ac/workspace/doc"
)

// ProposeScoped is ProposeDelta for a version 2 delta. The target follows from the scope. If the
// scope is the guidance of an agent that has none, the guidance is created.
func ProposeScoped(ctx context.Context, w *workspace.Workspace, spec DeltaSpec) (made DeltaProposal, err error) {
	if err := mustExist(w, spec.ProjectID); err != nil {
		return made, err
	}
	scope := *spec.Scope
	scope.Rationale = strings.TrimSpace(scope.Rationale)
	if scope.ScopeKind == doc.ScopeProject {
		scope.ScopeRef = cmp.Or(scope.ScopeRef, spec.ProjectID)
	}
	spec.Scope, spec.TargetFile = &scope, ScopeTarget(spec.ProjectID, scope)
	switch {
	case scope.ScopeKind == doc.ScopeProject && scope.ScopeRef != spec.ProjectID:
		return made, fault.New(fault.Conflict, "scope_ref of %s must be the project %s, or absent", doc.ScopeProject, spec.ProjectID)
	case scope.Sensitivity == doc.SensitivityRestricted && spec.Visibility == events.VisibilityOrg:
		return made, fault.New(fault.Conflict, "restricted memory cannot have the visibility org; choose managers, team or private_agent")
	}
	if err := checkSecrets(spec); err != nil {
		return made, err
	}
	err = w.Update(ctx, func(u *workspace.Unit) error {
		if scope.ScopeKind == doc.ScopeAgent {
			if _, err := w.Agent(scope.ScopeRef); err != nil {
				return err
			}
			if err := ensureGuidance(u, scope.ScopeRef); err != nil {
				return err
			}
		}
		made, err = PutDelta(u, spec)
		return err
	})
	return made, err
}

// ScopeTarget returns the target file of a scope. The id of an agent must have been checked.
func ScopeTarget(project string, scope doc.DeltaScope) string {
	if scope.ScopeKind == doc.ScopeAgent {
		return workspace.GuidanceFile(scope.ScopeRef)
	}
	return workspace.MemoryFile(project)
}

// checkSecrets rejects secrets in what the proposer wrote. It does not check the patch, whose
// context lines are old text.
func checkSecrets(spec DeltaSpec) error {
	for _, part := range []struct{ label, text string }{
		{"memory_delta.title", spec.Title}, {"memory_delta.rationale", spec.Scope.Rationale},
		{"memory_delta.insert_lines", strings.Join(spec.Lines, "\n")},
		{"memory_delta.evidence", strings.Join(spec.Evidence, "\n")}, {"memory_delta.under_heading", spec.Under},
	} {
		if err := redact.CheckNoSecret(part.label, part.text); err != nil {
			return err
		}
	}
	return nil
}

// ensureGuidance creates the guidance file of an agent if it is missing.
func ensureGuidance(u *workspace.Unit, agent string) error {
	file := workspace.GuidanceFile(agent)
	if u.Exists(file) {
		return nil
	}
	return u.Write(file, doc.NewGuidance(agent), 0o644)
}

// targetIn is findTarget for the target of a delta. The target may be guidance that the unit
// creates.
func targetIn(u *workspace.Unit, spec DeltaSpec) (target, error) {
	file, err := findTarget(u.Workspace(), spec.TargetFile)
	if fault.Is(err, fault.NotFound) && spec.Scope != nil && u.Exists(spec.TargetFile) {
		return target{spec.TargetFile, spec.TargetFile}, nil
	}
	return file, err
}

// Evidence trims references and drops blank ones.
func Evidence(given []string) []string {
	kept := make([]string, 0, len(given))
	for _, ref := range given {
		kept = append(kept, strings.TrimSpace(ref))
	}
	return slices.DeleteFunc(kept, func(ref string) bool { return ref == "" })
}
