package workforce

// Plans, allocations, and the desktop snapshot.

import (
	"context"
	"slices"

	"ac/company"
	"ac/conversation"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/pm"
	"ac/snapshot"
	"ac/workspace"
	"ac/workspace/doc"
)

// PlanParams are the params of pm.snapshot.
type PlanParams struct {
	company.Dir
	Scope
}

// CheckFields requires a project in project scope only.
func (p *PlanParams) CheckFields() []fault.Issue { return p.checkScope() }

// Plan returns the portfolio and, in project scope, the schedule of the project.
func (c Operations) Plan(ctx context.Context, p PlanParams) (result snapshot.Plan, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Plan(p.Scope.Scope, p.space().Project)
		return err
	})
	return result, err
}

// Schedule is a project with its schedule.
type Schedule struct {
	ProjectName string
	Plan        pm.Plan
}

// Schedule computes the schedule of a project. An unknown project is fault.NotFound.
func (c Operations) Schedule(ctx context.Context, p company.ProjectParams) (s Schedule, err error) {
	of, err := c.Workspace().Project(p.ProjectID)
	if err != nil {
		return s, err
	}
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		s.Plan, err = m.Schedule(p.ProjectID)
		return err
	})
	s.ProjectName = of.Name
	return s, err
}

// RecommendResult is the result of pm.recommend_allocations.
type RecommendResult struct {
	snapshot.Header
	ProjectID       string              `json:"project_id"`
	Recommendations []pm.Recommendation `json:"recommendations"`
	Forecast        pm.Forecast         `json:"forecast"`
}

// Recommend recommends agents for the open tasks of a project.
func (c Operations) Recommend(ctx context.Context, p company.ProjectParams) (RecommendResult, error) {
	result := RecommendResult{ProjectID: p.ProjectID}
	err := c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result.Header = m.Header()
		found, err := m.Allocations(p.ProjectID)
		result.Recommendations, result.Forecast = found.Recommendations, found.Forecast
		return err
	})
	return result, err
}

// ApplyParams are the params of pm.apply_allocations.
type ApplyParams struct {
	company.Dir
	ProjectID string       `json:"project_id" is:"id"`
	AppliedBy string       `json:"applied_by"`
	Items     []Allocation `json:"items"`
}

// Allocation is the assignment of a task. Empty preferences are unset.
type Allocation struct {
	TaskID            string `json:"task_id" is:"id"`
	PreferredProvider string `json:"preferred_provider" is:"optional,empty"`
	PreferredModel    string `json:"preferred_model" is:"optional,empty"`
	PreferredAgentID  string `json:"preferred_agent_id" is:"optional,empty"`
	TokenBudgetHint   *int64 `json:"token_budget_hint" is:"optional,min=0"`
}

// ApplyResult is the result of pm.apply_allocations.
type ApplyResult struct {
	WorkspaceDir   string   `json:"workspace_dir"`
	ProjectID      string   `json:"project_id"`
	AppliedAt      string   `json:"applied_at"`
	UpdatedTaskIDs []string `json:"updated_task_ids"`
}

// Apply assigns tasks, all or none. If a task is assigned twice, the later assignment wins.
func (c Operations) Apply(ctx context.Context, p ApplyParams) (ApplyResult, error) {
	result := ApplyResult{WorkspaceDir: c.Given(), ProjectID: p.ProjectID, UpdatedTaskIDs: []string{}}
	w := c.Workspace()
	result.AppliedAt = clock.Stamp(w.Env.Clock.Now())
	plans := map[string]doc.ExecutionPlan{}
	for _, item := range p.Items {
		if !slices.Contains(result.UpdatedTaskIDs, item.TaskID) {
			result.UpdatedTaskIDs = append(result.UpdatedTaskIDs, item.TaskID)
		}
		plans[item.TaskID] = doc.ExecutionPlan{
			PreferredProvider: item.PreferredProvider, PreferredModel: item.PreferredModel, PreferredAgentID: item.PreferredAgentID,
			TokenBudgetHint: item.TokenBudgetHint, AppliedBy: p.AppliedBy, AppliedAt: result.AppliedAt,
		}
	}
	if len(plans) == 0 {
		return result, nil
	}
	return result, pm.Allocate(ctx, w, p.ProjectID, result.UpdatedTaskIDs, plans)
}

// HomeSnapshot returns the company's home screen.
func (c Operations) HomeSnapshot(ctx context.Context, _ company.Dir) (result snapshot.Home, err error) {
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		result, err = m.Home(true)
		return err
	})
	return result, err
}

// DesktopParams are the params of desktop.bootstrap.snapshot.
type DesktopParams struct {
	company.Dir
	Scope
	ActorID        string `json:"actor_id"`
	View           string `json:"view" is:"enum=home|activities|resources|conversation"`
	ConversationID string `json:"conversation_id" is:"optional,id"`
}

// CheckFields checks the project against the scope, and the conversation against the view.
func (p *DesktopParams) CheckFields() []fault.Issue {
	issues := p.checkScope()
	if p.View == "conversation" && p.ConversationID == "" {
		issues = append(issues, fault.Issue{Path: []any{"conversation_id"}, Code: "custom", Message: "is required with view conversation"})
	}
	return issues
}

// Desktop is the result of desktop.bootstrap.snapshot: everything that the
// desktop app shows, as one snapshot.
type Desktop struct {
	WorkspaceDir     string                    `json:"workspace_dir"`
	ActorID          string                    `json:"actor_id"`
	Scope            string                    `json:"scope"`
	View             string                    `json:"view"`
	ProjectID        string                    `json:"project_id,omitempty"`
	ConversationID   string                    `json:"conversation_id,omitempty"`
	Projects         []snapshot.ProjectRow     `json:"projects"`
	Agents           []company.AgentRow        `json:"agents"`
	Teams            []company.TeamRow         `json:"teams"`
	Conversations    []doc.Conversation        `json:"conversations"`
	ViewData         DesktopView               `json:"view_data"`
	ResourcesSummary snapshot.ResourceTotals   `json:"resources_summary"`
	ActivitySummary  ActivitySummary           `json:"activity_summary"`
	PlanSummary      snapshot.PortfolioSummary `json:"pm_summary"`
	OpenInteractions int                       `json:"open_interactions"`
	SyncTS           string                    `json:"sync_ts"`
}

// DesktopView is the content of one view. The fields of other views are absent.
type DesktopView struct {
	Home            *snapshot.Home       `json:"workspace_home,omitempty"`
	Plan            *snapshot.Plan       `json:"pm,omitempty"`
	Resources       *snapshot.Resources  `json:"resources,omitempty"`
	Recommendations *[]pm.Recommendation `json:"recommendations,omitempty"`
	Forecast        *pm.Forecast         `json:"forecast,omitempty"`
	UI              *snapshot.UI         `json:"ui,omitempty"`
	Messages        *[]doc.Message       `json:"messages,omitempty"`
}

// ActivitySummary counts the rows of the activities view. It is zero in other views.
type ActivitySummary struct {
	PendingReviews  int `json:"pending_reviews"`
	RecentDecisions int `json:"recent_decisions"`
	MonitorRows     int `json:"monitor_rows"`
}

// Limits of the desktop snapshot.
const (
	desktopMessages = 3000
	desktopRows     = 200
)

// Desktop returns the desktop snapshot, after creating the default conversations.
func (c Operations) Desktop(ctx context.Context, p DesktopParams) (result Desktop, err error) {
	result = Desktop{
		WorkspaceDir: c.Given(), ActorID: p.ActorID, Scope: p.Scope.Scope, View: p.View, ProjectID: p.ProjectID, ConversationID: p.ConversationID,
	}
	w := c.Workspace()
	space := p.space()
	if result.Conversations, err = conversations(ctx, w, space, workspace.Leader{FallbackID: p.ActorID}); err != nil {
		return result, err
	}
	inflight.Leave(ctx) // the rest only reads
	if result.Agents, err = c.Folder().Agents(ctx, company.AgentsParams{Dir: p.Dir}); err != nil {
		return result, err
	}
	if result.Teams, err = c.Folder().Teams(ctx, p.Dir); err != nil {
		return result, err
	}
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) error {
		result.SyncTS = m.Header().GeneratedAt
		return c.desktopAt(m, w, space, &result)
	})
	return result, err
}

// desktopAt fills the parts that come from one read transaction.
func (c Operations) desktopAt(m *snapshot.View, w *workspace.Workspace, space conversation.Space, d *Desktop) (err error) {
	if d.Projects, err = m.Projects(); err != nil {
		return err
	}
	resources, err := m.Resources(space.Project)
	if err != nil {
		return err
	}
	d.ResourcesSummary = resources.Totals
	if d.OpenInteractions, err = m.OpenInteractions(); err != nil {
		return err
	}
	plan, err := m.Portfolio()
	if err != nil {
		return err
	}
	d.PlanSummary, d.ViewData, d.ActivitySummary = plan.Summary, DesktopView{}, ActivitySummary{}
	switch d.View {
	case "home":
		d.ViewData.Resources = &resources
		return d.home(m, space)
	case "activities":
		return d.activities(m, space, c.Company)
	case "resources":
		d.ViewData.Resources = &resources
		return nil
	}
	messages := []doc.Message{}
	if slices.ContainsFunc(d.Conversations, func(c doc.Conversation) bool { return c.ID == d.ConversationID }) {
		// An unreadable log shows no messages. An error would make the desktop lose the whole
		// screen.
		if found, err := conversation.Newest(w, space, d.ConversationID, desktopMessages); err == nil {
			messages = found
		}
	}
	d.ViewData.Messages = &messages
	return nil
}

func (d *Desktop) home(m *snapshot.View, space conversation.Space) error {
	home, err := m.Home(false)
	if err != nil {
		return err
	}
	plan, err := m.Plan(d.Scope, space.Project)
	if err != nil {
		return err
	}
	recommendations := []pm.Recommendation{}
	if space.Project != "" {
		found, err := m.Allocations(space.Project)
		if err != nil {
			return err
		}
		recommendations, d.ViewData.Forecast = found.Recommendations, &found.Forecast
	}
	d.ViewData.Home, d.ViewData.Plan, d.ViewData.Recommendations = &home, &plan, &recommendations
	return nil
}

func (d *Desktop) activities(m *snapshot.View, space conversation.Space, c *company.Company) error {
	ui, err := m.UI(snapshot.UIRequest{
		Project: space.Project, Runs: desktopRows, Pending: desktopRows, Decisions: desktopRows, SyncWorker: c.Host().WorkerStatus(),
	})
	d.ViewData.UI = &ui
	d.ActivitySummary = ActivitySummary{len(ui.Inbox.Pending), len(ui.Inbox.Decisions), len(ui.Monitor.Rows)}
	return err
}
