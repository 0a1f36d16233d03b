package index

// Connections with prepared statements: compiling a statement costs more than running most of
// them.

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

const (
	idleLinks   = 2   // kept open while unused
	maxPrepared = 128 // statements per connection
)

// link is a connection and its statements. It is not safe for concurrent use.
type link struct {
	*sql.Conn
	db       *sql.DB
	prepared map[string]*sql.Stmt
	events   eventRows
	answers  answers
}

// statement returns a prepared statement. It prepares each text once.
func (l *link) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := l.prepared[text]; st != nil {
		return st, nil
	}
	if len(l.prepared) >= maxPrepared {
		if err := l.forget(); err != nil {
			return nil, err
		}
	}
	st, err := l.PrepareContext(ctx, text)
	if err == nil {
		l.prepared[text] = st
	}
	return st, err
}

// forget closes all statements.
func (l *link) forget() (failed error) {
	for _, st := range l.prepared {
		failed = errors.Join(failed, st.Close())
	}
	clear(l.prepared)
	return failed
}

// ask runs a query.
func (l *link) ask(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := l.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// askOne runs a query and scans its first row.
func (l *link) askOne(ctx context.Context, text string, args []any, into ...any) error {
	st, err := l.statement(ctx, text)
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, args...).Scan(into...)
}

// do runs a statement without rows.
func (l *link) do(ctx context.Context, text string, args ...any) error {
	st, err := l.statement(ctx, text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return err
}

func (l *link) close() error {
	return errors.Join(l.Raw(func(any) error { return l.events.close() }), l.forget(), l.Close())
}

// discard closes the connection itself, where close returns it to the pool of database/sql. That
// rolls back its transaction.
func (l *link) discard() {
	_ = l.forget()                                                                         // the connection goes with all it has
	_ = l.Raw(func(any) error { return errors.Join(l.events.close(), driver.ErrBadConn) }) // the error closes it
}

// take returns an idle connection, or opens one.
func (ix *Index) take(ctx context.Context, db *sql.DB) (*link, error) {
	ix.mu.Lock()
	if n := len(ix.idle); n > 0 && ix.db == db {
		l := ix.idle[n-1]
		ix.idle = ix.idle[:n-1]
		ix.mu.Unlock()
		return l, nil
	}
	ix.mu.Unlock()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &link{Conn: conn, db: db, prepared: map[string]*sql.Stmt{}}, nil
}

// give returns a connection to the pool, or closes it if the pool is full or the database
// changed.
func (ix *Index) give(l *link) error {
	ix.mu.Lock()
	if ix.db == l.db && len(ix.idle) < idleLinks {
		ix.idle = append(ix.idle, l)
		ix.mu.Unlock()
		return nil
	}
	ix.mu.Unlock()
	return l.close()
}
