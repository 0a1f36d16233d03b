package pm

// Recommending agents for tasks.

import (
	"fmt"
	"strings"

	"ac/internal/collation"
	"ac/workspace"
	"ac/workspace/doc"
)

// Recommendation is the recommended agent, provider and model for a task. Rationale and
// Reason are the same text, under two names that clients read.
type Recommendation struct {
	TaskID            string `json:"task_id"`
	PreferredProvider string `json:"preferred_provider"`
	PreferredModel    string `json:"preferred_model,omitempty"`
	PreferredAgentID  string `json:"preferred_agent_id,omitempty"`
	TokenBudgetHint   int64  `json:"token_budget_hint"`
	Rationale         string `json:"rationale"`
	Reason            string `json:"reason"`
}

// providerWithoutAgent is the recommended provider if no agent can take a task.
const providerWithoutAgent = doc.ProviderCodex

// Recommend recommends an agent for each open task: the assignee, else the member of its team
// with the least load. The load counts active runs and earlier recommendations of this call.
// Tasks keep their order.
func Recommend(tasks []doc.Task, agents []doc.Agent, activeRuns map[string]int) []Recommendation {
	c := candidates(agents)
	load := make(map[string]int, len(activeRuns))
	for id, runs := range activeRuns {
		load[id] = runs
	}
	rows := []Recommendation{}
	for i := range tasks {
		t := &tasks[i]
		if t.Status == "done" || t.Status == "canceled" {
			continue
		}
		row := Recommendation{TaskID: t.ID, PreferredProvider: providerWithoutAgent, TokenBudgetHint: tokenBudget(t)}
		row.Rationale = "No worker or manager can take this task: create an agent first."
		if agent, why := choose(t, c, load); agent != nil {
			row.PreferredProvider, row.PreferredModel, row.PreferredAgentID = agent.Provider, agent.ModelHint, agent.ID
			row.Rationale = why
			load[agent.ID]++
		}
		row.Reason = row.Rationale
		rows = append(rows, row)
	}
	return rows
}

// candidates returns the agents that may get tasks, sorted by name.
func candidates(agents []doc.Agent) (found []doc.Agent) {
	for _, a := range agents {
		if a.Role == "worker" || a.Role == "manager" {
			found = append(found, a)
		}
	}
	collation.SortBy(found, func(a doc.Agent) string { return a.Name }, func(a doc.Agent) string { return a.ID })
	return found
}

func choose(t *doc.Task, candidates []doc.Agent, load map[string]int) (agent *doc.Agent, why string) {
	for i := range candidates {
		if a := &candidates[i]; a.ID == t.AssigneeAgentID {
			return a, a.Name + " is assigned to this task."
		}
	}
	pool, where := teamOf(candidates, t.TeamID), "the task's team"
	if len(pool) == 0 {
		pool, where = candidates, "the company"
	}
	for _, office := range []bool{false, true} {
		for i := range pool {
			if a := &pool[i]; isOffice(a.ID) == office && (agent == nil || load[a.ID] < load[agent.ID]) {
				agent = a
			}
		}
		if agent != nil {
			break
		}
	}
	if agent == nil {
		return nil, ""
	}
	return agent, fmt.Sprintf("%s has the fewest open tasks in %s (%s).", agent.Name, where, plural(load[agent.ID], "item"))
}

func teamOf(agents []doc.Agent, team string) (members []doc.Agent) {
	for _, a := range agents {
		if team != "" && a.TeamID == team {
			members = append(members, a)
		}
	}
	return members
}

// isOffice reports whether an agent is one of those that every company and project has by
// default. They get tasks only if there is no other agent.
func isOffice(id string) bool {
	return id == workspace.GlobalManagerID || strings.HasPrefix(id, workspace.SecretaryPrefix)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// tokenBudget estimates the tokens of a task from its duration, its milestones, and whether
// its title mentions building something.
func tokenBudget(t *doc.Task) int64 {
	budget := 6000*int64(DurationDays(t)) + 3000*int64(len(t.Milestones))
	title := strings.ToLower(t.Title)
	for _, word := range []string{"build", "implement", "refactor", "code", "fix", "ship", "rewrite"} {
		if strings.Contains(title, word) {
			return budget + 6000
		}
	}
	return budget
}
