package decisions

// Proposing and listing memory deltas. A proposal with any field of the second form creates a
// version 2 delta. All others create a version 1 delta.

import (
	"context"
	"slices"
	"strings"

	"ac/company"
	"ac/governance"
	"ac/internal/fault"
	"ac/internal/shape"
	"ac/workspace/doc"
)

// ProposeDeltaParams are the params of memory.propose_delta, in both forms.
type ProposeDeltaParams struct {
	company.Dir
	ProjectID     string   `json:"project_id" is:"id"`
	Title         string   `json:"title"`
	UnderHeading  string   `json:"under_heading"`
	InsertLines   []string `json:"insert_lines" is:"minitems=1"`
	Visibility    string   `json:"visibility" is:"visibility"`
	ProducedBy    string   `json:"produced_by"`
	RunID         string   `json:"run_id"`
	ContextPackID string   `json:"context_pack_id"`
	TargetFile    string   `json:"target_file,omitempty" is:"optional"`
	Evidence      []string `json:"evidence,omitempty" is:"optional,empty"`
	// Remove proposes to remove the lines, which must be consecutive below the heading.
	Remove bool `json:"remove" is:"default=false"`
	// Any of these selects the second form.
	ScopeKind   *string `json:"scope_kind,omitempty" is:"optional,enum=project_memory|agent_guidance"`
	ScopeRef    *string `json:"scope_ref,omitempty" is:"optional"`
	Sensitivity *string `json:"sensitivity,omitempty" is:"optional,enum=public|internal|restricted"`
	Rationale   *string `json:"rationale,omitempty" is:"optional"`
}

// scoped reports whether the params use the second form.
func (p *ProposeDeltaParams) scoped() bool {
	return p.ScopeKind != nil || p.ScopeRef != nil || p.Sensitivity != nil || p.Rationale != nil
}

func (p *ProposeDeltaParams) scope() *doc.DeltaScope {
	text := func(given *string) string {
		if given == nil {
			return ""
		}
		return *given
	}
	return &doc.DeltaScope{ScopeKind: text(p.ScopeKind), ScopeRef: text(p.ScopeRef), Sensitivity: text(p.Sensitivity), Rationale: text(p.Rationale)}
}

// CheckFields validates the fields of the second form. Empty evidence is an error in the first
// form, while the second form drops it.
func (p *ProposeDeltaParams) CheckFields() (issues []fault.Issue) {
	if !p.scoped() {
		for i, ref := range p.Evidence {
			if ref == "" {
				issues = append(issues, fault.Issue{
					Path: []any{"evidence", i}, Code: "too_small", Minimum: new(1.0), Inclusive: new(true), Message: "must not be empty",
				})
			}
		}
		return issues
	}
	refuse := func(field, why string) {
		issues = append(issues, fault.Issue{Path: []any{field}, Code: "custom", Message: why})
	}
	scope := p.scope()
	for _, due := range [][2]string{{"scope_kind", scope.ScopeKind}, {"sensitivity", scope.Sensitivity}} {
		if due[1] == "" {
			refuse(due[0], "is required with scope_kind, scope_ref, sensitivity or rationale")
		}
	}
	if strings.TrimSpace(scope.Rationale) == "" {
		refuse("rationale", "is required with scope_kind, scope_ref or sensitivity, and must not be blank")
	}
	if len(governance.Evidence(p.Evidence)) == 0 {
		refuse("evidence", "must have at least one item that is not blank")
	}
	switch why := shape.CheckID(scope.ScopeRef); {
	case scope.ScopeKind == doc.ScopeAgent && scope.ScopeRef == "":
		refuse("scope_ref", "is required with scope_kind agent_guidance: the id of the agent")
	case scope.ScopeKind == doc.ScopeAgent && why != "":
		refuse("scope_ref", why)
	case p.TargetFile != "" && p.TargetFile != governance.ScopeTarget(p.ProjectID, *scope):
		refuse("target_file", "follows from the scope; leave it out, or let it be "+governance.ScopeTarget(p.ProjectID, *scope))
	}
	return issues
}

// ProposeDelta proposes lines for a memory.
func (c Operations) ProposeDelta(ctx context.Context, p ProposeDeltaParams) (governance.DeltaProposal, error) {
	w := c.Workspace()
	spec := governance.DeltaSpec{
		ProjectID: p.ProjectID, Title: p.Title, TargetFile: p.TargetFile, Under: p.UnderHeading, Lines: p.InsertLines,
		Visibility: p.Visibility, ProducedBy: p.ProducedBy, RunID: p.RunID, ContextPackID: p.ContextPackID, Evidence: p.Evidence,
		Remove: p.Remove,
	}
	if !p.scoped() {
		return governance.ProposeDelta(ctx, w, spec)
	}
	spec.Evidence, spec.Scope = governance.Evidence(p.Evidence), p.scope()
	return governance.ProposeScoped(ctx, w, spec)
}

// ListDeltasParams are the params of memory.list_deltas.
type ListDeltasParams struct {
	company.Dir
	company.ActorParams
	ProjectID string `json:"project_id,omitempty" is:"optional,id"`
	Status    string `json:"status,omitempty" is:"default=all,enum=pending|approved|denied|all"`
	Limit     int    `json:"limit,omitempty" is:"default=200,min=1,cut=5000"`
}

// CheckFields rejects a blank actor id.
func (p *ListDeltasParams) CheckFields() []fault.Issue {
	return company.NotBlank("actor_id", p.ActorID)
}

// DeltaList is the result of memory.list_deltas.
type DeltaList struct {
	WorkspaceDir string                `json:"workspace_dir"`
	ProjectID    string                `json:"project_id,omitempty"`
	Status       string                `json:"status"`
	Count        int                   `json:"count"`
	Filtered     int                   `json:"filtered_by_policy_count"`
	Items        []governance.DeltaRow `json:"items"`
}

// ListDeltas lists the memory deltas that an actor may read, newest first.
func (c Operations) ListDeltas(_ context.Context, p ListDeltasParams) (DeltaList, error) {
	list := DeltaList{WorkspaceDir: c.Given(), ProjectID: p.ProjectID, Status: p.Status, Items: []governance.DeltaRow{}}
	w := c.Workspace()
	rows, err := governance.Deltas(w, p.ProjectID)
	if err != nil {
		return list, err
	}
	rows = slices.DeleteFunc(rows, func(r governance.DeltaRow) bool { return p.Status != "all" && r.Status != p.Status })
	readable := governance.ReadableDeltas(w, rows, p.Actor())
	list.Filtered = len(rows) - len(readable)
	list.Items = append(list.Items, readable[:min(p.Limit, len(readable))]...)
	list.Count = len(list.Items)
	return list, nil
}
