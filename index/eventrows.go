package index

// Inserting event rows, which are nearly all rows of the index. One statement inserts many rows
// and bypasses the conversions of database/sql.

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"ac/index/source"
)

const (
	perInsert    = 64 // events per statement
	eventColumns = 9
)

// eventRows writes events on a writer's connection.
type eventRows struct {
	statements map[int]driver.Stmt // by number of rows
	args       []driver.NamedValue
}

// close closes the statements. The caller must hold the connection.
func (r *eventRows) close() (failed error) {
	for _, st := range r.statements {
		failed = errors.Join(failed, st.Close())
	}
	r.statements = nil
	return failed
}

func (r *eventRows) statement(w *writer, conn any, n int) (driver.StmtExecContext, error) {
	st := r.statements[n]
	if st == nil {
		preparer, ok := conn.(driver.ConnPrepareContext)
		if !ok {
			return nil, fmt.Errorf("the driver %T prepares no statements", conn)
		}
		one := placeholders(eventColumns)
		var err error
		if st, err = preparer.PrepareContext(w.ctx, "INSERT OR REPLACE INTO ac_events VALUES "+strings.Repeat(one+",", n-1)+one); err != nil {
			return nil, err
		}
		if r.statements == nil {
			r.statements = map[int]driver.Stmt{}
		}
		r.statements[n] = st
	}
	run, ok := st.(driver.StmtExecContext)
	if !ok {
		return nil, fmt.Errorf("the statements %T of the driver take no context", st)
	}
	return run, nil
}

// write inserts events of one run.
func (r *eventRows) write(w *writer, project, run int64, events []source.EventRow) error {
	if err := w.begin(); err != nil {
		return err
	}
	for i := range events {
		for _, of := range [...]*source.Word{events[i].Kind, events[i].Actor} {
			if err := w.assignID(of); err != nil {
				return err
			}
		}
	}
	return w.conn.Raw(func(conn any) error {
		for at := 0; at < len(events); {
			n := perInsert
			if len(events)-at < n {
				n = 1
			}
			st, err := r.statement(w, conn, n)
			if err != nil {
				return err
			}
			if _, err := st.ExecContext(w.ctx, r.bound(project, run, events[at:at+n])); err != nil {
				return err
			}
			at += n
		}
		return nil
	})
}

// bound sets and returns the arguments of a statement.
func (r *eventRows) bound(project, run int64, events []source.EventRow) []driver.NamedValue {
	if r.args == nil {
		r.args = make([]driver.NamedValue, perInsert*eventColumns)
		for i := range r.args {
			r.args[i].Ordinal = i + 1
		}
	}
	var ofProject driver.Value = project
	for i := range events {
		e := &events[i]
		a := r.args[i*eventColumns : (i+1)*eventColumns]
		a[0].Value, a[1].Value, a[2].Value, a[3].Value = eventKey(run, e.Seq), ofProject, e.Seq, e.At
		a[4].Value, a[5].Value = e.Kind.Value(), e.Actor.Value()
		a[6].Value, a[7].Value, a[8].Value = e.Offset, e.Length, int64(int32(e.Sum))
	}
	return r.args[:len(events)*eventColumns]
}
