package index

// Tasks, conversations, messages and comments, and signals in logs.

import (
	"database/sql"
	"encoding/json"

	"ac/workspace/doc"
)

// Comments lists comments with the fields of their files, newest first.
func (v *View) Comments(f CommentFilter) ([]doc.Comment, error) {
	var c conditions
	c.equal("project_id", f.ProjectID)
	c.equal("agent_id", f.AgentID)
	c.equal("artifact_id", f.ArtifactID)
	c.equal("run_id", f.RunID)
	return query(v, "SELECT comment_id, schema_version, created_at, author_id, author_role, visibility, project_id, COALESCE(agent_id,''), COALESCE(artifact_id,''), COALESCE(run_id,''), body FROM ac_comments"+
		c.text+" ORDER BY at DESC, comment_id DESC"+limitClause, append(c.args, limit(f.Limit)),
		func(rows *sql.Rows, m *doc.Comment) error {
			m.Type = "comment"
			return rows.Scan(&m.ID, &m.SchemaVersion, &m.CreatedAt, &m.AuthorID, &m.AuthorRole, &m.Visibility, &m.Target.ProjectID, &m.Target.AgentID, &m.Target.ArtifactID, &m.Target.RunID, &m.Body)
		})
}

// CommentFilter selects comments; empty fields match all.
type CommentFilter struct {
	ProjectID  string
	AgentID    string
	ArtifactID string
	RunID      string
	Limit      int
}

// Task is a task with its milestones in order.
type Task struct {
	ProjectID         string
	TaskID            string
	Title             string
	Status            string
	Visibility        string
	TeamID            *string
	AssigneeAgentID   *string
	CreatedAt         string
	PlannedStart      *string
	PlannedEnd        *string
	DurationDays      *int
	HasSchedule       bool
	DependsOnTaskIDs  []string
	PreferredProvider *string
	PreferredModel    *string
	PreferredAgentID  *string
	TokenBudgetHint   *int64
	AppliedBy         *string
	AppliedAt         *string
	ProgressRatio     float64
	Relpath           string
	Milestones        []Milestone
	id                int64
}

// Milestone is a milestone of a task.
type Milestone struct {
	MilestoneID           string
	Title                 string
	Kind                  string
	Status                string
	AcceptanceCriteria    []string
	EvidenceRequiresPatch bool
	EvidenceRequiresTests bool
}

// Tasks lists the tasks of a project, or of all projects if it is "", sorted by project and ID.
func (v *View) Tasks(project string) ([]Task, error) {
	var c conditions
	c.equal("t.project_id", project)
	list, err := query(v, `SELECT t.id, t.project_id, t.task_id, t.title, t.status, t.visibility, t.team_id, t.assignee_agent_id, t.created_at,
 t.schedule_planned_start, t.schedule_planned_end, t.schedule_duration_days, t.schedule_depends_on_json, t.execution_preferred_provider,
 t.execution_preferred_model, t.execution_preferred_agent_id, t.execution_token_budget_hint, t.execution_applied_by, t.execution_applied_at,
 t.progress_ratio, t.relpath FROM ac_tasks t`+c.text+" ORDER BY t.project_id, t.task_id", c.args, scanTask)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(list))
	for i := range list {
		at[list[i].id] = i
	}
	type row struct {
		task int64
		Milestone
	}
	milestones, err := query(v, `SELECT m.task, m.milestone_id, m.title, m.kind, m.status, m.acceptance_criteria_json, m.evidence_requires_patch, m.evidence_requires_tests
 FROM ac_tasks t JOIN ac_task_milestones m ON m.task=t.id`+c.text+" ORDER BY m.task, m.seq", c.args, func(rows *sql.Rows, m *row) error {
		var criteria string
		if err := rows.Scan(&m.task, &m.MilestoneID, &m.Title, &m.Kind, &m.Status, &criteria, &m.EvidenceRequiresPatch, &m.EvidenceRequiresTests); err != nil {
			return err
		}
		return json.Unmarshal([]byte(criteria), &m.AcceptanceCriteria)
	})
	for _, m := range milestones {
		t := &list[at[m.task]]
		t.Milestones = append(t.Milestones, m.Milestone)
	}
	return list, err
}

func scanTask(rows *sql.Rows, t *Task) error {
	var depends sql.NullString
	if err := rows.Scan(&t.id, &t.ProjectID, &t.TaskID, &t.Title, &t.Status, &t.Visibility, &t.TeamID, &t.AssigneeAgentID, &t.CreatedAt,
		&t.PlannedStart, &t.PlannedEnd, &t.DurationDays, &depends, &t.PreferredProvider, &t.PreferredModel, &t.PreferredAgentID,
		&t.TokenBudgetHint, &t.AppliedBy, &t.AppliedAt, &t.ProgressRatio, &t.Relpath); err != nil {
		return err
	}
	if t.HasSchedule = depends.Valid; !t.HasSchedule {
		return nil
	}
	return json.Unmarshal([]byte(depends.String), &t.DependsOnTaskIDs)
}

// Conversation is a conversation with its participants.
type Conversation struct {
	doc.Conversation
	Dir      string // its directory in the workspace
	Messages int
	id       int64
}

// Conversations lists the conversations of a project, oldest first; "" means those of the
// workspace.
func (v *View) Conversations(project string) ([]Conversation, error) {
	text, args := " WHERE c.project_id IS NULL", []any(nil)
	if project != "" {
		text, args = " WHERE c.project_id=?", []any{project}
	}
	list, err := query(v, `SELECT c.id, c.conversation_id, c.scope, COALESCE(c.project_id,''), c.kind, c.name, c.slug, c.visibility, c.created_at, c.created_by,
 c.auto_generated, COALESCE(c.dm_peer_agent_id,''), c.dir, (SELECT count(*) FROM ac_messages m WHERE m.conversation=c.id)
 FROM ac_conversations c`+text+" ORDER BY c.at, c.conversation_id", args, func(rows *sql.Rows, c *Conversation) error {
		c.SchemaVersion, c.Type = doc.Version, "conversation"
		c.Participants = doc.Participants{AgentIDs: []string{}, TeamIDs: []string{}}
		return rows.Scan(&c.id, &c.ID, &c.Scope, &c.ProjectID, &c.Kind, &c.Name, &c.Slug, &c.Visibility, &c.CreatedAt, &c.CreatedBy,
			&c.AutoGenerated, &c.DMPeerAgentID, &c.Dir, &c.Messages)
	})
	if err != nil {
		return nil, err
	}
	at := make(map[int64]int, len(list))
	for i := range list {
		at[list[i].id] = i
	}
	type participant struct {
		conversation int64
		kind, id     string
	}
	all, err := query(v, "SELECT p.conversation, p.participant_kind, p.participant_id FROM ac_conversations c JOIN ac_conversation_participants p ON p.conversation=c.id"+text+
		" ORDER BY p.conversation, p.participant_kind, p.position", args,
		func(rows *sql.Rows, p *participant) error { return rows.Scan(&p.conversation, &p.kind, &p.id) })
	for _, p := range all {
		of := &list[at[p.conversation]].Participants
		if p.kind == "agent" {
			of.AgentIDs = append(of.AgentIDs, p.id)
		} else {
			of.TeamIDs = append(of.TeamIDs, p.id)
		}
	}
	return list, err
}

// Message is a message and its seq.
type Message struct {
	Seq int64
	doc.Message
}

// Messages lists the last messages of a conversation, oldest first.
func (v *View) Messages(conversation string, last int) ([]Message, error) {
	return query(v, `SELECT * FROM (SELECT m.seq, m.message_id, COALESCE(m.project_id,''), m.created_at, m.author_id, m.author_role, m.kind, m.visibility, m.body, m.mentions_json
 FROM ac_messages m WHERE m.conversation=(SELECT id FROM ac_conversations WHERE conversation_id=?) ORDER BY m.seq DESC `+limitClause+`) ORDER BY seq`,
		[]any{conversation, limit(last)}, func(rows *sql.Rows, m *Message) error {
			var mentions string
			m.SchemaVersion, m.Type, m.ConversationID = doc.Version, "message", conversation
			if err := rows.Scan(&m.Seq, &m.ID, &m.ProjectID, &m.CreatedAt, &m.AuthorID, &m.AuthorRole, &m.Kind, &m.Visibility, &m.Body, &mentions); err != nil {
				return err
			}
			return json.Unmarshal([]byte(mentions), &m.Mentions)
		})
}

// Signal counts the events of one actor in a run, after a seq.
type Signal struct {
	Actor  *string
	Events int
	Last   int64 // the highest seq among them
}

// Signals counts the events of a run after the seq since, by actor.
func (v *View) Signals(run RunKey, since int64) ([]Signal, error) {
	return query(v, `SELECT (SELECT word FROM ac_words WHERE id=e.actor), count(*), max(e.seq) FROM ac_runs r JOIN ac_events e ON e.id>((r.id<<36)|?) AND e.id<((r.id+1)<<36)
 WHERE r.run_id=? AND r.project_id=? GROUP BY e.actor ORDER BY 1`, []any{since, run.RunID, run.ProjectID},
		func(rows *sql.Rows, s *Signal) error { return rows.Scan(&s.Actor, &s.Events, &s.Last) })
}
