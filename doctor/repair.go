package doctor

// Repairs without loss.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/runs/session"
	"ac/workspace"
)

// Outcomes of a repair.
const (
	Done    = "done"
	Planned = "would be done"
	Kept    = "kept"
	Failed  = "failed"
)

// Repair describes one repair.
type Repair struct {
	// Kind is directory, journal, write_lock, session, session_lock,
	// temporary_file, unfinished_line, run or index.
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	// What describes what was done, or why nothing was.
	What string `json:"what"`
	// Details lists the steps of an interrupted write.
	Details []string `json:"details,omitempty"`
}

// RepairResult is the result of all repairs.
type RepairResult struct {
	WorkspaceDir string   `json:"workspace_dir"`
	DryRun       bool     `json:"dry_run"`
	OK           bool     `json:"ok"` // no repair failed
	Repairs      []Repair `json:"mends"`
}

// RepairOptions are the options of Repair.
type RepairOptions struct {
	DryRun bool
	// Checks lists the ids of the checks whose findings to repair. If empty, all are
	// repaired.
	Checks []string
	// Index repairs the index, nil if there is none. It returns no repairs if none is needed.
	Index func(ctx context.Context, dryRun bool) []Repair
}

// Ids of the checks whose findings can be repaired.
const (
	CheckSchema    = "workspace.schema"
	CheckChain     = "events.chain"
	CheckJournal   = "journal"
	CheckLocks     = "locks"
	CheckSessions  = "sessions"
	CheckNewRuns   = "runs.new"
	CheckLeftovers = "leftovers"
	CheckIndex     = "index"
)

// RepairableChecks lists the checks whose findings can be repaired.
func RepairableChecks() []string {
	return []string{CheckSchema, CheckChain, CheckJournal, CheckLocks, CheckSessions, CheckNewRuns, CheckLeftovers, CheckIndex}
}

// covers reports whether r includes the findings of a check.
func (r *RepairOptions) covers(check string) bool {
	return len(r.Checks) == 0 || slices.Contains(r.Checks, check)
}

// repairLock makes repairs of a workspace mutually exclusive.
const repairLock = workspace.LocksDir + "/doctor-fix.lock"

// Repair repairs what can be repaired without loss and reports each repair. It is idempotent,
// and continues after a failed repair. With DryRun it writes nothing.
func (p Target) Repair(ctx context.Context, r RepairOptions) (RepairResult, error) {
	result := RepairResult{WorkspaceDir: p.RequestedDir, DryRun: r.DryRun, OK: true, Repairs: []Repair{}}
	if p.Workspace == nil {
		return result, fault.New(fault.NotAWorkspace, "%s is not a workspace: there is nothing to repair", p.RequestedDir)
	}
	m := &repairer{w: p.Workspace, ctx: ctx, dry: r.DryRun}
	_, m.lock = m.w.WriteLock()
	if !r.DryRun {
		held, err := lock.Try(p.Workspace.FS, repairLock)
		if errors.Is(err, lock.ErrBusy) {
			return result, fault.New(fault.Locked, "%s is being repaired by another process", p.RequestedDir)
		}
		if err != nil {
			return result, fault.New(fault.IO, "repair %s: %w", p.RequestedDir, err)
		}
		defer func() { _ = held.RemoveAndRelease() }() // a leftover lock file blocks nobody
	}
	for _, repair := range []struct {
		check string
		do    func()
	}{
		{CheckSchema, m.directories}, {CheckChain, m.tornLogs}, {CheckJournal, m.journal}, {CheckLocks, m.writeLock},
		{CheckSessions, m.sessions}, {CheckLocks, m.sessionLocks}, {CheckNewRuns, m.discardNew}, {CheckLeftovers, m.temporaries},
	} {
		if ctx.Err() != nil {
			return result, context.Cause(ctx)
		}
		if r.covers(repair.check) {
			repair.do()
		}
	}
	if r.Index != nil && r.covers(CheckIndex) {
		m.repairs = append(m.repairs, r.Index(ctx, r.DryRun)...)
	}
	result.Repairs = append(result.Repairs, m.repairs...)
	for _, mend := range result.Repairs {
		result.OK = result.OK && mend.Outcome != Failed
	}
	return result, nil
}

// repairer collects the repairs of one call.
type repairer struct {
	w       *workspace.Workspace
	ctx     context.Context //nolint:containedctx // of the one call that the mender lives for
	dry     bool
	lock    lock.Inspection // the write lock before the repairs
	repairs []Repair
}

func (m *repairer) record(kind, name, outcome, what string) {
	m.repairs = append(m.repairs, Repair{Kind: kind, Path: name, Outcome: outcome, What: what})
}

// do performs a repair and records its outcome. In a dry run it records what it would do.
func (m *repairer) do(kind, name, would, did string, act func() error) {
	if m.dry {
		m.record(kind, name, Planned, would)
		return
	}
	if err := act(); err != nil {
		m.record(kind, name, Failed, err.Error())
		return
	}
	m.record(kind, name, Done, did)
}

func (m *repairer) directories() {
	for _, dir := range m.w.MissingDirs() {
		m.do("directory", dir, "create the missing directory", "created the missing directory", func() error {
			return durable.MkdirAll(m.w.FS, dir, 0o755)
		})
	}
}

// writeLock runs after the repair of the journal, which takes the write lock and thereby
// clears a stale one.
func (m *repairer) writeLock() {
	name, now := m.w.WriteLock()
	switch {
	case m.lock.Stale:
		who := fmt.Sprintf("the lock of process %d, which is dead", m.lock.Owner.PID)
		m.do("write_lock", name, "remove "+who, "removed "+who, func() error {
			if !now.Stale {
				return nil // already removed
			}
			return m.w.Recover(m.ctx)
		})
	case m.lock.Dead:
		m.record("write_lock", name, Kept, "its process is dead, but the lock is too recent or of another machine: a later writer removes it")
	}
}

func (m *repairer) journal() {
	units, err := m.w.InterruptedUnits()
	if err != nil {
		m.record("journal", workspace.JournalDir, Failed, err.Error())
		return
	}
	abandoned, err := m.w.AbandonedStages()
	if err != nil {
		m.record("journal", workspace.TempDir, Failed, err.Error())
	}
	if len(units)+len(abandoned) == 0 {
		return
	}
	if m.dry {
		for _, unit := range units {
			what := "finish the interrupted write, or drop it if another program wrote since"
			if unit.Reason != "" {
				what = "set aside the interrupted write, which can never be finished: " + unit.Reason
			}
			m.repairs = append(m.repairs, Repair{Kind: "journal", Path: unit.Name, Outcome: Planned, What: what, Details: unit.Steps})
		}
		for _, name := range abandoned {
			m.record("temporary_file", name, Planned, "remove what a killed writer had staged")
		}
		return
	}
	moved, err := m.w.QuarantineUnfinished(m.ctx)
	quarantined := map[string]bool{}
	for _, unit := range moved {
		quarantined[unit.Name] = true
		m.repairs = append(m.repairs, Repair{
			Kind: "journal", Path: unit.Name, Outcome: Done, Details: unit.Steps,
			What: "set aside in " + workspace.QuarantineDir + ", since it can never be finished: " + unit.Reason,
		})
	}
	if err != nil {
		m.record("journal", workspace.JournalDir, Failed, err.Error())
		return
	}
	for _, unit := range units {
		if !quarantined[unit.Name] {
			m.repairs = append(m.repairs, Repair{Kind: "journal", Path: unit.Name, Outcome: Done, What: "finished the interrupted write", Details: unit.Steps})
		}
	}
	for _, name := range abandoned {
		if durable.Exists(m.w.FS, name) {
			m.record("temporary_file", name, Kept, "its writer is alive")
			continue
		}
		m.record("temporary_file", name, Done, "removed what a killed writer had staged")
	}
}

// sessions reconciles orphaned sessions. Sessions of other programs may stay unchanged.
func (m *repairer) sessions() {
	orphans, err := orphanedSessions(m.w)
	if err != nil {
		m.record("session", workspace.SessionsDir, Failed, err.Error())
	}
	for _, record := range orphans {
		file := workspace.SessionFile(record.Ref)
		if m.dry {
			m.record("session", file, Planned, "record the end of "+record.Ref+", which has no live owner")
			continue
		}
		now, err := session.Current(m.ctx, m.w, record.Ref)
		switch {
		case err != nil:
			m.record("session", file, Failed, err.Error())
		case now.Status == record.Status:
			m.record("session", file, Kept, "it belongs to another program and may still be running")
		default:
			m.record("session", file, Done, "recorded the end of "+record.Ref+": "+now.Status)
		}
	}
}

func (m *repairer) sessionLocks() {
	for _, name := range staleLocks(m.w) {
		m.do("session_lock", name, "remove the unheld lock", "removed the unheld lock", func() error {
			held, err := lock.Try(m.w.FS, name)
			if errors.Is(err, lock.ErrBusy) {
				return errors.New("it was acquired meanwhile")
			}
			if err != nil {
				return err
			}
			return held.RemoveAndRelease()
		})
	}
}

func (m *repairer) temporaries() {
	found, err := temporaries(m.ctx, m.w, workspace.Roots()...)
	if err != nil {
		m.record("temporary_file", ".", Failed, err.Error())
	}
	for _, l := range append(found, besideLock(m.w)...) {
		if l.held != "" {
			m.record("temporary_file", l.name, Kept, l.held)
			continue
		}
		m.do("temporary_file", l.name, "remove it: its writer is dead", "removed: its writer is dead", func() error { return m.w.FS.Remove(l.name) })
	}
}

// tornLogs truncates the torn tails of logs without a writer. It runs before anything can
// append to these logs, since an append would make a torn tail unrecognizable.
func (m *repairer) tornLogs() {
	list, err := allRuns(m.w)
	if err != nil {
		m.record("unfinished_line", workspace.ProjectsDir, Failed, err.Error())
	}
	for _, run := range list {
		log := workspace.LogFile(run.project, run.id)
		torn, err := events.FindTorn(m.w.FS, log)
		if err != nil || torn == nil {
			continue // the chain check reports read errors
		}
		if session.RunAlive(m.w, run.project, run.id) {
			m.record("unfinished_line", log, Kept, "its session is alive and may be writing it")
			continue
		}
		what := fmt.Sprintf("the unfinished last line, %d bytes from byte %d on, with a copy kept in %s", len(torn.Text), torn.Offset, workspace.QuarantineDir)
		m.do("unfinished_line", log, "cut off "+what, "cut off "+what, func() error {
			_, err := events.CutTorn(m.ctx, m.w.FS, log, func(torn events.Torn) error { return m.quarantineTail(log, torn) })
			return err
		})
	}
}

// kept is the metadata beside the copy of a torn tail.
type kept struct {
	CutOffAt string `json:"cut_off_at"`
	Log      string `json:"log"`
	Offset   int64  `json:"offset"`
	Bytes    int    `json:"bytes"`
}

// quarantineTail durably stores a copy of a torn tail.
func (m *repairer) quarantineTail(log string, torn events.Torn) error {
	text, err := json.MarshalIndent(kept{clock.Stamp(m.w.Env.Clock.Now()), log, torn.Offset, len(torn.Text)}, "", "  ")
	if err != nil {
		return err
	}
	name := path.Join(workspace.QuarantineDir, m.w.Env.IDs.New("line"))
	if err := m.w.Replace(name+".json", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return m.w.Replace(name+".torn", torn.Text, 0o600)
}
