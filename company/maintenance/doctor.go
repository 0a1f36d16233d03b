package maintenance

// workspace.doctor, its repairs, and diagnostics bundles.

import (
	"context"
	"os"
	"slices"
	"time"

	"ac/audit"
	"ac/company"
	"ac/doctor"
	"ac/events"
	"ac/governance"
	"ac/governance/policy"
	"ac/heartbeat"
	"ac/index"
	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/workspace/doc"
)

// DoctorParams are the params of workspace.doctor.
type DoctorParams struct {
	company.Dir
	RebuildIndex bool `json:"rebuild_index" is:"default=false"`
	SyncIndex    bool `json:"sync_index" is:"default=false"`
	// Checks are the ids of checks to run, all if absent.
	Checks []string `json:"checks,omitempty" is:"optional"`
}

// CheckFields rejects unknown checks.
func (p *DoctorParams) CheckFields() (issues []fault.Issue) {
	for i, check := range p.Checks {
		if known := doctor.Checks(); !slices.Contains(known, check) {
			issues = append(issues, fault.Issue{Path: []any{"checks", i}, Code: "invalid_value", Message: "is no check of a workspace", Values: known})
		}
	}
	return issues
}

// target describes the folder to the doctor, whatever its state. in is nil if the workspace
// cannot be opened.
func (c Folder) target(ctx context.Context, asked index.Freshness) (p doctor.Target, in *company.Company) {
	p = doctor.Target{Env: c.Host().Env(), Dir: c.Path(), RequestedDir: c.Given()}
	in, err := c.Enter(ctx)
	if err != nil {
		return p, nil
	}
	p.Workspace, p.Validator = in.Workspace(), in.Validator()
	p.Index = doctor.IndexCheck(p.Workspace, in.Index(), asked, c.Given())
	return p, in
}

// Doctor diagnoses a folder. It starts short probes and does not block other requests.
func (c Folder) Doctor(ctx context.Context, p DoctorParams) (doctor.Report, error) {
	patient, _ := c.target(ctx, index.FreshnessOf(p.RebuildIndex, p.SyncIndex))
	inflight.Leave(ctx)
	report := doctor.RunChecks(ctx, patient, p.Checks...)
	if len(p.Checks) == 0 {
		c.Host().RecordDiagnosis(c.Path(), report.Summary)
	}
	return report, nil
}

// GlanceResult is what the cheap checks found.
type GlanceResult struct {
	Status   string         // ok, warn or fail
	Findings []doctor.Check // checks that did not pass
	Beats    bool           // the heartbeat is enabled
	SealedAt time.Time      // the latest seal, zero for none
}

// Glance runs the cheap checks. It writes nothing and starts no process.
func (c Folder) Glance(ctx context.Context, _ company.Dir) (GlanceResult, error) {
	p, _ := c.target(ctx, index.NoSync)
	found := GlanceResult{Status: "ok", Findings: []doctor.Check{}}
	for _, check := range doctor.RunCheapChecks(ctx, p) {
		if check.Status == doctor.Pass {
			continue
		}
		found.Findings = append(found.Findings, check)
		if found.Status == "ok" || check.Status == doctor.Fail {
			found.Status = check.Status
		}
	}
	if p.Workspace != nil {
		config, _ := heartbeat.Config(p.Workspace) // disabled if the config is invalid
		found.Beats = config.Enabled
		found.SealedAt, _ = audit.LastSealed(p.Workspace)
	}
	return found, nil
}

// MendParams are the params of the command workspace:doctor --fix.
type MendParams struct {
	company.Dir
	DryRun bool `json:"-"`
}

// Mend makes all repairs that lose nothing. In a dry run, it only reports what it would repair.
func (c Folder) Mend(ctx context.Context, params MendParams) (doctor.RepairResult, error) {
	return c.mend(ctx, doctor.RepairOptions{DryRun: params.DryRun})
}

// MendAsParams are the params of workspace.mend.
type MendAsParams struct {
	company.Dir
	Checks []string `json:"checks,omitempty" is:"optional"` // ids of checks, all if absent
	DryRun bool     `json:"dry_run" is:"default=false"`
	company.FilesActor
}

// CheckFields rejects checks without a repair.
func (p *MendAsParams) CheckFields() []fault.Issue {
	return company.UnknownWords("checks", p.Checks, doctor.RepairableChecks(), "is no check whose findings can be repaired")
}

// MendAs repairs the findings of some checks, for an actor who may decide on the whole workspace.
// Any actor may do a dry run.
func (c Folder) MendAs(ctx context.Context, p MendAsParams) (doctor.RepairResult, error) {
	in, err := c.Enter(ctx)
	if err != nil {
		return doctor.RepairResult{}, err
	}
	if !p.DryRun {
		if _, err := governance.Enforce(ctx, in.Workspace(), "", policy.Question{
			Action: policy.Approve, Actor: p.Actor(), Resource: policy.Resource{ID: "workspace", Kind: "workspace", Visibility: events.VisibilityManagers},
		}); err != nil {
			return doctor.RepairResult{}, err
		}
	}
	return c.mend(ctx, doctor.RepairOptions{DryRun: p.DryRun, Checks: p.Checks})
}

func (c Folder) mend(ctx context.Context, repairs doctor.RepairOptions) (doctor.RepairResult, error) {
	p, in := c.target(ctx, index.NoSync)
	if in != nil {
		repairs.Index = doctor.RepairIndex(p.Workspace, in.Index())
	}
	return p.Repair(ctx, repairs)
}

// DiagnosticsParams are the params of workspace.diagnostics.
type DiagnosticsParams struct {
	company.Dir
	OutDir       string `json:"out_dir" is:"path"`
	RebuildIndex bool   `json:"rebuild_index" is:"default=false"`
	SyncIndex    bool   `json:"sync_index" is:"default=true"`
	company.ScreenLimits
}

// Diagnostics creates a diagnostics bundle that is safe to share.
func (c Folder) Diagnostics(ctx context.Context, p DiagnosticsParams) (doctor.Bundle, error) {
	patient, _ := c.target(ctx, index.FreshnessOf(p.RebuildIndex, p.SyncIndex))
	inflight.Leave(ctx)
	return doctor.WriteBundle(ctx, patient, doctor.BundleOptions{
		OutDir: p.OutDir, Version: c.Host().Version(), Environ: os.Environ(), Parts: c.parts(p),
	})
}

// parts returns the results of other methods for a bundle.
func (c Folder) parts(p DiagnosticsParams) doctor.Parts {
	dir, step := company.Dir{WorkspaceDir: c.Given()}, company.IndexStep{SyncIndex: p.SyncIndex}
	return doctor.Parts{
		Sessions: func(ctx context.Context) (any, doctor.SessionFigures, error) {
			rows, err := c.Host().ListSessions(ctx, company.ListSessionsParams{MaybeDir: company.MaybeDir{WorkspaceDir: c.Given()}})
			figures := doctor.SessionFigures{Total: len(rows)}
			for _, row := range rows {
				if !doc.Terminal(row.Status) {
					figures.Running++
				}
			}
			return rows, figures, err
		},
		Monitor: func(ctx context.Context) (any, doctor.MonitorFigures, error) {
			s, err := company.Do(ctx, c.Host(), (*company.Company).Monitor, company.MonitorParams{Dir: dir, IndexStep: step, Limit: p.MonitorLimit})
			return s, doctor.MonitorFigures{Rows: len(s.Rows), IndexRebuilt: s.Rebuilt, IndexSynced: s.Synced}, err
		},
		Inbox: func(ctx context.Context) (any, doctor.InboxFigures, error) {
			limits := company.ItemLimits{PendingLimit: p.PendingLimit, DecisionsLimit: p.DecisionsLimit}
			s, err := company.Do(ctx, c.Host(), (*company.Company).Inbox, company.InboxParams{Dir: dir, IndexStep: step, ItemLimits: limits})
			return s, doctor.InboxFigures{
				Pending: len(s.Pending), RecentDecisions: len(s.Decisions), ParseErrors: doctor.ItemErrors(s.ParseErrors),
			}, err
		},
		Stats: func(ctx context.Context) (any, error) { return company.Do(ctx, c.Host(), Operations.IndexStats, dir) },
	}
}
