package snapshot

// The tables of the room except the runs: needs, people, projects, counts, jobs, conversations and
// the server.

import (
	"cmp"
	"slices"
	"time"

	"ac/governance/needs"
	"ac/index"
	"ac/internal/clock"
	"ac/snapshot/room"
	"ac/workspace"
	"ac/workspace/doc"
)

// RoomTables holds rows of the room by table. Every table is complete.
type RoomTables map[string][]room.Change

// RoomReader is a person who watches the room. Read is the last message that they have read, by
// conversation.
type RoomReader struct {
	ID   string
	Read map[string]string
}

// RoomTables returns all tables of the room except the runs. version is the program's version.
func (m *View) RoomTables(reader RoomReader, version string) (RoomTables, error) {
	t := roomTables{View: m, reader: reader, tables: RoomTables{}, liveOf: map[string]int{}, waitingOf: map[string]int{}, counts: map[string]*room.Counts{}, projects: map[string]*room.Project{}}
	for _, part := range []func() error{t.live, t.needs, t.people, t.ofProjects, t.jobs, t.conversations} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	beat := readHeartbeat(m.w)
	t.add(room.TableMeta, "server", "", room.Meta{
		Machines: m.Machines(),
		Version:  version, Index: room.Index{State: "ready"}, Heartbeat: room.Heartbeat{On: beat.Enabled, NextAt: beat.NextTickAt},
	})
	return t.tables, nil
}

// roomTables builds the tables of one room.
type roomTables struct {
	*View

	reader    RoomReader
	tables    RoomTables
	liveOf    map[string]int // by agent
	waitingOf map[string]int
	counts    map[string]*room.Counts // by project; allProjects for the sum
	projects  map[string]*room.Project
}

// allProjects is the key of the counts of all projects.
const allProjects = "all"

func (t *roomTables) add(table, id, project string, row any) {
	t.tables[table] = append(t.tables[table], room.Change{Key: room.Key{Table: table, ID: id}, Project: project, Row: row})
}

func (t *roomTables) countsOf(project string) *room.Counts {
	c := t.counts[project]
	if c == nil {
		c = &room.Counts{ByKind: map[string]int{}}
		t.counts[project] = c
	}
	return c
}

// live counts the runs with a live session.
func (t *roomTables) live() error {
	t.countsOf(allProjects)
	list, err := t.RunList(RunQuery{Status: doc.StatusRunning})
	for i := range list.Rows {
		if r := &list.Rows[i]; r.RowSession != nil && r.LiveStatus == doc.StatusRunning {
			t.liveOf[r.AgentID]++
			t.countsOf(allProjects).Live++
			t.countsOf(r.ProjectID).Live++
		}
	}
	return err
}

// needs adds the needs and counts them.
func (t *roomTables) needs() error {
	found, err := t.Needs("")
	for _, n := range found.Open {
		t.add(room.TableNeeds, n.NeedID, n.ProjectID, n)
		if n.Group == needs.GroupAsks {
			t.waitingOf[n.Who]++
		}
		for _, c := range []*room.Counts{t.countsOf(allProjects), t.countsOf(n.ProjectID)} {
			c.Needs++
			c.ByKind[n.Kind]++
			if n.Kind == needs.RunFailed || n.Kind == needs.OverBudget {
				c.Failed++
			}
		}
	}
	delete(t.counts, "") // help requests of the whole workspace count only in the sum
	return err
}

// people adds the agents that have a document.
func (t *roomTables) people() error {
	agents, err := t.view.AgentCounters()
	if err != nil {
		return err
	}
	last, err := t.view.LastRuns()
	for _, a := range agents {
		if !a.OnFile {
			continue
		}
		p := room.Person{
			Name: needs.Line(a.Name), Role: a.Role, Team: orEmpty(a.TeamID), Provider: a.Provider, Status: "idle",
			Live: t.liveOf[a.AgentID], Waiting: t.waitingOf[a.AgentID], LastAt: last[a.AgentID],
		}
		switch {
		case p.Waiting > 0:
			p.Status = "waiting"
		case p.Live > 0:
			p.Status = "working"
		}
		t.add(room.TablePeople, a.AgentID, "", p)
	}
	return err
}

// ofProjects adds the projects and the counts of each.
func (t *roomTables) ofProjects() error {
	projects, err := t.w.Projects()
	if err != nil {
		return err
	}
	for _, p := range projects {
		c := t.countsOf(p.ID)
		t.projects[p.ID] = &room.Project{Name: needs.Line(p.Name), Live: c.Live, Needs: c.Needs, Failed: c.Failed}
		links, err := t.w.RepoLinks(p.ID)
		if err != nil {
			continue // validation reports it
		}
		for _, link := range links {
			t.projects[p.ID].Repos = append(t.projects[p.ID].Repos, room.Repo{ID: link.RepoID, Label: needs.Line(link.Label)})
		}
	}
	tasks, err := t.view.TaskCounts()
	if err != nil {
		return err
	}
	for _, n := range tasks {
		if p := t.projects[n.ProjectID]; p != nil {
			p.Tasks, p.Blocked = n.Tasks, n.Blocked
			if n.Tasks > 0 {
				p.DonePercent = 100 * n.Done / n.Tasks
			}
		}
	}
	now := t.w.Env.Clock.Now().Local()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	err = t.view.UsageRecords(index.UsageFilter{From: clock.Nanos(today), To: clock.Nanos(today.AddDate(0, 0, 1)) - 1}, func(r *index.UsageRecord) {
		p := t.projects[r.ProjectID]
		if p == nil {
			return
		}
		p.TokensToday += r.Total
		if r.CostUSD != nil {
			p.CostToday = new(micro(*cmp.Or(p.CostToday, new(0.0)) + *r.CostUSD))
		}
	})
	for id, p := range t.projects {
		t.add(room.TableProjects, id, id, *p)
	}
	for id, c := range t.counts {
		project := id
		if id == allProjects {
			project = ""
		}
		t.add(room.TableCounts, id, project, *c)
	}
	return err
}

// oldJobs is how many finished jobs of a project are shown besides the unfinished ones.
const oldJobs = 20

// jobs adds the unfinished jobs, and the newest finished ones.
func (t *roomTables) jobs() error {
	for project := range t.projects {
		all, err := t.jobsOf(project)
		if err != nil {
			return err
		}
		all = slices.Clone(all)
		slices.SortFunc(all, func(a, b doc.Job) int { return newer(a.CreatedAt, b.CreatedAt) })
		over := 0
		for i := range all {
			j := &all[i]
			if j.Over() {
				if over++; over > oldJobs {
					continue
				}
			}
			row := room.Job{Project: project, Goal: needs.Line(j.Job.Goal), Status: j.Status, Worker: j.Job.WorkerAgentID, At: j.CreatedAt}
			if last := j.Last(); last != nil {
				row.Run = last.RunID
			}
			t.add(room.TableJobs, j.Job.JobID, project, row)
		}
	}
	return nil
}

// conversations adds the conversations with their newest messages.
func (t *roomTables) conversations() error {
	list, err := t.view.LastMessages()
	for _, c := range list {
		if !workspace.SafeID(c.ConversationID) {
			continue
		}
		unread, err := t.view.Unread(c.Key, t.reader.ID, t.reader.Read[c.ConversationID])
		if err != nil {
			return err
		}
		t.add(room.TableTalk, c.ConversationID, c.ProjectID, room.Conversation{Project: c.ProjectID, Name: needs.Line(c.Name), LastAt: c.At, LastBy: c.By, Unread: unread})
	}
	return err
}
