package index

// Reads that need less than a sync. A list that shows few of many runs needs the records of all
// runs to be current, but only the logs of the runs that it shows.

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"ac/index/source"
	"ac/internal/durable"
	"ac/workspace"
)

// ErrStale reports that a reader of records needs a log that changed since it was indexed. The
// reader is called again after a sync.
var ErrStale = errors.New("the index does not know the newest lines of a log")

// maxCheckedLogs bounds how many logs CheckLogs compares one by one.
const maxCheckedLogs = 200

// recordsUnchanged reports whether the index reflects the current records of all runs. It
// returns false in a process that watches the workspace: for that, a sync is cheaper.
func (ix *Index) recordsUnchanged(ctx context.Context) (same bool) {
	if ix.private || ix.walkCache != nil || ix.isBroken() {
		return false
	}
	_ = ix.withConn(ctx, false, func(conn *dbConn) error { // a failure here also fails the sync that follows
		generation, err := ix.readGeneration(context.WithoutCancel(ctx), conn)
		if err != nil {
			return err
		}
		var records []source.File
		list := source.Walk{FS: ix.w.FS, Scope: source.Scope{Kinds: source.Runs}, RecordsOnly: true, Found: func(s source.File) { records = append(records, s) }}
		if err := list.Run(); err != nil {
			return err
		}
		same = ix.readDigests().records == digestOf(generation, records)
		return nil
	})
	return same && ctx.Err() == nil
}

// CheckLogs returns nil if the index has read all of the logs of these runs, else ErrStale.
func (v *View) CheckLogs(keys []RunKey) error {
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > maxCheckedLogs {
		return ErrStale
	}
	paths := make([]any, len(keys))
	for i, key := range keys {
		paths[i] = workspace.LogFile(key.ProjectID, key.RunID)
	}
	known := make(map[string]*file, len(keys))
	_, err := query(v, "SELECT path, state FROM ac_files WHERE path IN (?"+strings.Repeat(",?", len(keys)-1)+")", paths, func(rows *sql.Rows, f *file) error {
		var state sql.RawBytes
		if err := rows.Scan(&f.path, &state); err != nil {
			return err
		}
		known[f.path] = f
		return f.decode(state)
	})
	if err != nil {
		return err
	}
	dir, err := durable.OpenDir(v.w.FS, workspace.ProjectsDir)
	if err != nil {
		return ErrStale
	}
	defer dir.Close()
	for _, name := range paths {
		name := name.(string)
		version, kind, err := dir.Lstat(strings.TrimPrefix(name, workspace.ProjectsDir+"/"))
		f := known[name]
		switch {
		case f == nil && durable.IsAbsent(err):
		case f == nil || err != nil || !kind.IsRegular() || f.maybeStale || f.version != version:
			return ErrStale
		}
	}
	return nil
}
