package index

// Run lists for people: with the newest session of each run, and lookups by ID.

import (
	"database/sql"
	"strings"
)

// ListedRun is a run with the ref of its newest session, "" if its log names none.
type ListedRun struct {
	MonitoredRun

	SessionRef string
	RetryOf    string // the run that it retries; "" for none
}

// Key identifies the run.
func (l *ListedRun) Key() RunKey { return RunKey{l.ProjectID, l.RunID} }

// ListedRuns lists runs, newest first.
func (v *View) ListedRuns(f RunFilter) ([]ListedRun, error) {
	c := f.conditions()
	return query(v, listedRunQuery+c.text+newestRuns, append(c.args, limit(f.Limit)), scanListed)
}

// ListedRun returns one run, nil if it is not in the index.
func (v *View) ListedRun(key RunKey) (*ListedRun, error) {
	list, err := query(v, listedRunQuery+" WHERE r.run_id=? AND r.project_id=?", []any{key.RunID, key.ProjectID}, scanListed)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

// TypesAfter lists the types of a run's events after a seq, except the given types.
func (v *View) TypesAfter(key RunKey, seq int64, except ...string) ([]string, error) {
	runs, err := query(v, "SELECT id FROM ac_runs WHERE run_id=? AND project_id=?", []any{key.RunID, key.ProjectID}, func(rows *sql.Rows, id *int64) error { return rows.Scan(id) })
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	args := []any{eventKey(runs[0], seq), eventKey(runs[0]+1, 0)}
	for _, word := range except {
		args = append(args, word)
	}
	none := strings.TrimPrefix(strings.Repeat(",?", len(except)), ",")
	return query(v, `SELECT word FROM ac_words WHERE id IN (SELECT type FROM ac_events WHERE id>? AND id<?
 AND type NOT IN (SELECT id FROM ac_words WHERE word IN (`+none+`)))`, args, func(rows *sql.Rows, word *string) error { return rows.Scan(word) })
}

const listedRunQuery = "SELECT " + runColumns + ", " + statsColumns + ", COALESCE(s.session_ref,''), COALESCE(s.retry_of,'') FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id"

func scanListed(rows *sql.Rows, l *ListedRun) error {
	var s statsRow
	if err := rows.Scan(append(append(l.targets(), s.targets()...), &l.SessionRef, &l.RetryOf)...); err != nil {
		return err
	}
	l.setStats(s.stats())
	return nil
}

// CountRuns counts the runs that a filter selects, ignoring its limit.
func (v *View) CountRuns(f RunFilter) (n int, err error) {
	c := f.conditions()
	err = v.conn.queryRow(v.ctx, "SELECT count(*) FROM ac_runs r"+c.text, c.args, &n)
	return n, err
}

// RunIDsLike lists the IDs of all runs that share their last letters with one of ids. With more
// than maxEndings ids it does not filter, and lists all.
func (v *View) RunIDsLike(ids []string, letters int) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text, args := "SELECT run_id FROM ac_runs", []any(nil)
	if len(ids) <= maxEndings {
		text += " WHERE substr(run_id,?) IN (?" + strings.Repeat(",?", len(ids)-1) + ")"
		args = append(args, -letters)
		for _, id := range ids {
			args = append(args, id[max(0, len(id)-letters):])
		}
	}
	return query(v, text, args, func(rows *sql.Rows, id *string) error { return rows.Scan(id) })
}

// maxEndings is the largest number of ids that RunIDsLike filters by.
const maxEndings = 200

// LastRuns returns when the newest run of each agent was created.
func (v *View) LastRuns() (map[string]string, error) {
	type last struct{ agent, at string }
	list, err := query(v, "SELECT agent_id, created_at, max(at) FROM ac_runs GROUP BY agent_id", nil, func(rows *sql.Rows, l *last) error {
		var at int64
		return rows.Scan(&l.agent, &l.at, &at)
	})
	found := make(map[string]string, len(list))
	for _, l := range list {
		found[l.agent] = l.at
	}
	return found, err
}

// TaskCount has the numbers of tasks of a project.
type TaskCount struct {
	ProjectID            string
	Tasks, Done, Blocked int
}

// TaskCounts counts the tasks of each project that has any, without canceled ones.
func (v *View) TaskCounts() ([]TaskCount, error) {
	return query(v, "SELECT project_id, count(*), sum(status='done'), sum(status='blocked') FROM ac_tasks WHERE status<>'canceled' GROUP BY project_id", nil,
		func(rows *sql.Rows, n *TaskCount) error {
			return rows.Scan(&n.ProjectID, &n.Tasks, &n.Done, &n.Blocked)
		})
}

// LastMessage is a conversation with its newest message. At and By are "" if it has none.
type LastMessage struct {
	Key                                     int64 // row ID of the conversation, for Unread
	ConversationID, ProjectID, Name, At, By string
}

// LastMessages lists the conversations of the workspace and of all projects.
func (v *View) LastMessages() ([]LastMessage, error) {
	return query(v, `SELECT c.id, c.conversation_id, COALESCE(c.project_id,''), c.name, COALESCE(m.created_at,''), COALESCE(m.author_id,'') FROM ac_conversations c
 LEFT JOIN ac_messages m ON m.conversation=c.id AND m.seq=(SELECT max(seq) FROM ac_messages n WHERE n.conversation=c.id)`, nil,
		func(rows *sql.Rows, l *LastMessage) error {
			return rows.Scan(&l.Key, &l.ConversationID, &l.ProjectID, &l.Name, &l.At, &l.By)
		})
}

// newestMessages is the number of messages among which unread ones are counted.
const newestMessages = 200

// Unread counts the messages after last among the newest ones of a conversation, without the
// reader's own. last is the ID of the last message read, "" for none.
func (v *View) Unread(conversation int64, reader, last string) (n int, err error) {
	err = v.conn.queryRow(v.ctx, `SELECT count(*) FROM (SELECT seq, author_id FROM ac_messages WHERE conversation=?1 ORDER BY seq DESC LIMIT ?2)
 WHERE author_id<>?3 AND seq>COALESCE((SELECT seq FROM ac_messages WHERE conversation=?1 AND message_id=?4),-1)`,
		[]any{conversation, newestMessages, reader, last}, &n)
	return n, err
}

// RunsSince counts the runs created since a time, by status, in a project or in all projects if
// it is "".
func (v *View) RunsSince(project string, since int64) (map[string]int, error) {
	type count struct {
		status string
		n      int
	}
	c := RunFilter{ProjectID: project, From: since}.conditions()
	list, err := query(v, "SELECT r.status, count(*) FROM ac_runs r"+c.text+" GROUP BY r.status", c.args,
		func(rows *sql.Rows, n *count) error { return rows.Scan(&n.status, &n.n) })
	counts := make(map[string]int, len(list))
	for _, n := range list {
		counts[n.status] = n.n
	}
	return counts, err
}
