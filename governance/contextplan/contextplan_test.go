package contextplan_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/governance/contextplan"
	"ac/governance/policy"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	project = "proj_x"
	created = "2026-01-01T00:00:00.000Z"
	// age is the part of a score that comes from the date created.
	age    = 1.7672256
	secret = "sk-aaaaaaaaaaaaaaaaaaaaaaaa"
)

// stage is a workspace with one project.
type stage struct {
	*testing.T
	w *workspace.Workspace
}

func newStage(t *testing.T) stage {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	s := stage{t, w}
	s.write(workspace.ProjectFile(project), "schema_version: 1\ntype: project\nid: proj_x\nname: X\nstatus: active\ncreated_at: "+created+"\n")
	return s
}

func (s stage) write(name, text string) {
	s.Helper()
	if err := s.w.Replace(name, []byte(text), 0o644); err != nil {
		s.Fatal(err)
	}
}

// run writes the record of a run. cycles is the part about its context cycles.
func (s stage) run(id, cycles string) {
	s.Helper()
	s.write(workspace.RunFile(project, id), "schema_version: 1\ntype: run\nid: "+id+"\nproject_id: proj_x\nagent_id: agent_x\nprovider: codex\ncreated_at: "+created+
		"\nstatus: ended\ncontext_pack_id: ctx_x\nevents_relpath: "+workspace.LogFile(project, id)+"\n"+cycles)
	s.write(workspace.LogFile(project, id), "")
}

// artifact writes an artifact. head is additional front matter.
func (s stage) artifact(kind, id, title, visibility, head, body string) {
	s.Helper()
	version := 1
	if strings.Contains(head, "scope_kind") {
		version = 2
	}
	s.write(workspace.ArtifactsDir(project)+"/"+id+".md", fmt.Sprintf("---\nschema_version: %d\ntype: %s\nid: %s\ncreated_at: %s\ntitle: %q\nvisibility: %s\nproduced_by: agent_x\nrun_id: run_manual\ncontext_pack_id: ctx_manual\n%s---\n\n%s\n",
		version, kind, id, created, title, visibility, head, body))
}

// memory writes a memory delta of version 2 and the review that approves it.
func (s stage) memory(id, title, rationale, body string) {
	s.Helper()
	s.artifact("memory_delta", id, title, "org", "project_id: proj_x\ntarget_file: work/projects/proj_x/memory.md\npatch_file: work/projects/proj_x/artifacts/"+id+
		".patch\nscope_kind: project_memory\nscope_ref: proj_x\nsensitivity: internal\nrationale: "+rationale+"\nevidence:\n  - run:x\n", body)
	s.write(workspace.ReviewsDir+"/rev_"+id+".yaml", "schema_version: 1\ntype: review\nid: rev_"+id+"\ncreated_at: "+created+
		"\nactor_id: d\nactor_role: director\ndecision: approved\nsubject:\n  kind: memory_delta\n  artifact_id: "+id+
		"\n  project_id: proj_x\n  target_file: work/projects/proj_x/memory.md\n  patch_file: work/projects/proj_x/artifacts/"+id+
		".patch\npolicy:\n  allowed: true\n  rule_id: vis.org\n  reason: org_visible\nnotes: \"\"\n")
}

// plan makes a context plan, by default for a manager.
func (s stage) plan(r contextplan.Request) contextplan.Plan {
	s.Helper()
	r.ProjectID = project
	if r.Manager.ID == "" {
		r.Manager = policy.Actor{ID: "m", Role: "manager"}
	}
	plan, err := contextplan.For(s.w, r)
	if err != nil {
		s.Fatal(err)
	}
	return plan
}

// entry returns the trace entry of a source.
func (s stage) entry(p contextplan.Plan, source string) contextplan.Entry {
	s.Helper()
	at := slices.IndexFunc(p.Trace, func(e contextplan.Entry) bool { return e.SourceID == source })
	if at < 0 {
		s.Fatalf("no trace of %s in %+v", source, p.Trace)
	}
	return p.Trace[at]
}

func (s stage) expect(e contextplan.Entry, decision, reason string, score float64) {
	s.Helper()
	if e.Decision != decision || e.Reason != reason || math.Abs(e.Score-score) > 1e-9 {
		s.Errorf("%s: %s, %s, %v instead of %s, %s, %v", e.SourceID, e.Decision, e.Reason, e.Score, decision, reason, score)
	}
}

// TestContextCycles checks that the plan has a warning note for each run with at least one context
// cycle, with the source of the count.
func TestContextCycles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.run("run_reported", "context_cycles:\n  count: 3\n  source: provider_signal\n")
	s.run("run_counted", "context_cycles:\n  count: 1\n  source: unavailable\n")
	s.run("run_zero", "context_cycles:\n  count: 0\n  source: provider_signal\n")
	s.run("run_silent", "")
	s.run(secret, "context_cycles:\n  count: 2\n  source: provider_signal\n")
	p := s.plan(contextplan.Request{})
	var notes []doc.ContextRef
	for _, ref := range p.Refs {
		if ref.Kind == "note" {
			notes = append(notes, ref)
		}
	}
	if want := []doc.ContextRef{
		{Kind: "note", Value: "run=run_counted context_cycles=1", Description: "recent context-cycle signal (unavailable)"},
		{Kind: "note", Value: "run=run_reported context_cycles=3", Description: "recent context-cycle signal (provider_signal)"},
	}; !slices.Equal(notes, want) {
		t.Errorf("%+v", notes)
	}
	for _, id := range []string{"run_counted", "run_reported"} {
		e := s.entry(p, id)
		s.expect(e, "included", "recent_context_cycles", 300+age)
		if e.Layer != "L2" || e.SourceKind != "run" || e.CreatedAt != created {
			t.Errorf("%+v", e)
		}
	}
	s.expect(s.entry(p, "[REDACTED_API_KEY]"), "filtered_secret", "secret_detected", 300)
	if !slices.Contains(p.Layers, "L2") || p.Secret != 1 || len(p.Trace) != len(p.Refs)+1 {
		t.Errorf("%+v", p)
	}
}

// TestScores checks that an item filtered for a secret gets the score of its kind, wherever the
// secret is. An included item gets that score plus its age score.
func TestScores(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.memory("art_fine", "Fine", "r", "## Summary\n\n## Changes\n\n## Evidence")
	s.memory("art_title", "Key "+secret, "r", "## Summary\n\n## Changes\n\n## Evidence")
	s.memory("art_why", "T", "because "+secret, "## Summary\n\n## Changes\n\n## Evidence")
	s.memory("art_body", "T", "r", "## Summary\n\n## Changes\n\n"+secret+"\n\n## Evidence")
	s.artifact("failure_report", "art_report", "It broke", "org", "", secret)
	s.artifact("manager_digest", "art_digest", "Done", "org", "", "## Summary")
	p := s.plan(contextplan.Request{})
	s.expect(s.entry(p, "art_fine"), "included", "approved_memory_delta", 800+age)
	for _, id := range []string{"art_title", "art_why", "art_body"} {
		s.expect(s.entry(p, id), "filtered_secret", "secret_detected", 800)
	}
	s.expect(s.entry(p, "art_report"), "filtered_secret", "secret_detected", 400)
	s.expect(s.entry(p, "art_digest"), "included", "trajectory_manager_digest", 400+age)
	if p.Secret != 4 {
		t.Errorf("%d secrets", p.Secret)
	}
}

// TestRepeatedRefs checks that a repeated ref is dropped without a trace entry, even past the
// limit.
func TestRepeatedRefs(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	seeds := []doc.ContextRef{{Kind: "note", Value: "a"}, {Kind: "note", Value: "b"}, {Kind: "note", Value: "b", Description: "again"}, {Kind: "note", Value: "a"}}
	p := s.plan(contextplan.Request{Seeds: seeds, MaxRefs: 1})
	if len(p.Refs) != 1 || p.Refs[0].Value != "a" {
		t.Errorf("%+v", p.Refs)
	}
	traced := map[string]int{}
	for _, e := range p.Trace {
		traced[e.SourceID]++
	}
	if traced["seed:note:a"] != 1 || traced["seed:note:b"] != 1 {
		t.Errorf("%+v", p.Trace)
	}
	s.expect(s.entry(p, "seed:note:b"), "filtered_limit", "max_refs_reached", 10000)
}

// TestUnreadableSeed checks that an artifact with unreadable visibility is left out of the context.
func TestUnreadableSeed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.write(workspace.ArtifactsDir(project)+"/art_broken.md", "\n---\nvisibility: private_agent\n---\n")
	p := s.plan(contextplan.Request{Seeds: []doc.ContextRef{{Kind: "artifact", Value: "art_broken"}, {Kind: "artifact", Value: "art_elsewhere"}}})
	s.expect(s.entry(p, "seed:artifact:art_broken"), "filtered_policy", "artifact_unreadable", 10000)
	s.expect(s.entry(p, "seed:artifact:art_elsewhere"), "included", "seed_ref", 10000)
	if p.Policy != 1 {
		t.Errorf("%d filtered by the policy", p.Policy)
	}
}
