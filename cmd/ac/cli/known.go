package cli

// What names and ids on the command line can refer to, by kind.

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

// The kinds of things that a word can name. An actor is an agent, a person or the program.
const (
	KindProject      = "project"
	KindAgent        = "agent"
	kindActor        = "actor"
	KindTeam         = "team"
	kindRun          = "run"
	KindTask         = "task"
	kindMilestone    = "milestone"
	kindArtifact     = "artifact"
	kindJob          = "job"
	kindInteraction  = "interaction"
	KindConversation = "conversation"
	kindSession      = "session"
	kindSharePack    = "share pack"
	kindCheckpoint   = "checkpoint"
	kindNeed         = "item"
	kindHelpRequest  = "help request"
)

// hasNames reports whether things of a kind have names besides their ids.
func hasNames(kind string) bool {
	return kind == KindProject || kind == KindAgent || kind == KindTeam || kind == KindConversation
}

// mostInteractions bounds how many interactions, open ones first, and checkpoints a lookup reads.
const mostInteractions = 500

// Known lists what a word of a kind can refer to: in the project of the call, or in all projects if
// it has none. It writes nothing but the index.
func (c *Call) Known(kind string) ([]Candidate, error) {
	switch kind {
	case KindProject:
		return listed(c, workforce.Operations.ProjectNames, c.DirParam(), func(p doc.Project) Candidate { return Candidate{ID: p.ID, Name: p.Name} })
	case KindAgent, kindActor:
		return listed(c, (*company.Folder).Agents, company.AgentsParams{Dir: c.DirParam()}, func(r company.AgentRow) Candidate {
			return Candidate{ID: r.AgentID, Name: r.Name, Line: strings.TrimSpace(r.Role + " " + r.TeamID)}
		})
	case KindTeam:
		return listed(c, (*company.Folder).Teams, c.DirParam(), func(r company.TeamRow) Candidate { return Candidate{ID: r.TeamID, Name: r.Name} })
	case kindRun:
		return listed(c, (*company.Folder).ListRuns, company.ListRunsParams{Dir: c.DirParam()}, func(r runs.ListRow) Candidate {
			return Candidate{ID: r.RunID, Line: r.Status + "  " + r.CreatedAt}
		})
	case kindSession:
		p := company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.Dir}}
		return listed(c, (*company.Host).ListSessions, p, func(r company.SessionRow) Candidate { return Candidate{ID: r.SessionRef, Line: r.Status} })
	case kindInteraction:
		p := orchestration.ListInteractionsParams{Dir: c.DirParam(), ProjectID: c.Project, State: "all", Limit: mostInteractions}
		list, err := company.Do(c.Ctx, c.All, orchestration.Operations.ListInteractions, p)
		return Candidates(list.Interactions, func(r interaction.Record) Candidate { return Candidate{ID: r.InteractionID, Line: r.Title} }), err
	case kindNeed:
		open, err := c.knownNeeds("open", nil)
		dismissed, failed := c.knownNeeds("dismissed", nil)
		return append(open, dismissed...), errors.Join(err, failed)
	case kindHelpRequest:
		return c.knownNeeds("open", []string{needs.Help})
	case KindConversation:
		p := workforce.ConversationNamesParams{Dir: c.DirParam(), ProjectID: c.Project}
		return listed(c, workforce.Operations.ConversationNames, p, func(conv doc.Conversation) Candidate {
			return Candidate{ID: conv.ID, Name: conv.Name, Also: "#" + conv.Slug}
		})
	}
	return c.knownInProjects(kind)
}

// knownNeeds lists the needs. With kinds given, it lists them by the ids of their subjects, such as
// help requests.
func (c *Call) knownNeeds(state string, kinds []string) ([]Candidate, error) {
	p := decisions.ListNeedsParams{Dir: c.DirParam(), ProjectID: c.Project, State: state, Kinds: kinds, Limit: MostInbox}
	list, err := company.Do(c.Ctx, c.All, decisions.Operations.ListNeeds, p)
	return Candidates(list.Needs, func(n needs.Need) Candidate {
		if kinds != nil {
			return Candidate{ID: n.Ref(), Line: n.Title}
		}
		return Candidate{ID: n.NeedID, Line: n.Title}
	}), err
}

// knownInProjects lists the things of a kind in the project of the call, or in all projects.
func (c *Call) knownInProjects(kind string) (known []Candidate, err error) {
	projects := []Candidate{{ID: c.Project}}
	if c.Project == "" {
		if projects, err = c.Known(KindProject); err != nil {
			return nil, err
		}
	}
	for _, project := range projects {
		rows, err := c.knownIn(kind, company.ProjectParams{Dir: c.DirParam(), ProjectID: project.ID})
		if err != nil {
			return nil, err
		}
		known = append(known, rows...)
	}
	return known, nil
}

// knownIn lists the things of a kind in one project.
func (c *Call) knownIn(kind string, p company.ProjectParams) (known []Candidate, err error) {
	switch kind {
	case KindTask, kindMilestone:
		list, err := company.Do(c.Ctx, c.All, workforce.Operations.ListTasks, workforce.ListTasksParams(p))
		for i := range list.Tasks {
			task := &list.Tasks[i].Frontmatter
			if kind == KindTask {
				known = append(known, Candidate{ID: task.ID, Line: task.Title})
				continue
			}
			for _, m := range task.Milestones {
				known = append(known, Candidate{ID: m.ID, Line: m.Title})
			}
		}
		return known, err
	case kindArtifact:
		return listed(c, decisions.Operations.ArtifactNames, p, func(a doc.Artifact) Candidate { return Candidate{ID: a.ID, Line: a.Title} })
	case kindJob:
		return listed(c, (*company.Company).JobNames, p, func(j doc.Job) Candidate { return Candidate{ID: j.Job.JobID, Line: j.Job.Goal} })
	case kindSharePack:
		return listed(c, workforce.Operations.SharePacks, p, func(s doc.SharePack) Candidate { return Candidate{ID: s.ID, Line: s.CreatedAt} })
	case kindCheckpoint:
		return listed(c, decisions.Operations.Checkpoints, decisions.CheckpointsParams{Dir: p.Dir, ProjectID: p.ProjectID, Limit: mostInteractions}, func(r files.CheckpointRow) Candidate {
			return Candidate{ID: r.CheckpointID, Line: r.At}
		})
	}
	return nil, nil
}

// listed converts the rows of an operation to candidates.
func listed[S company.Target, P, R any](c *Call, op func(S, context.Context, P) ([]R, error), p P, of func(R) Candidate) ([]Candidate, error) {
	rows, err := company.Do(c.Ctx, c.All, op, p)
	return Candidates(rows, of), err
}

// Candidates makes a candidate of each row.
func Candidates[R any](rows []R, of func(R) Candidate) []Candidate {
	known := make([]Candidate, len(rows))
	for i, r := range rows {
		known[i] = of(r)
	}
	return known
}

// MostInbox bounds the number of needs that a command lists.
const MostInbox = 1000
