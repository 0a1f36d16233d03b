package founding

// The demo company.

import (
	"context"
	"path"

	"ac/internal/clock"
	"ac/internal/frontmatter"
	"ac/workspace"
	"ac/workspace/doc"
)

// DemoCompany is the result of Demo.
type DemoCompany struct {
	Teams     DemoTeams  `json:"teams"`
	Agents    DemoAgents `json:"agents"`
	ProjectID string     `json:"project_id"`
	Tasks     DemoTasks  `json:"tasks"`
}

// DemoTeams holds the ids of the demo company's teams.
type DemoTeams struct {
	Payments string `json:"payments_team_id"`
	Growth   string `json:"growth_team_id"`
}

// DemoAgents holds the ids of the demo company's agents.
type DemoAgents struct {
	CEO             string `json:"ceo_agent_id"`
	Director        string `json:"director_agent_id"`
	PaymentsManager string `json:"payments_manager_agent_id"`
	PaymentsWorker  string `json:"payments_worker_agent_id"`
	GrowthManager   string `json:"growth_manager_agent_id"`
	GrowthWorker    string `json:"growth_worker_agent_id"`
}

// DemoTasks holds the ids of the demo company's tasks. Each task has one milestone.
type DemoTasks struct {
	Payments          string `json:"payments_task_id"`
	PaymentsMilestone string `json:"payments_milestone_id"`
	Growth            string `json:"growth_task_id"`
	GrowthMilestone   string `json:"growth_milestone_id"`
}

// Demo fills an empty workspace with the demo company.
func Demo(ctx context.Context, w *workspace.Workspace) (made DemoCompany, err error) {
	m := &maker{ctx: ctx, w: w}
	made.Teams = DemoTeams{Payments: m.team("Payments"), Growth: m.team("Growth")}
	made.Agents = DemoAgents{
		CEO: m.agent("CEO", "ceo", "manual", ""), Director: m.agent("Director", "director", doc.ProviderCodex, ""),
		PaymentsManager: m.agent("Payments Manager", "manager", doc.ProviderCodex, made.Teams.Payments),
		PaymentsWorker:  m.agent("Payments Worker", "worker", doc.ProviderCodex, made.Teams.Payments),
		GrowthManager:   m.agent("Growth Manager", "manager", doc.ProviderClaudeCode, made.Teams.Growth),
		GrowthWorker:    m.agent("Growth Worker", "worker", doc.ProviderClaudeCode, made.Teams.Growth),
	}
	made.ProjectID = m.project("v0 Demo Project")
	made.Tasks.Payments, made.Tasks.PaymentsMilestone = m.task(demoTask{
		project: made.ProjectID, title: "Retry failed card payments", team: made.Teams.Payments, worker: made.Agents.PaymentsWorker,
		milestone: "Retry once with backoff", criterion: "A payment that fails for a passing reason is tried again exactly once",
	})
	made.Tasks.Growth, made.Tasks.GrowthMilestone = m.task(demoTask{
		project: made.ProjectID, title: "Count where new customers come from", team: made.Teams.Growth, worker: made.Agents.GrowthWorker,
		milestone: "Keep the source with the sign-up", criterion: "Every new sign-up carries the source that led to it",
	})
	return made, m.err
}

// demoTask holds the values that differ between the tasks.
type demoTask struct{ project, title, team, worker, milestone, criterion string }

func (m *maker) task(d demoTask) (id, milestone string) {
	if m.err != nil {
		return "", ""
	}
	id, milestone = m.w.Env.IDs.New("task"), m.w.Env.IDs.New("ms")
	head, err := doc.TaskCodec.Encode(doc.Task{
		SchemaVersion: doc.Version, Type: "task", ID: id, ProjectID: d.project, Title: d.title, CreatedAt: clock.Stamp(m.w.Env.Clock.Now()),
		Status: "draft", Visibility: "team", TeamID: d.team, AssigneeAgentID: d.worker,
		Milestones: []doc.Milestone{{
			ID: milestone, Title: d.milestone, Kind: "coding", Status: "ready", AcceptanceCriteria: []string{d.criterion},
			Evidence: &doc.EvidenceRequired{RequiresPatch: true, RequiresTests: true},
		}},
	})
	if err == nil {
		body := "\n# " + d.title + "\n\n## Contract\n\n## Milestones\n\n- " + d.milestone + "\n"
		err = m.w.Replace(path.Join(workspace.TasksDir(d.project), id+".md"), frontmatter.Join(head, []byte(body)), 0o644)
	}
	m.err = err
	return id, milestone
}
