package search

// Filling the index: each changed source is rewritten, or continued where its rows ended.

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode"

	"ac/internal/redact"
)

// Source is what rows come from: a run, a task, a conversation. Equal versions imply equal
// rows.
type Source struct {
	Name    string // unique
	Version string // not empty
	Kind    string
	Ref     string // ID of the run, task or conversation itself
	Project string
	Agent   string // ID and name of its agent, for the agent: filter
	Status  string
	At      int64 // when it began, in Unix milliseconds; the index orders sources by it
	// Guard determines who may see it, in the caller's terms; "" means everyone.
	Guard string
	// Rows returns the rows after position since, about limit of them, and the new position.
	Rows func(ctx context.Context, since int64, limit int) (Rows, error)
}

// Rows is a batch of rows of a source.
type Rows struct {
	List []Row
	Seq  int64 // position of the last row
	More bool  // more rows follow
	// ReplaceAll: the list replaces all rows of the source. Otherwise it replaces those with the
	// same number.
	ReplaceAll bool
}

// Row is a searchable text. At is in Unix milliseconds.
type Row struct {
	Number int64 // unique within its source, below 1<<31
	Kind   string
	Title  string
	Body   string
	Ref    string
	Run    string
	Seq    int64
	At     int64
}

const (
	// chunk is the number of rows of a source that are written in one transaction.
	chunk = 500
	// maxTitle and maxBody bound the texts of a row, in bytes.
	maxTitle = 400
	maxBody  = 256 << 10
)

// sourceState is the state of a source in the index.
type sourceState struct {
	id      int64
	version string
	seq     int64
}

// Update writes the changed sources that list returns, in their order, and drops those that it does
// not return. It opens the index within patience, writes for at most patience, and returns how many
// sources are still behind. Chunks written until then stay. It reads which sources the index has
// before it calls list. Otherwise it would drop sources that another process adds meanwhile.
func (s *Store) Update(ctx context.Context, patience time.Duration, list func(context.Context) ([]Source, error)) (behind int, err error) {
	before, db, loadErr := s.sourceStates(ctx, patience)
	sources, err := list(ctx)
	if err != nil {
		return 0, err
	}
	if db == nil {
		return len(sources), loadErr
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stale := make([]*Source, 0, len(sources))
	for i := range sources {
		if k, ok := before[sources[i].Name]; !ok || k.version != sources[i].Version {
			stale = append(stale, &sources[i])
		}
	}
	gone := map[string]sourceState{}
	for name, k := range before {
		gone[name] = k
	}
	for i := range sources {
		delete(gone, sources[i].Name)
	}
	if len(stale)+len(gone) == 0 {
		return 0, nil
	}
	unlock, err := s.writer.Lock(ctx)
	if err != nil {
		return len(stale), ignoreCanceled(ctx, err)
	}
	defer func() { _ = unlock() }() // nothing to lose
	u := updater{db: db, redactor: redact.NewRedactor(nil)}
	for name, k := range gone {
		if err := u.drop(ctx, name, k.id); err != nil {
			return len(stale), ignoreCanceled(ctx, s.removeIfUnusable(err))
		}
	}
	for i, source := range stale {
		if err := u.write(ctx, source); err != nil {
			return len(stale) - i, ignoreCanceled(ctx, s.removeIfUnusable(err))
		}
	}
	return 0, nil
}

// ignoreCanceled returns nil instead of an error that the end of ctx caused.
func ignoreCanceled(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the rest is behind
	}
	return err
}

// removeIfUnusable removes a damaged file, so that the next use recreates it.
func (s *Store) removeIfUnusable(err error) error {
	if err == nil || !isUnusable(err) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.close() // the file is unusable
	return errors.Join(err, s.remove())
}

// sourceStates opens the index and returns the state of each source in it. db is nil if that failed
// or took longer than patience, which is not an error.
func (s *Store) sourceStates(ctx context.Context, patience time.Duration) (states map[string]sourceState, db *sql.DB, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	opened, err := s.open(ctx)
	if err != nil {
		return nil, nil, ignoreCanceled(ctx, err)
	}
	states, err = loadSourceStates(ctx, opened)
	if err != nil {
		return nil, nil, ignoreCanceled(ctx, s.removeIfUnusable(err))
	}
	return states, opened, nil
}

func loadSourceStates(ctx context.Context, db *sql.DB) (map[string]sourceState, error) {
	rows, err := db.QueryContext(ctx, "SELECT name, id, version, seq FROM sources")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]sourceState{}
	for rows.Next() {
		var name string
		var k sourceState
		if err := rows.Scan(&name, &k.id, &k.version, &k.seq); err != nil {
			return nil, err
		}
		all[name] = k
	}
	return all, rows.Err()
}

// updater writes sources. The caller holds the writer lock.
type updater struct {
	db       *sql.DB
	redactor *redact.Redactor
}

// drop deletes a source and its rows. It is a no-op if another process has deleted the source
// since its ID was read: by now the ID may be that of another source (freeID).
func (u *updater) drop(ctx context.Context, name string, id int64) error {
	return u.inTx(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, "DELETE FROM sources WHERE id=? AND name=?", id, name)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return dropRows(ctx, tx, id)
	})
}

func dropRows(ctx context.Context, tx *sql.Tx, id int64) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM hits WHERE rowid>=? AND rowid<?", id<<sourceShift, (id+1)<<sourceShift)
	return err
}

// write brings a source up to date, one transaction per chunk. The source counts as behind
// until the last one.
func (u *updater) write(ctx context.Context, source *Source) error {
	for {
		var now sourceState
		err := u.db.QueryRowContext(ctx, "SELECT id, seq FROM sources WHERE name=?", source.Name).Scan(&now.id, &now.seq)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		rows, err := source.Rows(ctx, now.seq, chunk)
		if err != nil {
			return err
		}
		if err := u.inTx(ctx, func(tx *sql.Tx) error { return u.writeRows(ctx, tx, source, now, rows) }); err != nil || !rows.More {
			return err
		}
	}
}

func (u *updater) writeRows(ctx context.Context, tx *sql.Tx, source *Source, now sourceState, rows Rows) error {
	reached := source.Version
	if rows.More {
		reached = "" // matches no version, because more rows follow
	}
	if now.id == 0 {
		if err := freeID(ctx, tx, source.At, &now.id); err != nil {
			return err
		}
	}
	err := tx.QueryRowContext(ctx, `INSERT INTO sources(id,name,version,seq,kind,ref,project,agent,status,guard) VALUES (?,?,?,?,?,?,?,?,?,?)
 ON CONFLICT(name) DO UPDATE SET version=excluded.version, seq=excluded.seq, kind=excluded.kind, ref=excluded.ref, project=excluded.project,
 agent=excluded.agent, status=excluded.status, guard=excluded.guard RETURNING id`,
		now.id, source.Name, reached, rows.Seq, source.Kind, source.Ref, source.Project, strings.ToLower(source.Agent), source.Status, source.Guard).Scan(&now.id)
	if err != nil {
		return err
	}
	if rows.ReplaceAll {
		if err := dropRows(ctx, tx, now.id); err != nil {
			return err
		}
	}
	insert, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO hits(rowid,title,body,kind,ref,project,run,seq,at) VALUES (?,?,?,?,?,?,?,?,?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, row := range rows.List {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if _, err := insert.ExecContext(ctx, now.id<<sourceShift|row.Number, u.text(row.Title, maxTitle), u.text(row.Body, maxBody),
			row.Kind, row.Ref, source.Project, row.Run, row.Seq, row.At); err != nil {
			return err
		}
	}
	return nil
}

// freeID finds a free ID for a source. IDs follow the time of the source, so that newer rows
// have larger IDs.
func freeID(ctx context.Context, tx *sql.Tx, at int64, id *int64) error {
	second := min(max(at/1000, 1), maxSourceSeconds)
	err := tx.QueryRowContext(ctx, `SELECT CASE WHEN EXISTS(SELECT 1 FROM sources WHERE id=?1) THEN
 (SELECT min(id)+1 FROM sources s WHERE id>=?1 AND NOT EXISTS(SELECT 1 FROM sources WHERE id=s.id+1)) ELSE ?1 END`, second).Scan(id)
	return err
}

// maxSourceSeconds bounds the IDs of sources, because row IDs have 63 bits.
const maxSourceSeconds = 1<<31 - 1<<20

// text prepares a text for the file: redacted, and without control characters, two of which
// mark matches.
func (u *updater) text(text string, limit int) string {
	if len(text) > 2*limit { // no need to redact what is cut off anyway
		text = text[:2*limit]
	}
	text = u.redactor.Text(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// inTx runs do in a transaction, which ends even if do panics.
func (u *updater) inTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := u.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // a no-op after the commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
