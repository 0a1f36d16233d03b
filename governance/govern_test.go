package governance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/workspacetest"
)

// company is a workspace with a project, a run and two agents.
type company struct {
	*workspace.Workspace

	project, run, manager, worker string
}

func newCompany(t testing.TB) *company {
	t.Helper()
	ctx := t.Context()
	env := workspace.SystemEnv()
	w := workspacetest.New(t, env)
	c := &company{Workspace: w}
	must := func(id string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	c.project = must(w.NewProject(ctx, "Apollo"))
	c.manager = must(w.NewAgent(ctx, workspace.AgentSpec{Name: "Mia", Role: "manager", Provider: "codex"}))
	c.worker = must(w.NewAgent(ctx, workspace.AgentSpec{Name: "Wim", Role: "worker", Provider: "codex"}))
	made, err := runs.Create(ctx, w, c.project, c.worker, "codex")
	c.run = must(made.RunID, err)
	return c
}

// event holds the fields of a logged event that tests check.
type event struct {
	Type, Actor, Visibility string
	RunID                   string `json:"run_id"`
	Payload                 map[string]any
}

// events returns the events of a log, starting at index from. A missing log has none.
func (c *company) events(t testing.TB, log string, from int) (found []event) {
	t.Helper()
	text, err := c.Read(log)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e event
		if json.Unmarshal([]byte(line), &e) == nil { // skip torn lines
			found = append(found, e)
		}
	}
	return found[min(from, len(found)):]
}

func types(found []event) string {
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.Type
	}
	return strings.Join(names, " ")
}

// decide records a decision on an item that exists only through its reviews.
func (c *company) decide(ctx context.Context, r Ruling, run string) (id string, err error) {
	err = Govern(ctx, c.Workspace, func(g *PolicyUnit) error {
		verdict, err := g.Enforce(r.ProjectID, policy.Question{
			Action: policy.Approve, Actor: r.Actor, RunID: run,
			Resource: policy.Resource{ID: r.ArtifactID, Kind: "milestone_report", Visibility: "managers"},
		})
		if err != nil {
			return err
		}
		if id, err = g.CheckUndecided(r, KindMilestone); err != nil || id != "" {
			return err
		}
		id, err = g.Review(r, verdict, DecisionResult{SubjectKind: KindMilestone, ReportArtifactID: r.ArtifactID})
		return err
	})
	return id, err
}

func TestDecidingAnItem(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	ctx := t.Context()
	log := workspace.LogFile(c.project, c.run)
	rule := func(decision string) Ruling {
		return Ruling{Item: Item{c.project, "art_1"}, Decision: decision, Actor: policy.Actor{ID: c.manager, Role: "manager"}}
	}
	denial, err := c.decide(ctx, rule(Denied), c.run)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.decide(ctx, rule(Denied), c.run); err != nil || again != denial {
		t.Errorf("denied again: %s, %v", again, err)
	}
	approval, err := c.decide(ctx, rule(Approved), c.run)
	if err != nil || approval == denial {
		t.Fatalf("overturned: %s, %v", approval, err)
	}
	for _, decision := range []string{Approved, Denied} {
		if _, err := c.decide(ctx, rule(decision), c.run); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s after the approval: %v", decision, err)
		}
	}
	want := "policy.decision approval.decided policy.decision policy.decision approval.decided policy.decision policy.decision"
	if got := types(c.events(t, log, 1)); got != want {
		t.Errorf("events: %s", got)
	}
	reviews, err := Reviews(c.Workspace, 10)
	if err != nil || len(reviews) != 2 || reviews[0].ID != approval || reviews[1].ID != denial {
		t.Errorf("reviews: %+v, %v", reviews, err)
	}
	text, err := c.Read(ReviewFile(denial))
	if err != nil || !strings.HasSuffix(string(text), "policy:\n  allowed: true\n  rule_id: vis.managers\n  reason: manager_visible\nnotes: \"\"\n") {
		t.Errorf("review: %s, %v", text, err)
	}
}

// TestRefusal checks that a refusal writes its two events and no review. The events go to the
// run's log or, without a run, to the audit log.
func TestRefusal(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	liar := Ruling{Item: Item{c.project, "art_1"}, Decision: Denied, Actor: policy.Actor{ID: c.worker, Role: "human"}}
	for run, log := range map[string]string{
		c.run: workspace.LogFile(c.project, c.run), "run_manual": workspace.AuditLog, "../x": workspace.AuditLog,
	} {
		before := len(c.events(t, log, 0))
		if _, err := c.decide(t.Context(), liar, run); !fault.Is(err, fault.Denied) || err.Error() != "Policy denied approval: approve.role (role_not_allowed)" {
			t.Errorf("%s: %v", run, err)
		}
		told := c.events(t, log, before)
		if types(told) != "policy.decision policy.denied" || told[0].Actor != c.worker || told[0].Payload["allowed"] != false || told[0].RunID != run {
			t.Errorf("%s: %+v", run, told)
		}
	}
	if reviews, err := Reviews(c.Workspace, 1); err != nil || len(reviews) != 0 {
		t.Errorf("reviews: %v, %v", reviews, err)
	}
}

// TestAnswersStay checks that a policy decision stays logged when a later step fails, and that an
// unwritable audit log does not fail a decision.
func TestAnswersStay(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	boom := errors.New("boom")
	ask := policy.Question{Action: policy.Approve, Actor: policy.Actor{ID: "ann", Role: "human"}, Resource: policy.Resource{ID: "x", Visibility: "org"}}
	err := Govern(t.Context(), c.Workspace, func(g *PolicyUnit) error {
		if _, err := g.Enforce(c.project, ask); err != nil {
			return err
		}
		return boom
	})
	if told := c.events(t, workspace.AuditLog, 0); !errors.Is(err, boom) || types(told) != "policy.decision" || told[0].Payload["resource_kind"] != nil {
		t.Errorf("%+v, %v", told, err)
	}
	if err := c.FS.RemoveAll(workspace.AuditLog); err != nil {
		t.Fatal(err)
	}
	if err := c.FS.Mkdir(workspace.AuditLog, 0o755); err != nil {
		t.Fatal(err)
	}
	r := Ruling{Item: Item{c.project, "art_1"}, Decision: Approved, Actor: ask.Actor}
	if _, err := c.decide(t.Context(), r, "run_manual"); err != nil {
		t.Error(err)
	}
	if state, err := StateOf(c.Workspace, r.Item, KindMilestone); err != nil || state.Approval == nil {
		t.Errorf("%+v, %v", state, err)
	}
	if c.NeedsRecovery() {
		t.Error("an intent was left behind")
	}
}

// TestBrokenRunLog checks that nothing is decided if the run's log is unwritable. The policy
// decisions are then in the audit log.
func TestBrokenRunLog(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	log := workspace.LogFile(c.project, c.run)
	if err := errors.Join(c.FS.Remove(log), c.FS.Mkdir(log, 0o755)); err != nil {
		t.Fatal(err)
	}
	c.write(t, workspace.MemoryFile(c.project), memory)
	made := c.propose(t, c.spec("- one"))
	if err := c.approve(t, made.ArtifactID); err == nil {
		t.Error("approved without its event")
	}
	if state, err := StateOf(c.Workspace, Item{c.project, made.ArtifactID}, KindMemoryDelta); err != nil || !state.Pending() || c.text(t, made.TargetFile) != memory || c.NeedsRecovery() {
		t.Errorf("%+v, %v", state, err)
	}
	if _, err := ReadAs(t.Context(), c.Workspace, c.project, made.ArtifactID, "", policy.Actor{ID: "ann", Role: "human"}); err != nil {
		t.Error(err)
	}
	if got := types(c.events(t, workspace.AuditLog, 0)); got != "policy.decision policy.decision" {
		t.Errorf("audit log: %s", got)
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, kind := range doc.ArtifactTypes() {
		text, err := Template(ArtifactSpec{Type: kind, Title: "T: it's"}.Head(workspace.SystemEnv()))
		if err != nil {
			t.Fatal(err)
		}
		if issues := ValidateArtifact(text); len(issues) > 0 {
			t.Errorf("%s: %v", kind, issues)
		}
	}
	if _, err := Template(ArtifactSpec{Type: "proposal", Title: "a\nb"}.Head(workspace.SystemEnv())); !fault.Is(err, fault.InvalidParams) {
		t.Error(err)
	}
}
