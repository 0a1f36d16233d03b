package lane

// Choosing the next launch to grant.

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Priorities of a launch.
const (
	High   = "high"
	Normal = "normal"
	Low    = "low"
)

// priorities returns all priorities, highest first.
func priorities() []string { return []string{High, Normal, Low} }

// rank returns the position of a priority. An unknown priority counts as normal.
func rank(priority string) int {
	switch priority {
	case High:
		return 0
	case Low:
		return 2
	}
	return 1
}

// Request holds the parameters of a launch in the lane.
type Request struct {
	Priority string `json:"priority"`
	Provider string `json:"provider"`
	Team     string `json:"team"`
	Limits   Limits `json:"limits"`
}

// Limits holds how many launches may be prepared at once: in the workspace, per provider, and
// per team.
type Limits struct {
	Workspace int `json:"workspace"`
	Provider  int `json:"provider"`
	Team      int `json:"team"`
}

// LimitsFrom returns the limits from the environment. A missing or invalid variable means 1.
func LimitsFrom(lookup func(name string) (string, bool)) Limits {
	limit := func(name string) int {
		text, _ := lookup(name)
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 {
			return n
		}
		return 1
	}
	return Limits{
		Workspace: limit("AC_LAUNCH_WORKSPACE_LIMIT"), Provider: limit("AC_LAUNCH_PROVIDER_LIMIT"), Team: limit("AC_LAUNCH_TEAM_LIMIT"),
	}
}

// Or returns the limits with unset ones taken from others.
func (l Limits) Or(others Limits) Limits {
	or := func(own, other int) int {
		if own > 0 {
			return own
		}
		return other
	}
	return Limits{or(l.Workspace, others.Workspace), or(l.Provider, others.Provider), or(l.Team, others.Team)}
}

// inOrder sorts tickets by priority, then by arrival.
func inOrder(tickets []ticket) {
	slices.SortFunc(tickets, func(a, b ticket) int {
		return cmp.Or(cmp.Compare(rank(a.Priority), rank(b.Priority)), cmp.Compare(a.seq, b.seq))
	})
}

// pick returns the index of the next launch to grant, -1 for none. The tickets must be in order.
// Later launches overtake one whose limits are reached or whose provider is cooling down.
func pick(tickets []ticket, cooling map[string]bool) int {
	running := 0
	providers, teams := map[string]int{}, map[string]int{}
	for _, t := range tickets {
		if t.running {
			running++
			providers[key(t.Provider)]++
			teams[key(t.Team)]++
		}
	}
	for i, t := range tickets {
		if !t.running && !cooling[key(t.Provider)] && running < t.Limits.Workspace &&
			providers[key(t.Provider)] < t.Limits.Provider && teams[key(t.Team)] < t.Limits.Team {
			return i
		}
	}
	return -1
}
