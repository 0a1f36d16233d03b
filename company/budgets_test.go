package company_test

import (
	"os"
	"path/filepath"
	"testing"

	"ac/company"
	"ac/company/workforce"
	"ac/workspace"
)

func textOf(t *testing.T, b bystander, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestBudgets checks the listed limits and use of a project's and its tasks' budgets.
func TestBudgets(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	project := "work/projects/" + b.project + "/project.yaml"
	b.write(project, textOf(t, b, project)+"budget:\n  hard_tokens: 1000\n  soft_cost_usd: 2\n")
	b.write("work/projects/"+b.project+"/tasks/task_1.md", "---\nschema_version: 1\ntype: task\nid: task_1\nproject_id: "+b.project+
		"\ntitle: Mend it\ncreated_at: 2026-01-01T00:00:00Z\nstatus: draft\nvisibility: org\nmilestones: []\nbudget: {hard_tokens: 50}\n---\n")
	run := b.run()
	record := workspace.RunFile(b.project, run)
	b.write(record, textOf(t, b, record)+"usage:\n  cost_usd: 0.5\n  total_tokens: 300\n  source: provider_reported\n  confidence: high\n")
	folder := b.all.In(b.dir)
	c, err := folder.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of := workforce.Operations{In: company.In{Company: c}}
	list, err := of.Budgets(t.Context(), workforce.BudgetsParams{ProjectID: b.project})
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []workforce.BudgetUse{{Used: 0.5}, {Used: 300}, {Used: 0}} {
		if list[i].Used != want.Used {
			t.Errorf("%+v", list[i])
		}
	}
	if list[0].Metric != "cost_usd" || list[1].Limit != 1000 || list[2].Scope != "task" || list[2].Limit != 50 {
		t.Errorf("%+v", list)
	}
	if all, err := of.Budgets(t.Context(), workforce.BudgetsParams{}); err != nil || len(all) != 2 {
		t.Errorf("of all projects: %+v, %v", all, err)
	}
}
