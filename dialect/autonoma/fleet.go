package autonoma

// The fleet methods, with which newer clients list and command agents.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

type fleetRow struct {
	ID          string `json:"id"`
	AgentID     string `json:"agentId"`
	Name        string `json:"name"`
	Status      string `json:"status"`
	Capability  string `json:"capability"`
	Group       string `json:"group"`
	Region      string `json:"region"`
	AgentType   string `json:"agentType"`
	ActiveTasks int    `json:"activeTasks"`
}

// capability returns what an agent is for: its team, else its role.
func (a seenAgent) capability() string { return cmp.Or(a.team, a.Role) }

func listFleet(ctx context.Context, c *call, p listFleetParams) (any, error) {
	all, err := c.server.agents(ctx)
	rows := []fleetRow{}
	for _, a := range all {
		if p.Capability == "" || strings.EqualFold(p.Capability, a.capability()) {
			rows = append(rows, fleetRow{a.AgentID, a.AgentID, a.Name, a.status, a.capability(), a.capability(), "local", a.AgentID, a.active})
		}
	}
	return rows, err
}

type fleetAgent struct {
	AgentID     string `json:"agentId"`
	ID          string `json:"id"`
	Name        string `json:"name"`
	Status      string `json:"status"`
	Uptime      int64  `json:"uptime"` // seconds since the daemon started
	Version     string `json:"version"`
	ActiveTasks int    `json:"activeTasks"`
}

type fleetCounts struct {
	Total     int `json:"total"`
	Available int `json:"available"`
	Busy      int `json:"busy"`
	Offline   int `json:"offline"`
}

func (f *fleetCounts) add(status string) {
	f.Total++
	switch status {
	case available:
		f.Available++
	case busy:
		f.Busy++
	default:
		f.Offline++
	}
}

type fleetSummary struct {
	fleetCounts
	ByCapability map[string]*fleetCounts `json:"byCapability"`
}

func fleetStatus(ctx context.Context, c *call, p fleetStatusParams) (any, error) {
	s := c.server
	if p.AgentID != "" {
		a, err := s.findAgent(ctx, p.AgentID)
		uptime := int64(s.Clock.Now().Sub(s.began) / time.Second)
		return fleetAgent{a.AgentID, a.AgentID, a.Name, a.status, uptime, cmp.Or(a.version, "unknown"), a.active}, err
	}
	all, err := s.agents(ctx)
	sum := fleetSummary{ByCapability: map[string]*fleetCounts{}}
	for _, a := range all {
		counts := sum.ByCapability[a.capability()]
		if counts == nil {
			counts = &fleetCounts{}
			sum.ByCapability[a.capability()] = counts
		}
		sum.add(a.status)
		counts.add(a.status)
	}
	return sum, err
}

type fleetStarted struct {
	ExecutionID string `json:"executionId"`
	TaskID      string `json:"taskId"`
}

// controls are commands that this daemon does not support.
func controls() []string {
	return []string{"pause", "resume", "restart", "stop", "start", "shutdown", "kill", "scale", "drain"}
}

func fleetCommand(ctx context.Context, c *call, p fleetCommandParams) (any, error) {
	s := c.server
	if word := strings.ToLower(strings.TrimSpace(p.Command)); slices.Contains(controls(), word) {
		return nil, protocolError(fmt.Sprintf("%q is no command of this daemon; a task is stopped with background.cancel", word))
	}
	note, err := c.note("params")
	if err != nil {
		return nil, err
	}
	name := cmp.Or(p.AgentID, p.Target, p.AgentType)
	if name == "" {
		if name, err = s.withCapability(ctx, p.Capability); err != nil {
			return nil, err
		}
	}
	id, err := s.submit(ctx, task{agent: name, goal: p.Command, note: note, ref: "fleet"})
	if err != nil {
		return nil, err
	}
	c.after = func() { c.follow(id, [phaseCount]phase{}) }
	return fleetStarted{id, id}, nil
}

// withCapability returns the id of the first agent with a capability that can work. For an empty
// capability it returns the default agent.
func (s *server) withCapability(ctx context.Context, capability string) (string, error) {
	if capability == "" {
		return s.helper(ctx)
	}
	all, err := s.agents(ctx)
	if err != nil {
		return "", err
	}
	for _, a := range all {
		if a.status != offline && strings.EqualFold(a.capability(), capability) {
			return a.AgentID, nil
		}
	}
	return "", protocolError("no agent can do this: nobody with the capability " + capability + " is there")
}
