package main

// What words may name: the things of a workspace by their kinds.

import (
	"context"
	"errors"
	"strings"

	"ac/company"
	"ac/company/decisions"
	"ac/company/orchestration"
	"ac/company/workforce"
	"ac/governance/files"
	"ac/governance/needs"
	"ac/runs"
	"ac/runs/interaction"
	"ac/workspace/doc"
)

// The kinds of things that words name. An actor is an agent, a person or the program.
const (
	kindProject      = "project"
	kindAgent        = "agent"
	kindActor        = "actor"
	kindTeam         = "team"
	kindRun          = "run"
	kindTask         = "task"
	kindMilestone    = "milestone"
	kindArtifact     = "artifact"
	kindJob          = "job"
	kindInteraction  = "interaction"
	kindConversation = "conversation"
	kindSession      = "session"
	kindSharePack    = "share pack"
	kindCheckpoint   = "checkpoint"
	kindNeed         = "item"
	kindHelpRequest  = "help request"
)

// hasNames reports whether things of a kind have names beside their ids.
func hasNames(kind string) bool {
	return kind == kindProject || kind == kindAgent || kind == kindTeam || kind == kindConversation
}

// mostInteractions is how many interactions words are compared with, the open ones first.
const mostInteractions = 500

// known lists what words of a kind may name: in the project of the call, or in all where it
// has none. Nothing is written but the index.
func (c *call) known(kind string) ([]candidate, error) {
	switch kind {
	case kindProject:
		return listed(c, workforce.Operations.ProjectNames, c.dirParam(), func(p doc.Project) candidate { return candidate{id: p.ID, name: p.Name} })
	case kindAgent, kindActor:
		return listed(c, (*company.Folder).Agents, company.AgentsParams{Dir: c.dirParam()}, func(r company.AgentRow) candidate {
			return candidate{id: r.AgentID, name: r.Name, line: strings.TrimSpace(r.Role + " " + r.TeamID)}
		})
	case kindTeam:
		return listed(c, (*company.Folder).Teams, c.dirParam(), func(r company.TeamRow) candidate { return candidate{id: r.TeamID, name: r.Name} })
	case kindRun:
		return listed(c, (*company.Folder).ListRuns, company.ListRunsParams{Dir: c.dirParam()}, func(r runs.ListRow) candidate {
			return candidate{id: r.RunID, line: r.Status + "  " + r.CreatedAt}
		})
	case kindSession:
		p := company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.dir}}
		return listed(c, (*company.Host).ListSessions, p, func(r company.SessionRow) candidate { return candidate{id: r.SessionRef, line: r.Status} })
	case kindInteraction:
		p := orchestration.ListInteractionsParams{Dir: c.dirParam(), ProjectID: c.project, State: "all", Limit: mostInteractions}
		list, err := company.Do(c.ctx, c.all, orchestration.Operations.ListInteractions, p)
		return candidates(list.Interactions, func(r interaction.Record) candidate { return candidate{id: r.InteractionID, line: r.Title} }), err
	case kindNeed:
		open, err := c.knownNeeds("open", nil)
		dismissed, failed := c.knownNeeds("dismissed", nil)
		return append(open, dismissed...), errors.Join(err, failed)
	case kindHelpRequest:
		return c.knownNeeds("open", []string{needs.Help})
	case kindConversation:
		p := workforce.ConversationNamesParams{Dir: c.dirParam(), ProjectID: c.project}
		return listed(c, workforce.Operations.ConversationNames, p, func(conv doc.Conversation) candidate {
			return candidate{id: conv.ID, name: conv.Name, also: "#" + conv.Slug}
		})
	}
	return c.knownInProjects(kind)
}

// knownNeeds lists what needs a person, help requests by their own ids.
func (c *call) knownNeeds(state string, kinds []string) ([]candidate, error) {
	p := decisions.ListNeedsParams{Dir: c.dirParam(), ProjectID: c.project, State: state, Kinds: kinds, Limit: mostInbox}
	list, err := company.Do(c.ctx, c.all, decisions.Operations.ListNeeds, p)
	return candidates(list.Needs, func(n needs.Need) candidate {
		if kinds != nil {
			return candidate{id: n.Ref(), line: n.Title}
		}
		return candidate{id: n.NeedID, line: n.Title}
	}), err
}

// knownInProjects lists what projects have of a kind.
func (c *call) knownInProjects(kind string) (known []candidate, err error) {
	projects := []candidate{{id: c.project}}
	if c.project == "" {
		if projects, err = c.known(kindProject); err != nil {
			return nil, err
		}
	}
	for _, project := range projects {
		rows, err := c.knownIn(kind, company.ProjectParams{Dir: c.dirParam(), ProjectID: project.id})
		if err != nil {
			return nil, err
		}
		known = append(known, rows...)
	}
	return known, nil
}

// knownIn lists what a project has of a kind.
func (c *call) knownIn(kind string, p company.ProjectParams) (known []candidate, err error) {
	switch kind {
	case kindTask, kindMilestone:
		list, err := company.Do(c.ctx, c.all, workforce.Operations.ListTasks, workforce.ListTasksParams(p))
		for i := range list.Tasks {
			task := &list.Tasks[i].Frontmatter
			if kind == kindTask {
				known = append(known, candidate{id: task.ID, line: task.Title})
				continue
			}
			for _, m := range task.Milestones {
				known = append(known, candidate{id: m.ID, line: m.Title})
			}
		}
		return known, err
	case kindArtifact:
		return listed(c, decisions.Operations.ArtifactNames, p, func(a doc.Artifact) candidate { return candidate{id: a.ID, line: a.Title} })
	case kindJob:
		return listed(c, (*company.Company).JobNames, p, func(j doc.Job) candidate { return candidate{id: j.Job.JobID, line: j.Job.Goal} })
	case kindSharePack:
		return listed(c, workforce.Operations.SharePacks, p, func(s doc.SharePack) candidate { return candidate{id: s.ID, line: s.CreatedAt} })
	case kindCheckpoint:
		return listed(c, decisions.Operations.Checkpoints, decisions.CheckpointsParams{Dir: p.Dir, ProjectID: p.ProjectID, Limit: mostInteractions}, func(r files.CheckpointRow) candidate {
			return candidate{id: r.CheckpointID, line: r.At}
		})
	}
	return nil, nil
}

// listed lists candidates by an operation.
func listed[S company.Target, P, R any](c *call, op func(S, context.Context, P) ([]R, error), p P, of func(R) candidate) ([]candidate, error) {
	rows, err := company.Do(c.ctx, c.all, op, p)
	return candidates(rows, of), err
}

// candidates makes a candidate of each row.
func candidates[R any](rows []R, of func(R) candidate) []candidate {
	known := make([]candidate, len(rows))
	for i, r := range rows {
		known[i] = of(r)
	}
	return known
}
