package heartbeat

// The enterprise hierarchy (mode enterprise_v1 only). The heartbeat also wakes directors, and wakes
// each agent in the project that gives it the most points. Directors may act in their own name.

import (
	"cmp"
	"slices"
	"strings"

	"ac/governance"
	"ac/governance/policy"
	"ac/index"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs/budget"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	roleDirector = "director"
	roleWorker   = "worker"
)

// inHierarchy reports whether an agent may be woken in an enterprise.
func inHierarchy(a doc.Agent) bool {
	return (a.Role == roleDirector || a.Role == roleWorker) && !strings.HasPrefix(a.ID, workspace.SecretaryPrefix)
}

// hierarchyPool returns the directors and workers, by id.
func hierarchyPool(g TriageInput) []Candidate {
	pool := []Candidate{}
	for _, a := range g.Agents {
		if inHierarchy(a) {
			pool = append(pool, Candidate{
				WorkerAgentID: a.ID, TeamID: a.TeamID, kind: doc.WorkerKindOf(a.Provider), role: a.Role, Counts: Counts{NewSignals: g.News[a.ID]},
			})
		}
	}
	slices.SortFunc(pool, func(a, b Candidate) int { return cmp.Compare(a.WorkerAgentID, b.WorkerAgentID) })
	return pool
}

// directorsFirst sorts the chosen agents into submission order.
func directorsFirst(chosen []Candidate) {
	slices.SortStableFunc(chosen, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.WorkerAgentID, b.WorkerAgentID)) // "director" comes first
	})
}

// localNews are the signals of agents by project, and the project of each agent's newest run.
type localNews struct {
	signals map[string]map[string]int64 // by agent, then by project
	newest  map[string]string           // project of the newest run, by agent
}

// localize counts new events by project: those in an agent's own runs, and those in other agents'
// runs with the agent as actor.
func (m *moment) localize(v *index.View, behind []index.LogCursor) error {
	m.local = localNews{map[string]map[string]int64{}, map[string]string{}}
	add := func(agent, project string, n int64) {
		if m.local.signals[agent] == nil {
			m.local.signals[agent] = map[string]int64{}
		}
		m.local.signals[agent][project] += n
	}
	type owner struct{ agent, project string }
	groups := map[owner][]index.LogCursor{}
	for _, b := range behind {
		add(b.AgentID, b.ProjectID, b.Last-b.Since)
		key := owner{b.AgentID, b.ProjectID}
		groups[key] = append(groups[key], b)
	}
	for key, places := range groups {
		fresh, err := v.SignalsAfter(places)
		if err != nil {
			return err
		}
		for _, a := range fresh {
			if a.Actor != nil && *a.Actor != key.agent { // events in its own runs are counted above
				add(*a.Actor, key.project, a.Events)
			}
		}
	}
	for _, a := range m.Agents {
		if !inHierarchy(a) {
			continue
		}
		runs, err := v.Runs(index.RunFilter{AgentID: a.ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			m.local.newest[a.ID] = runs[0].ProjectID
		}
	}
	return nil
}

// projectFor returns the project in which to wake an agent: the active one with the most points,
// else that of its newest run if active, else the default one.
func (m *moment) projectFor(c Candidate) string {
	points := map[string]int64{}
	for project, n := range m.local.signals[c.WorkerAgentID] {
		points[project] += newSignalPoints * n
	}
	for _, at := range c.stuck {
		project, _, _ := strings.Cut(at, "/")
		points[project] += stuckPoints
	}
	for _, task := range c.due {
		points[task.ProjectID] += duePoints
	}
	for _, task := range c.overdue {
		points[task.ProjectID] += overduePoints
	}
	best, newest := "", m.local.newest[c.WorkerAgentID]
	for _, p := range m.projects { // by id
		if p.Status != "active" {
			continue
		}
		if n := points[p.ID]; n > 0 && (best == "" || n > points[best] || n == points[best] && p.ID == newest) {
			best = p.ID
		}
	}
	if best != "" {
		return best
	}
	if slices.ContainsFunc(m.projects, func(p doc.Project) bool { return p.ID == newest && p.Status == "active" }) {
		return newest
	}
	return defaultProject(m.projects)
}

// executiveActor is the actor for jobs and actions that no director owns.
func executiveActor(config doc.HeartbeatConfig) policy.Actor {
	if config.Enterprise() && config.ExecutiveManagerAgentID != "" {
		return policy.Actor{ID: config.ExecutiveManagerAgentID, Role: coordinatorRole}
	}
	return policy.Actor{ID: coordinator, Role: coordinatorRole}
}

// actorFor is the actor of the actions in a worker's report.
func actorFor(w *workspace.Workspace, config doc.HeartbeatConfig, worker string) policy.Actor {
	if config.Enterprise() && config.DirectorsSpawn() && workspace.SafeID(worker) {
		if agent, err := w.Agent(worker); err == nil && agent.Role == roleDirector {
			return policy.Actor{ID: agent.ID, Role: roleDirector, Team: agent.TeamID}
		}
	}
	return executiveActor(config)
}

// hardStopMark begins the rationale of an action that a hard stop queued.
const hardStopMark = "Hard stop: "

// hardStop returns why an enterprise action needs a person's decision, "" if it does not.
func hardStop(w *workspace.Workspace, config doc.HeartbeatConfig, actor policy.Actor, run string, action doc.ActionBody) (why string, err error) {
	if !config.Enterprise() || action.Kind == doc.ActionNoop || action.Kind == doc.ActionCreateApproval {
		return "", nil
	}
	if d := policy.Ask(w, question(Execution{Run: run, Actor: actor, Action: action})).Decision; !d.Allowed {
		return "policy_denied:" + d.RuleID, nil
	}
	if action.Kind != doc.ActionLaunchJob {
		return "", nil
	}
	if actor.Role == roleDirector && action.TargetRole == roleWorker && (action.WorkerAgentID == "" || w.AgentTeam(action.WorkerAgentID) != actor.Team) {
		return "director_cross_team_worker_spawn_denied", nil
	}
	over, err := overBudget(w, action)
	if err == nil && len(over) > 0 {
		why = "budget_limit_exceeded"
	}
	return why, err
}

// overBudget returns the hard limits of project and task that are already exceeded. The job of an
// action must not start then.
func overBudget(w *workspace.Workspace, action doc.ActionBody) ([]budget.Decision, error) {
	limits := budget.LimitsOf(w, nil, budget.Subject{Project: action.ProjectID, Task: action.TaskID})
	if !limits.NeedSums() {
		return nil, nil
	}
	spent, err := budget.NewSums(w).Of(budget.Subject{Project: action.ProjectID, Task: action.TaskID})
	if err != nil {
		return nil, err
	}
	return budget.Over(limits.Decide(budget.Spend{}, spent)), nil
}

// CheckBudget refuses the job of an approved action in an enterprise if a hard limit is exceeded:
// fault.BudgetExceeded. Approval does not lift a limit, so the one that stopped the action may
// still hold.
func CheckBudget(w *workspace.Workspace, action doc.ActionBody) error {
	config, _ := Config(w) // a broken config counts with its valid fields; Status reports its problem
	if !config.Enterprise() || action.Kind != doc.ActionLaunchJob {
		return nil
	}
	over, err := overBudget(w, action)
	if err == nil && len(over) > 0 {
		err = fault.New(fault.BudgetExceeded, "the budget refuses the job: %s; raise the limit and approve again, or deny", budget.Describe(over))
	}
	return err
}

// refuseSecrets refuses an enterprise action with a secret in its texts. The action is skipped rather
// than queued, so that no proposal repeats the secret.
func refuseSecrets(config doc.HeartbeatConfig, action doc.Action) error {
	if !config.Enterprise() {
		return nil
	}
	texts := []string{action.Title, action.Rationale}
	bodies := []doc.ActionBody{action.ActionBody}
	if action.ProposedAction != nil {
		bodies = append(bodies, *action.ProposedAction)
	}
	for _, b := range bodies {
		texts = append(texts, b.Goal, b.ContextNote, b.Body, b.Reason, b.Summary)
		texts = append(append(texts, b.Constraints...), b.Deliverables...)
	}
	if redact.Find(strings.Join(texts, "\n")).Total() > 0 {
		return fault.New(fault.SecretDetected, "secret_risk_detected: the action was skipped and is not repeated here")
	}
	return nil
}

// question builds the policy question about an action.
func question(e Execution) policy.Question {
	q := policy.Question{
		Action: policy.Approve, Actor: e.Actor, RunID: e.Run,
		Resource: policy.Resource{
			ID: e.Action.IdempotencyKey, Kind: governance.KindHeartbeatAction, Visibility: cmp.Or(e.Action.Visibility, "managers"), Team: e.Actor.Team,
		},
	}
	if e.Action.Kind == doc.ActionLaunchJob {
		q.Action = policy.Launch
	}
	return q
}
