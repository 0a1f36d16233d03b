package index

// Writing rows, in one transaction that begins with the first one.

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// writer writes on the connection of a pass.
type writer struct {
	ctx      context.Context //nolint:containedctx // of one pass; it never ends, so that no statement is interrupted
	conn     *link
	began    bool
	words    map[string]int64
	known    *known
	messages int // how many more there are now
}

func newWriter(ctx context.Context, conn *link, k *known) *writer {
	return &writer{ctx: context.WithoutCancel(ctx), conn: conn, words: map[string]int64{}, known: k}
}

// begin starts the transaction.
func (w *writer) begin() error {
	if w.began {
		return nil
	}
	if err := w.conn.do(w.ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.began = true
	return nil
}

// end commits, or rolls back.
func (w *writer) end(failed error) error {
	if !w.began {
		return failed
	}
	if failed == nil {
		w.known.generation++
		failed = w.conn.do(w.ctx, "UPDATE ac_state SET generation=?, messages=messages+?", w.known.generation, w.messages)
	}
	if failed == nil {
		failed = w.conn.do(w.ctx, "COMMIT")
	}
	if failed != nil {
		err := w.conn.do(w.ctx, "ROLLBACK")
		if err != nil && !strings.Contains(err.Error(), "no transaction is active") {
			return errors.Join(failed, err)
		}
	}
	return failed
}

func (w *writer) statement(text string) (*sql.Stmt, error) { return w.conn.statement(w.ctx, text) }

func (w *writer) exec(text string, args ...any) error {
	_, err := w.change(text, args...)
	return err
}

// change runs a statement and returns how many rows it changed.
func (w *writer) change(text string, args ...any) (int, error) {
	if err := w.begin(); err != nil {
		return 0, err
	}
	st, err := w.statement(text)
	if err != nil {
		return 0, err
	}
	done, err := st.ExecContext(w.ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := done.RowsAffected()
	return int(n), err
}

func marks(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?,", n), ",") + ")" }

// insert writes the rows of a document.
func (w *writer) insert(f *file, rows []insertion) error {
	for _, row := range rows {
		text := "INSERT OR REPLACE INTO " + row.table + " VALUES " + marks(len(row.values)+1)
		if err := w.exec(text, append([]any{f.id}, row.values...)...); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) saveFile(f *file) error {
	var problem, what any
	if f.problem != "" {
		problem, what = f.problem, f.what
	}
	return w.exec("INSERT OR REPLACE INTO ac_files VALUES (?,?,?,?,?)", f.id, f.path, f.encode(), problem, what)
}

// replace deletes the old rows of a document.
func (w *writer) replace(p *pass, f *file) error {
	if err := w.formerAgent(p, f); err != nil {
		return err
	}
	for _, text := range ownRows(f.kind) {
		if err := w.exec(text, f.id); err != nil {
			return err
		}
	}
	return nil
}

// ownRows are the statements that delete the rows of a document.
func ownRows(of kind) []string {
	switch of {
	case kindRun:
		return []string{"DELETE FROM ac_runs WHERE id=?"}
	case kindArtifact:
		return []string{"DELETE FROM ac_artifacts WHERE id=?"}
	case kindReview:
		return []string{"DELETE FROM ac_reviews WHERE id=?"}
	case kindHelpRequest:
		return []string{"DELETE FROM ac_help_requests WHERE id=?"}
	case kindConversation:
		return []string{"DELETE FROM ac_conversation_participants WHERE conversation=?", "DELETE FROM ac_conversations WHERE id=?"}
	case kindTask:
		return []string{"DELETE FROM ac_task_milestones WHERE task=?", "DELETE FROM ac_tasks WHERE id=?"}
	case kindAgent:
		return []string{"DELETE FROM ac_agents WHERE id=?"}
	default: // kindComment: logs are not documents
		return []string{"DELETE FROM ac_comments WHERE id=?"}
	}
}

// formerAgent records the agent whose counters a document affected until now.
func (w *writer) formerAgent(p *pass, f *file) error {
	text := map[kind]string{kindRun: "SELECT agent_id FROM ac_runs WHERE id=?", kindAgent: "SELECT agent_id FROM ac_agents WHERE id=?"}[f.kind]
	if text == "" {
		return nil
	}
	st, err := w.statement(text)
	if err != nil {
		return err
	}
	var agent string
	if err := st.QueryRowContext(w.ctx, f.id).Scan(&agent); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	p.agents[agent] = true
	return nil
}

// remove deletes everything that came from a document, its log included.
func (w *writer) remove(p *pass, f *file) error {
	if err := w.formerAgent(p, f); err != nil {
		return err
	}
	s := &p.synced
	counts := map[kind][]*int{
		kindRun: {&s.RunsDeleted}, kindArtifact: {&s.ArtifactsDeleted}, kindReview: {&s.ReviewsDeleted}, kindHelpRequest: {&s.HelpRequestsDeleted},
		kindConversation: {nil, &s.ConversationsDeleted}, kindTask: {&s.TaskMilestonesDeleted, &s.TasksDeleted}, kindAgent: {nil}, kindComment: {nil},
	}[f.kind]
	for i, text := range ownRows(f.kind) {
		n, err := w.change(text, f.id)
		if err != nil {
			return err
		}
		if counts[i] != nil {
			*counts[i] += n
		}
	}
	if f.kind != kindRun && f.kind != kindConversation {
		return nil
	}
	if err := w.removeLog(p, f); err != nil {
		return err
	}
	name := "/events.jsonl"
	if f.kind == kindConversation {
		name = "/messages.jsonl"
	}
	if log := p.known.byPath[f.path[:strings.LastIndexByte(f.path, '/')]+name]; log != nil {
		p.known.forget(log)
		return w.exec("DELETE FROM ac_files WHERE id=?", log.id)
	}
	return nil
}

// removeLog deletes what came from the log of a run or conversation.
func (w *writer) removeLog(p *pass, parent *file) error {
	if parent.kind == kindConversation {
		n, err := w.change("DELETE FROM ac_messages WHERE conversation=?", parent.id)
		p.synced.MessagesDeleted += n
		w.messages -= n
		return err
	}
	if err := w.removeEvents(p, parent.id, 0); err != nil {
		return err
	}
	if err := w.saveUsage(parent.id, nil); err != nil {
		return err
	}
	return w.exec("DELETE FROM ac_run_stats WHERE id=?", parent.id)
}

// removeEvents deletes the lines of a run after a seq.
func (w *writer) removeEvents(p *pass, run, seq int64) error {
	from, to := eventKey(run, seq), eventKey(run+1, 0)
	n, err := w.change("DELETE FROM ac_events WHERE id>? AND id<?", from, to)
	if err != nil {
		return err
	}
	p.synced.EventsDeleted += n
	n, err = w.change("DELETE FROM ac_event_parse_errors WHERE id>? AND id<?", from, to)
	p.synced.EventParseErrorsDeleted += n
	if err != nil {
		return err
	}
	return w.removeInteractions(run, seq)
}

// before deletes what a reading of a log will insert again.
func (w *writer) before(p *pass, job *logJob, whole bool) error {
	switch {
	case !job.known:
		return nil
	case job.source.kind == kindMessages && whole:
		n, err := w.change("DELETE FROM ac_messages WHERE conversation=?", job.run)
		p.synced.MessagesDeleted += n
		w.messages -= n
		return err
	case job.source.kind == kindMessages:
		n, err := w.change("DELETE FROM ac_messages WHERE conversation=? AND seq>?", job.run, job.was.seq)
		p.synced.MessagesDeleted += n
		w.messages -= n
		return err
	case whole:
		return w.removeLog(p, &file{kind: kindRun, id: job.run})
	case job.file.log.tailEvent:
		// The line that had no LF comes again, unchanged or not.
		if _, err := w.change("DELETE FROM ac_events WHERE id>? AND id<?", eventKey(job.run, job.was.seq), eventKey(job.run+1, 0)); err != nil {
			return err
		}
		return w.removeInteractions(job.run, job.was.seq)
	}
	return nil
}

// wordID is the number of a word.
func (w *writer) wordID(text string) (int64, error) {
	if id, ok := w.words[text]; ok {
		return id, nil
	}
	if len(w.words) >= maxWords {
		clear(w.words)
	}
	st, err := w.statement("SELECT id FROM ac_words WHERE word=?")
	if err != nil {
		return 0, err
	}
	var id int64
	err = st.QueryRowContext(w.ctx, text).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		if err := w.begin(); err != nil {
			return 0, err
		}
		if st, err = w.statement("INSERT INTO ac_words(word) VALUES (?)"); err != nil {
			return 0, err
		}
		made, err := st.ExecContext(w.ctx, text)
		if err != nil {
			return 0, err
		}
		if id, err = made.LastInsertId(); err != nil {
			return 0, err
		}
	} else if err != nil {
		return 0, err
	}
	w.words[text] = id
	return id, nil
}

// number assigns a number to a word that has none.
func (w *writer) number(of *word) error {
	if of == nil || of.id != 0 {
		return nil
	}
	id, err := w.wordID(of.text)
	of.id = id
	return err
}

// rows writes the rows of a piece of a log.
func (w *writer) rows(p *pass, b logBatch) error {
	for _, m := range b.lines {
		if err := w.message(b.job.run, m); err != nil {
			return err
		}
	}
	for _, f := range b.faults {
		if err := w.exec("INSERT OR REPLACE INTO ac_event_parse_errors VALUES (?,?,?,?,?,?)",
			eventKey(b.job.run, f.seq), f.seq, f.fault, f.offset, f.length, int32(f.sum)); err != nil {
			return err
		}
	}
	for _, i := range b.asked {
		if err := w.interaction(b.job.run, i); err != nil {
			return err
		}
	}
	p.synced.EventParseErrorsIndexed += len(b.faults)
	p.synced.EventsIndexed += len(b.events)
	if len(b.events) == 0 {
		return nil
	}
	project, err := w.wordID(b.job.source.project)
	if err != nil {
		return err
	}
	return w.conn.events.write(w, project, b.job.run, b.events)
}

func (w *writer) message(conversation int64, m messageLine) error {
	d := &m.message
	n, err := w.change("INSERT OR IGNORE INTO ac_messages VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?)",
		conversation, m.seq, d.ID, maybe(d.ProjectID), d.CreatedAt, m.at, d.AuthorID, d.AuthorRole, d.Kind, d.Visibility, d.Body, jsonList(d.Mentions))
	w.messages += n
	return err
}
