// Package contextplan selects what a worker reads before it begins: what the caller names, the
// files that everybody reads, approved memory, and the results of earlier runs.
//
// Invariants: planning writes nothing. Nothing that looks like a secret is in a plan or in its
// trace. A plan contains nothing that the caller may not put into a context, and no guidance for
// another agent.
package contextplan

import (
	"cmp"
	"slices"

	"ac/governance/policy"
	"ac/internal/clock"
	"ac/internal/collation"
	"ac/internal/redact"
	"ac/workspace"
	"ac/workspace/doc"
)

// Request describes the context to plan.
type Request struct {
	ProjectID string
	Manager   policy.Actor // as claimed
	WorkerID  string       // "" for none
	JobKind   string
	Goal      string
	Seeds     []doc.ContextRef
	MaxRefs   int // 0 for the default of the job's kind
}

// Limits of a plan, and names in it.
const (
	MaxRefs          = 200
	executionRefs    = 32
	heartbeatRefs    = 8
	maxNotApproved   = 200
	scoreSeed        = 10000
	scoreWorkspace   = 1000
	scoreBase        = 900
	scoreMemory      = 800
	scoreArtifact    = 400
	scoreCycles      = 300
	millisPerScore   = 1e12
	layerBase        = "L0"
	layerMemory      = "L1"
	layerTrajectory  = "L2"
	kindFile         = "file"
	kindArtifact     = "artifact"
	decisionIncluded = "included"
)

// Plan is what was selected, and why.
type Plan struct {
	GeneratedAt string `json:"generated_at"`
	MaxRefs     int    `json:"max_refs"`
	ScopeKind   string `json:"scope_kind"`
	ScopeRef    string `json:"scope_ref"`
	Choice
}

// Choice is the part of a plan that is stored.
type Choice struct {
	Refs        []doc.ContextRef `json:"context_refs"`
	Layers      []string         `json:"layers_used"`
	Trace       []Entry          `json:"retrieval_trace"`
	Policy      int              `json:"filtered_by_policy_count"`
	Sensitivity int              `json:"filtered_by_sensitivity_count"`
	Secret      int              `json:"filtered_by_secret_count"`
}

// Entry records the decision on one candidate. Its source_id is redacted.
type Entry struct {
	Layer       string  `json:"layer"`
	SourceKind  string  `json:"source_kind"`
	SourceID    string  `json:"source_id"`
	Score       float64 `json:"score"`
	CreatedAt   string  `json:"created_at,omitempty"`
	Decision    string  `json:"decision"`
	Reason      string  `json:"reason"`
	Visibility  string  `json:"visibility,omitempty"`
	Sensitivity string  `json:"sensitivity,omitempty"`
}

// candidate is something that may be selected.
type candidate struct {
	Entry
	ref doc.ContextRef
}

// planner builds one plan.
type planner struct {
	Request
	w          *workspace.Workspace
	candidates []candidate
	plan       Plan
}

// For plans a context. The workspace, project and worker must exist.
func For(w *workspace.Workspace, r Request) (Plan, error) {
	p := &planner{Request: r, w: w}
	if _, err := w.Project(r.ProjectID); err != nil {
		return p.plan, err
	}
	p.plan = Plan{
		GeneratedAt: clock.Stamp(w.Env.Clock.Now()), MaxRefs: r.limit(), ScopeKind: doc.ScopeProject, ScopeRef: r.ProjectID,
		Choice: Choice{Refs: []doc.ContextRef{}, Layers: []string{}, Trace: []Entry{}},
	}
	if r.WorkerID != "" {
		if _, err := w.Agent(r.WorkerID); err != nil {
			return p.plan, err
		}
		p.plan.ScopeKind, p.plan.ScopeRef = doc.ScopeAgent, r.WorkerID
	}
	for _, gather := range []func() error{p.seeds, p.files, p.memory, p.trajectories, p.cycles} {
		if err := gather(); err != nil {
			return p.plan, err
		}
	}
	p.choose()
	return p.plan, nil
}

func (r Request) limit() int {
	switch {
	case r.MaxRefs > 0:
		return min(r.MaxRefs, MaxRefs)
	case r.JobKind == doc.JobHeartbeat:
		return heartbeatRefs
	}
	return executionRefs
}

// drop leaves a candidate out and records why.
func (p *planner) drop(c candidate, decision, reason string) {
	c.Decision, c.Reason = decision, reason
	p.trace(c.Entry)
	switch decision {
	case "filtered_policy":
		p.plan.Policy++
	case "filtered_sensitivity":
		p.plan.Sensitivity++
	case "filtered_secret":
		p.plan.Secret++
	}
}

func (p *planner) trace(e Entry) {
	e.SourceID = redact.NewRedactor(nil).Text(e.SourceID)
	p.plan.Trace = append(p.plan.Trace, e)
}

// offer adds a candidate, unless the candidate or one of the texts contains a secret. The score
// so far is the base of its kind. A newer candidate gets a slightly higher score.
func (p *planner) offer(c candidate, texts ...string) {
	for _, text := range append(texts, c.ref.Kind, c.ref.Value, c.ref.Description) {
		if redact.Find(text).Total() > 0 {
			p.drop(c, "filtered_secret", "secret_detected")
			return
		}
	}
	if created, ok := clock.Parse(c.CreatedAt); ok {
		c.Score += float64(created.UnixMilli()) / millisPerScore
	}
	p.candidates = append(p.candidates, c)
}

// allowed checks whether the policy allows a candidate in the context. If not, it drops the
// candidate.
func (p *planner) allowed(c candidate, resource policy.Resource) bool {
	d := policy.Ask(p.w, policy.Question{Action: policy.Compose, Actor: p.Manager, Resource: resource}).Decision
	switch {
	case d.Allowed:
		return true
	case d.RuleID == policy.RestrictedRule:
		p.drop(c, "filtered_sensitivity", d.Reason)
	default:
		p.drop(c, "filtered_policy", d.Reason)
	}
	return false
}

// choose selects the best candidates in order.
func (p *planner) choose() {
	byText := collation.Lazy()
	slices.SortStableFunc(p.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.Layer, b.Layer), cmp.Compare(b.Score, a.Score), cmp.Compare(b.CreatedAt, a.CreatedAt), byText(a.SourceID, b.SourceID))
	})
	seen := map[[2]string]bool{}
	for _, c := range p.candidates {
		key := [2]string{c.ref.Kind, c.ref.Value}
		if seen[key] {
			continue
		}
		seen[key] = true
		if len(p.plan.Refs) == p.plan.MaxRefs {
			p.drop(c, "filtered_limit", "max_refs_reached")
			continue
		}
		c.Decision = decisionIncluded
		p.trace(c.Entry)
		p.plan.Refs = append(p.plan.Refs, c.ref)
		if !slices.Contains(p.plan.Layers, c.Layer) {
			p.plan.Layers = append(p.plan.Layers, c.Layer)
		}
	}
	slices.Sort(p.plan.Layers)
}
