package company

// workspace.doctor and its repairs.

import (
	"context"
	"os"
	"slices"
	"time"

	"ac/audit"
	"ac/doctor"
	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/heartbeat"
	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/snapshot/room"
	"ac/workspace/doc"
)

// DoctorParams are the params of workspace.doctor.
type DoctorParams struct {
	Dir
	RebuildIndex bool `json:"rebuild_index" is:"default=false"`
	SyncIndex    bool `json:"sync_index" is:"default=false"`
	// Checks are the ids of checks to make, all if absent.
	Checks []string `json:"checks,omitempty" is:"optional"`
}

// CheckFields refuses checks that there are not.
func (p *DoctorParams) CheckFields() (issues []fault.Issue) {
	for i, check := range p.Checks {
		if known := doctor.Checks(); !slices.Contains(known, check) {
			issues = append(issues, fault.Issue{Path: []any{"checks", i}, Code: "invalid_value", Message: "is no check of a workspace", Values: known})
		}
	}
	return issues
}

// patient is the workspace as the doctor sees it, in any state.
func (c *Folder) patient(ctx context.Context, asked index.Freshness) doctor.Patient {
	p := doctor.Patient{Env: c.all.env, Dir: c.dir, Given: c.given}
	if w, err := c.workspace(ctx); err == nil {
		p.Workspace, p.Validator = w, c.all.openedAs(w).validator
		p.Index = doctor.IndexCheck(w, c.all.indexOf(w), asked, c.given)
	}
	return p
}

// Doctor diagnoses a folder. It starts short probes and blocks no other
// request.
func (c *Folder) Doctor(ctx context.Context, p DoctorParams) (doctor.Report, error) {
	patient := c.patient(ctx, index.FreshnessOf(p.RebuildIndex, p.SyncIndex))
	inflight.Leave(ctx)
	report := doctor.Examine(ctx, patient, p.Checks...)
	if len(p.Checks) == 0 {
		c.all.diagnosed(c.dir, report.Summary)
	}
	return report, nil
}

// diagnosed keeps what the last diagnosis found, and tells the room.
func (cs *Host) diagnosed(dir string, found doctor.Summary) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.diagnoses[dir] = room.Doctor{Pass: found.Pass, Warn: found.Warn, Fail: found.Fail, At: clock.Stamp(cs.env.Clock.Now())}
	for w, kept := range cs.rooms {
		if w.Dir() == dir {
			kept.news.add(func(n *roomNews) { n.tables = true })
		}
	}
}

// facts are what the process serves, and its last diagnosis of a folder, nil without one.
func (cs *Host) facts(dir string) (room.Serves, *room.Doctor) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if found, ok := cs.diagnoses[dir]; ok {
		return cs.serves, &found
	}
	return cs.serves, nil
}

// ServesDialects says which protocols of other programs the process serves.
func (cs *Host) ServesDialects(names []string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.serves.Dialects = names
}

// GlanceResult is what the cheap checks found.
type GlanceResult struct {
	Status   string         // ok, warn or fail
	Findings []doctor.Check // those that are not passed
	Beats    bool           // the heartbeat is on
	SealedAt time.Time      // the last time, zero for never
}

// Glance runs the checks that cost next to nothing. Nothing is written or started.
func (c *Folder) Glance(ctx context.Context, _ Dir) (GlanceResult, error) {
	p := c.patient(ctx, index.AsItIs)
	found := GlanceResult{Status: "ok", Findings: []doctor.Check{}}
	for _, check := range doctor.Glance(ctx, p) {
		if check.Status == doctor.Pass {
			continue
		}
		found.Findings = append(found.Findings, check)
		if found.Status == "ok" || check.Status == doctor.Fail {
			found.Status = check.Status
		}
	}
	if p.Workspace != nil {
		config, _ := heartbeat.Config(p.Workspace) // off if there is a problem
		found.Beats = config.Enabled
		found.SealedAt, _ = audit.LastSealed(p.Workspace)
	}
	return found, nil
}

// MendParams are the params of the command workspace:doctor --fix.
type MendParams struct {
	Dir
	DryRun bool `json:"-"`
}

// Mend repairs what can be repaired without loss, or, in a dry run, reports
// what it would repair.
func (c *Folder) Mend(ctx context.Context, params MendParams) (doctor.MendResult, error) {
	return c.mend(ctx, doctor.Repairs{DryRun: params.DryRun})
}

// MendAsParams are the params of workspace.mend.
type MendAsParams struct {
	Dir
	Checks []string `json:"checks,omitempty" is:"optional"` // ids of checks, all if absent
	DryRun bool     `json:"dry_run" is:"default=false"`
	FilesActor
}

// CheckFields refuses checks that nothing can be repaired of.
func (p *MendAsParams) CheckFields() []fault.Issue {
	return UnknownWords("checks", p.Checks, doctor.Mendable(), "is no check whose findings can be repaired")
}

// MendAs is Mend for an actor who may decide on the whole workspace, of the findings of some
// checks. Anybody may see what would be done.
func (c *Folder) MendAs(ctx context.Context, p MendAsParams) (doctor.MendResult, error) {
	w, err := c.workspace(ctx)
	if err != nil {
		return doctor.MendResult{}, err
	}
	if !p.DryRun {
		if _, err := governance.Enforce(ctx, w, "", policy.Question{
			Action: policy.Approve, Actor: p.Actor(), Resource: policy.Resource{ID: "workspace", Kind: "workspace", Visibility: events.VisibilityManagers},
		}); err != nil {
			return doctor.MendResult{}, err
		}
	}
	return c.mend(ctx, doctor.Repairs{DryRun: p.DryRun, Checks: p.Checks})
}

func (c *Folder) mend(ctx context.Context, repairs doctor.Repairs) (doctor.MendResult, error) {
	p := c.patient(ctx, index.AsItIs)
	if p.Workspace != nil {
		repairs.Index = doctor.MendIndex(p.Workspace, c.all.indexOf(p.Workspace))
	}
	return p.Mend(ctx, repairs)
}

// DiagnosticsParams are the params of workspace.diagnostics.
type DiagnosticsParams struct {
	Dir
	OutDir       string `json:"out_dir" is:"path"`
	RebuildIndex bool   `json:"rebuild_index" is:"default=false"`
	SyncIndex    bool   `json:"sync_index" is:"default=true"`
	ScreenLimits
}

// Diagnostics makes a diagnostics bundle that can be given to others.
func (c *Folder) Diagnostics(ctx context.Context, p DiagnosticsParams) (doctor.Bundle, error) {
	patient := c.patient(ctx, index.FreshnessOf(p.RebuildIndex, p.SyncIndex))
	inflight.Leave(ctx)
	return doctor.Diagnose(ctx, patient, doctor.Order{
		OutDir: p.OutDir, Version: c.all.version, Environ: os.Environ(), Parts: c.parts(p),
	})
}

// parts are the results of other methods in a bundle.
func (c *Folder) parts(p DiagnosticsParams) doctor.Parts {
	dir, step := Dir{c.given}, IndexStep{SyncIndex: p.SyncIndex}
	return doctor.Parts{
		Sessions: func(ctx context.Context) (any, doctor.SessionFigures, error) {
			rows, err := c.all.ListSessions(ctx, ListSessionsParams{MaybeDir: MaybeDir{c.given}})
			figures := doctor.SessionFigures{Total: len(rows)}
			for _, row := range rows {
				if !doc.Terminal(row.Status) {
					figures.Running++
				}
			}
			return rows, figures, err
		},
		Monitor: func(ctx context.Context) (any, doctor.MonitorFigures, error) {
			s, err := Do(ctx, c.all, (*Company).Monitor, MonitorParams{Dir: dir, IndexStep: step, Limit: p.MonitorLimit})
			return s, doctor.MonitorFigures{Rows: len(s.Rows), IndexRebuilt: s.Rebuilt, IndexSynced: s.Synced}, err
		},
		Inbox: func(ctx context.Context) (any, doctor.InboxFigures, error) {
			limits := ItemLimits{PendingLimit: p.PendingLimit, DecisionsLimit: p.DecisionsLimit}
			s, err := Do(ctx, c.all, (*Company).Inbox, InboxParams{Dir: dir, IndexStep: step, ItemLimits: limits})
			return s, doctor.InboxFigures{
				Pending: len(s.Pending), RecentDecisions: len(s.Decisions), ParseErrors: doctor.ItemErrors(s.ParseErrors),
			}, err
		},
		Stats: func(ctx context.Context) (any, error) { return Do(ctx, c.all, (*Company).IndexStats, dir) },
	}
}
