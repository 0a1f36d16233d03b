package inbox

import (
	"bytes"
	"testing"

	"ac/governance"
	"ac/heartbeat"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

// TestApprovalLooksAtBudget approves the launch of a job beyond a hard limit. In an enterprise
// the approval is refused, and the item stays pending until the limit is raised. In a standard
// company only the launch itself checks the budget.
func TestApprovalLooksAtBudget(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[string]bool{doc.HierarchyEnterprise: true, doc.HierarchyStandard: false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 0)
			w := open(t, calm(), s.dir)
			if _, err := heartbeat.SetConfig(t.Context(), w, func(c *doc.HeartbeatConfig) { c.HierarchyMode = mode }); err != nil {
				t.Fatal(err)
			}
			file := workspace.ProjectFile(s.project)
			project := []byte(s.read(t, file))
			limit := func(text string) {
				t.Helper()
				if err := w.Replace(file, append(bytes.Clone(project), text...), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			job, comment := s.add(t, w, kindJob, 1), s.add(t, w, kindComment, 1)
			limit("budget:\n  hard_tokens: 0\n")
			if _, err := Resolve(t.Context(), w, s.ruling(comment.artifact, governance.Approved), jobs{s.project}); err != nil {
				t.Errorf("what costs nothing: %v", err)
			}
			_, err := Resolve(t.Context(), w, s.ruling(job.artifact, governance.Approved), jobs{s.project})
			if d := s.look(t, w, job); refused != fault.Is(err, fault.BudgetExceeded) || refused != (d == decided{}) {
				t.Fatalf("%+v, %v", d, err)
			}
			if !refused {
				return
			}
			limit("budget:\n  hard_tokens: 1000\n")
			if _, err := Resolve(t.Context(), w, s.ruling(job.artifact, governance.Approved), jobs{s.project}); err != nil {
				t.Errorf("within the limit: %v", err)
			}
			if d := s.look(t, w, job); d.approvals != 1 || d.effects != 1 || d.told != 1 {
				t.Errorf("%+v", d)
			}
		})
	}
}
