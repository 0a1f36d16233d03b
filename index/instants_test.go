package index

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ac/workspace/doc"
)

// instants returns timestamps as other programs write them, newest first. Equal instants are
// ordered by id.
func instants() []string {
	return []string{
		"2026-05-01T00:00:00.000200Z",     // a
		"2026-05-01T02:00:00.00017+02:00", // b
		"2026-05-01T00:00:00.000150001Z",  // c
		"2026-05-01T00:00:00.00015Z",      // d
		"2026-05-01T00:00:00.000Z",        // e
		"2026-05-01T00:00:00Z",            // f
		"2026-05-01T01:00:00+01:00",       // g
		"2026-04-30T23:59:59.999999Z",     // h
	}
}

// TestInstants checks that lists are ordered by instant, then by id, whatever fractions and
// time zones the timestamps have.
func TestInstants(t *testing.T) {
	t.Parallel()
	c, w := newCompany(t, t.TempDir()+"/ws", false)
	ix := For(w)
	t.Cleanup(func() { must(ix.Close()); must(w.Close()) })
	var want string
	for i, at := range instants() {
		id := string(rune('a' + i))
		want += id
		c.put("work/projects/p/runs/"+id+"/run.yaml", strings.Replace(runYAML(id, "a1", "ended"), "2026-01-01T00:00:00.000Z", at, 1))
		c.put("work/projects/p/runs/"+id+"/events.jsonl", fmt.Sprintf(`{"type":"note","ts_wallclock":%q}`+"\n", at))
		c.put("inbox/reviews/"+id+".yaml", "schema_version: 1\ntype: review\nid: "+id+"\ncreated_at: "+at+"\nactor_id: h\nactor_role: human\ndecision: approved\nsubject: {kind: memory_delta, artifact_id: x, project_id: p}\npolicy: {allowed: true, rule_id: r, reason: x}\n")
		c.put("inbox/help_requests/"+id+".md", "---\nschema_version: 1\ntype: help_request\nid: "+id+"\ncreated_at: "+at+"\ntitle: t\nvisibility: org\nrequester: a\ntarget_manager: m\n---\n## Question\n## Response\n")
		c.put("work/projects/p/artifacts/"+id+".md", "---\nid: "+id+"\ntype: memory_delta\ncreated_at: "+at+"\n---\n")
		c.put("inbox/comments/"+id+".yaml", "schema_version: 1\ntype: comment\nid: "+id+"\ncreated_at: "+at+"\nauthor_id: h\nauthor_role: human\nvisibility: org\ntarget: {project_id: p, run_id: a}\nbody: x\n")
	}
	ctx := context.Background()
	if _, err := ix.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	falling := "abcdgfeh" // for equal instants, the larger id first
	must(ix.View(ctx, func(v *View) error {
		runs, err := v.Runs(RunFilter{})
		must(err)
		events, err := v.Events(EventFilter{})
		must(err)
		reviews, err := v.Reviews(ReviewFilter{})
		must(err)
		help, err := v.HelpRequests(HelpRequestFilter{})
		must(err)
		pending, err := v.PendingArtifacts("p", 0)
		must(err)
		comments, err := v.Comments(CommentFilter{ProjectID: "p"})
		must(err)
		for what, lists := range map[string][2]string{
			"runs":     {ids(runs, func(r Run) string { return r.RunID }), want},
			"events":   {ids(events, func(e Event) string { return e.RunID }), falling},
			"reviews":  {ids(reviews, func(r Review) string { return r.ReviewID }), falling},
			"help":     {ids(help, func(h HelpRequest) string { return h.HelpRequestID }), falling},
			"pending":  {ids(pending, func(a Artifact) string { return a.ArtifactID }), falling},
			"comments": {ids(comments, func(c doc.Comment) string { return c.ID }), falling},
		} {
			if lists[0] != lists[1] {
				t.Errorf("%s in the order %s, want %s", what, lists[0], lists[1])
			}
		}
		return nil
	}))
}

func ids[R any](rows []R, id func(R) string) string {
	var all []string
	for _, r := range rows {
		all = append(all, id(r))
	}
	return strings.Join(all, "")
}
