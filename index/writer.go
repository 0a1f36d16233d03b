package index

// Writing rows, in one transaction that begins with the first write.

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"ac/index/source"
)

// maxWords bounds the writer's cache of word IDs.
const maxWords = 10_000

// writer writes on the connection of one pass.
type writer struct {
	ctx      context.Context //nolint:containedctx // of one pass; it never ends, so that no statement is interrupted
	conn     *dbConn
	began    bool
	words    map[string]int64
	known    *fileStates
	messages int // change in the number of messages
}

func newWriter(ctx context.Context, conn *dbConn, k *fileStates) *writer {
	return &writer{ctx: context.WithoutCancel(ctx), conn: conn, words: map[string]int64{}, known: k}
}

// begin starts the transaction.
func (w *writer) begin() error {
	if w.began {
		return nil
	}
	if err := w.conn.exec(w.ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	w.began = true
	return nil
}

// end commits the transaction, or rolls it back if failed or the commit is an error.
func (w *writer) end(failed error) error {
	if !w.began {
		return failed
	}
	if failed == nil {
		w.known.generation++
		failed = w.conn.exec(w.ctx, "UPDATE ac_state SET generation=?, messages=messages+?", w.known.generation, w.messages)
	}
	if failed == nil {
		failed = w.conn.exec(w.ctx, "COMMIT")
	}
	if failed != nil {
		err := w.conn.exec(w.ctx, "ROLLBACK")
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

func placeholders(n int) string { return "(" + strings.TrimSuffix(strings.Repeat("?,", n), ",") + ")" }

// insert writes the rows of a document.
func (w *writer) insert(f *file, rows []source.Row) error {
	for _, row := range rows {
		text := "INSERT OR REPLACE INTO " + row.Table + " VALUES " + placeholders(len(row.Values)+1)
		if err := w.exec(text, append([]any{f.id}, row.Values...)...); err != nil {
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

// replace deletes the old rows of a document, before new ones are inserted.
func (w *writer) replace(p *pass, f *file) error {
	if err := w.markFormerAgent(p, f); err != nil {
		return err
	}
	for _, text := range ownRows(f.kind) {
		if err := w.exec(text, f.id); err != nil {
			return err
		}
	}
	return nil
}

// ownRows returns the statements that delete the rows of a document.
func ownRows(of source.Kind) []string {
	switch of {
	case source.KindRun:
		return []string{"DELETE FROM ac_runs WHERE id=?"}
	case source.KindArtifact:
		return []string{"DELETE FROM ac_artifacts WHERE id=?"}
	case source.KindReview:
		return []string{"DELETE FROM ac_reviews WHERE id=?"}
	case source.KindHelpRequest:
		return []string{"DELETE FROM ac_help_requests WHERE id=?"}
	case source.KindConversation:
		return []string{"DELETE FROM ac_conversation_participants WHERE conversation=?", "DELETE FROM ac_conversations WHERE id=?"}
	case source.KindTask:
		return []string{"DELETE FROM ac_task_milestones WHERE task=?", "DELETE FROM ac_tasks WHERE id=?"}
	case source.KindAgent:
		return []string{"DELETE FROM ac_agents WHERE id=?"}
	default: // KindComment: logs are not documents
		return []string{"DELETE FROM ac_comments WHERE id=?"}
	}
}

// markFormerAgent marks the agent whose counters a document affected until now.
func (w *writer) markFormerAgent(p *pass, f *file) error {
	text := map[source.Kind]string{source.KindRun: "SELECT agent_id FROM ac_runs WHERE id=?", source.KindAgent: "SELECT agent_id FROM ac_agents WHERE id=?"}[f.kind]
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

// remove deletes all rows that came from a document, including those of its log.
func (w *writer) remove(p *pass, f *file) error {
	if err := w.markFormerAgent(p, f); err != nil {
		return err
	}
	s := &p.synced
	counts := map[source.Kind][]*int{
		source.KindRun: {&s.RunsDeleted}, source.KindArtifact: {&s.ArtifactsDeleted}, source.KindReview: {&s.ReviewsDeleted}, source.KindHelpRequest: {&s.HelpRequestsDeleted},
		source.KindConversation: {nil, &s.ConversationsDeleted}, source.KindTask: {&s.TaskMilestonesDeleted, &s.TasksDeleted}, source.KindAgent: {nil}, source.KindComment: {nil},
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
	if f.kind != source.KindRun && f.kind != source.KindConversation {
		return nil
	}
	if err := w.removeLog(p, f); err != nil {
		return err
	}
	name := "/events.jsonl"
	if f.kind == source.KindConversation {
		name = "/messages.jsonl"
	}
	if log := p.known.byPath[f.path[:strings.LastIndexByte(f.path, '/')]+name]; log != nil {
		p.known.forget(log)
		return w.exec("DELETE FROM ac_files WHERE id=?", log.id)
	}
	return nil
}

// removeLog deletes the rows that came from the log of a run or conversation.
func (w *writer) removeLog(p *pass, parent *file) error {
	if parent.kind == source.KindConversation {
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

// removeEvents deletes the rows of the lines of a run after a seq.
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

// deleteReplaced deletes the rows that reading a log will insert again.
func (w *writer) deleteReplaced(p *pass, job *source.Job, whole bool) error {
	switch {
	case !job.Known:
		return nil
	case job.Source.Kind == source.KindMessages && whole:
		n, err := w.change("DELETE FROM ac_messages WHERE conversation=?", job.Run)
		p.synced.MessagesDeleted += n
		w.messages -= n
		return err
	case job.Source.Kind == source.KindMessages:
		n, err := w.change("DELETE FROM ac_messages WHERE conversation=? AND seq>?", job.Run, job.LastState.Seq)
		p.synced.MessagesDeleted += n
		w.messages -= n
		return err
	case whole:
		return w.removeLog(p, &file{kind: source.KindRun, id: job.Run})
	case job.LastState.TailEvent:
		// The last line had no LF and is read again, changed or not.
		if _, err := w.change("DELETE FROM ac_events WHERE id>? AND id<?", eventKey(job.Run, job.LastState.Seq), eventKey(job.Run+1, 0)); err != nil {
			return err
		}
		return w.removeInteractions(job.Run, job.LastState.Seq)
	}
	return nil
}

// wordID returns the ID of a word. It assigns one if the word is new.
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

// assignID sets the ID of a word that has none yet.
func (w *writer) assignID(of *source.Word) error {
	if of == nil || of.ID != 0 {
		return nil
	}
	id, err := w.wordID(of.Text)
	of.ID = id
	return err
}

// rows writes the rows of one batch of a log.
func (w *writer) rows(p *pass, b source.Batch) error {
	for _, m := range b.Lines {
		if err := w.message(b.Job.Run, m); err != nil {
			return err
		}
	}
	for _, f := range b.Faults {
		if err := w.exec("INSERT OR REPLACE INTO ac_event_parse_errors VALUES (?,?,?,?,?,?)",
			eventKey(b.Job.Run, f.Seq), f.Seq, f.Fault, f.Offset, f.Length, int32(f.Sum)); err != nil {
			return err
		}
	}
	for _, i := range b.Interactions {
		if err := w.interaction(b.Job.Run, i); err != nil {
			return err
		}
	}
	p.synced.EventParseErrorsIndexed += len(b.Faults)
	p.synced.EventsIndexed += len(b.Events)
	if len(b.Events) == 0 {
		return nil
	}
	project, err := w.wordID(b.Job.Source.Project)
	if err != nil {
		return err
	}
	return w.conn.events.write(w, project, b.Job.Run, b.Events)
}

func (w *writer) message(conversation int64, m source.MessageLine) error {
	n, err := w.change("INSERT OR IGNORE INTO ac_messages VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?)", append([]any{conversation}, m.Values()...)...)
	w.messages += n
	return err
}
