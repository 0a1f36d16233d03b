package index

// Lists of runs for people: what is needed of their newest sessions, and of their ids.

import (
	"database/sql"
	"strings"
)

// ListedRun is a run with the ref of its newest session, "" for none that its log names.
type ListedRun struct {
	MonitoredRun

	SessionRef string
}

// Key identifies the run.
func (l *ListedRun) Key() RunKey { return RunKey{l.ProjectID, l.RunID} }

// Listed lists runs, newest first.
func (v *View) Listed(f RunFilter) ([]ListedRun, error) {
	c := f.conditions()
	return query(v, "SELECT "+runColumns+", "+statsColumns+", COALESCE(s.session_ref,'') FROM ac_runs r LEFT JOIN ac_run_stats s ON s.id=r.id"+
		c.text+newestRuns, append(c.args, limit(f.Limit)), func(rows *sql.Rows, l *ListedRun) error {
		var s scanned
		if err := rows.Scan(append(append(l.targets(), s.targets()...), &l.SessionRef)...); err != nil {
			return err
		}
		l.take(s.stats())
		return nil
	})
}

// CountRuns counts the runs that a filter selects, ignoring its limit.
func (v *View) CountRuns(f RunFilter) (n int, err error) {
	c := f.conditions()
	err = v.conn.askOne(v.ctx, "SELECT count(*) FROM ac_runs r"+c.text, c.args, &n)
	return n, err
}

// RunIDsLike lists the ids of all runs that end in the same letters as one of these.
func (v *View) RunIDsLike(ids []string, letters int) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text, args := "SELECT run_id FROM ac_runs", []any(nil)
	if len(ids) <= mostEndings {
		text += " WHERE substr(run_id,?) IN (?" + strings.Repeat(",?", len(ids)-1) + ")"
		args = append(args, -letters)
		for _, id := range ids {
			args = append(args, id[max(0, len(id)-letters):])
		}
	}
	return query(v, text, args, func(rows *sql.Rows, id *string) error { return rows.Scan(id) })
}

// mostEndings is from how many ids on all are listed.
const mostEndings = 200
