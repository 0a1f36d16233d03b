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
	maxIdleConns = 2   // kept open while unused
	maxPrepared  = 128 // statements per connection
)

// dbConn is a connection and its statements. It is not safe for concurrent use.
type dbConn struct {
	*sql.Conn
	db       *sql.DB
	prepared map[string]*sql.Stmt
	events   eventRows
	cache    queryCache
}

// statement returns a prepared statement. It prepares each text once.
func (l *dbConn) statement(ctx context.Context, text string) (*sql.Stmt, error) {
	if st := l.prepared[text]; st != nil {
		return st, nil
	}
	if len(l.prepared) >= maxPrepared {
		if err := l.closeStatements(); err != nil {
			return nil, err
		}
	}
	st, err := l.PrepareContext(ctx, text)
	if err == nil {
		l.prepared[text] = st
	}
	return st, err
}

// closeStatements closes all statements.
func (l *dbConn) closeStatements() (failed error) {
	for _, st := range l.prepared {
		failed = errors.Join(failed, st.Close())
	}
	clear(l.prepared)
	return failed
}

// query runs a query.
func (l *dbConn) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := l.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// queryRow runs a query and scans its first row.
func (l *dbConn) queryRow(ctx context.Context, text string, args []any, into ...any) error {
	st, err := l.statement(ctx, text)
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, args...).Scan(into...)
}

// exec runs a statement without rows.
func (l *dbConn) exec(ctx context.Context, text string, args ...any) error {
	st, err := l.statement(ctx, text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return err
}

func (l *dbConn) close() error {
	return errors.Join(l.Raw(func(any) error { return l.events.close() }), l.closeStatements(), l.Close())
}

// discard closes the connection itself, where close returns it to the pool of database/sql. That
// rolls back its transaction.
func (l *dbConn) discard() {
	_ = l.closeStatements()                                                                // the connection goes with all it has
	_ = l.Raw(func(any) error { return errors.Join(l.events.close(), driver.ErrBadConn) }) // the error closes it
}

// acquireConn returns an idle connection, or opens one.
func (ix *Index) acquireConn(ctx context.Context, db *sql.DB) (*dbConn, error) {
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
	return &dbConn{Conn: conn, db: db, prepared: map[string]*sql.Stmt{}}, nil
}

// releaseConn returns a connection to the pool, or closes it if the pool is full or the database
// changed.
func (ix *Index) releaseConn(l *dbConn) error {
	ix.mu.Lock()
	if ix.db == l.db && len(ix.idle) < maxIdleConns {
		ix.idle = append(ix.idle, l)
		ix.mu.Unlock()
		return nil
	}
	ix.mu.Unlock()
	return l.close()
}
