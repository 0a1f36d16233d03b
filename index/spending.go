package index

// The spending of finished runs, for budgets. Budgets are decided by the files, so a run is
// omitted if its file may differ from the indexed one.

import (
	"database/sql"
	"path"

	"ac/internal/durable"
	"ac/workspace"
	"ac/workspace/doc"
)

// RunUsage is the usage in the record of a finished run.
type RunUsage struct {
	TaskID string
	Usage  *doc.Usage // total and cost only; nil if the run has no usage
}

// Spending returns the spending of a project's finished runs, by folder name. It omits runs
// whose record changed, or may have changed unnoticed, since it was indexed.
func (v *View) Spending(project string) (map[string]RunUsage, error) {
	type row struct {
		file  string
		state []byte
		spent RunUsage
	}
	rows, err := query(v, `SELECT f.path, f.state, COALESCE(r.spec_task_id,''), r.usage_total_tokens, r.usage_cost_usd
 FROM ac_runs r JOIN ac_files f ON f.id=r.id WHERE r.project_id=? AND r.status<>'running'`, []any{project},
		func(rows *sql.Rows, r *row) error {
			var tokens *int64
			var cost *float64
			if err := rows.Scan(&r.file, &r.state, &r.spent.TaskID, &tokens, &cost); err != nil {
				return err
			}
			if tokens != nil {
				r.spent.Usage = &doc.Usage{TotalTokens: *tokens, CostUSD: cost}
			}
			return nil
		})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	dir, err := durable.OpenDir(v.w.FS, workspace.RunsDir(project))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	found := make(map[string]RunUsage, len(rows))
	for i := range rows {
		r := &rows[i]
		var known file
		if err := known.decode(r.state); err != nil {
			return nil, err
		}
		name := path.Base(path.Dir(r.file))
		version, _, err := dir.Lstat(name + "/run.yaml")
		if err == nil && !known.maybeStale && known.hasRows && version == known.version && path.Dir(path.Dir(r.file)) == dir.Name() {
			found[name] = r.spent
		}
	}
	return found, nil
}
