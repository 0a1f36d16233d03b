// Package doctor diagnoses and repairs workspaces: checks with recommendations, repairs
// without loss, and a diagnostics bundle without secrets.
//
// Invariants:
//   - Without index flags, checks write nothing and start nothing but probes of agent CLIs.
//   - A folder in any state gets a report.
//   - A repair touches only what is certainly dead or ours, and keeps a copy of what it
//     truncates.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ac/workspace"
	"ac/workspace/validate"
)

// The statuses of a check.
const (
	Pass = "pass"
	Warn = "warn"
	Fail = "fail"
)

// Check is the result of one check.
type Check struct {
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
	// Hint recommends what to do, "" for nothing.
	Hint string `json:"hint,omitempty"`
	// DurationMS is the duration of the check in milliseconds, rounded up. Checks run
	// concurrently.
	DurationMS int64 `json:"duration_ms"`
}

// Summary counts checks by status.
type Summary struct {
	Pass int `json:"pass"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
}

// Report is the result of all checks.
type Report struct {
	WorkspaceDir string  `json:"workspace_dir"`
	OK           bool    `json:"ok"`
	Checks       []Check `json:"checks"`
	Summary      Summary `json:"summary"`
}

// Target is the folder to diagnose.
type Target struct {
	Env workspace.Env
	// Dir is the directory. Given is its path as spelled in the request.
	Dir, RequestedDir string
	// Workspace is the open workspace, nil if the directory is not one.
	Workspace *workspace.Workspace
	// Validator is the validator of Workspace, with its cache. It is nil if Workspace is nil.
	Validator *validate.Validator
	// Index runs the check of the index, nil if there is no index. It is not called for a
	// directory that is not a workspace.
	Index func(ctx context.Context) Check

	findings func() validate.Findings // cached for one report
}

// examination is a part of the report: a function that runs the checks with these ids. All
// examinations run concurrently.
type examination struct {
	ids []string
	run func(ctx context.Context) []Check
}

// Checks lists the ids of all checks of a workspace.
func Checks() (ids []string) {
	p := Target{Workspace: &workspace.Workspace{}, Index: func(context.Context) Check { return Check{} }}
	for _, e := range p.examinations() {
		ids = append(ids, e.ids...)
	}
	return ids
}

// examinations returns the examinations that apply to the patient. A folder that is not a
// workspace has fewer.
func (p Target) examinations() []examination {
	list := []examination{
		single(p.schema, "workspace.schema"), single(p.machineConfig, "machine.config"), {[]string{"providers.cli", "providers.protocol"}, p.providers}, {[]string{"repos.mappings"}, p.repositories},
	}
	if p.Workspace != nil && p.Index != nil {
		list = append(list, single(p.Index, "index.rebuild", "index.sync"))
	}
	list = append(list, examination{[]string{"worktrees.references", "worktrees.orphans"}, p.worktrees})
	if p.Workspace != nil {
		list = append(list,
			single(p.references, "references"), single(p.locks, "locks"), single(p.journal, "journal"), single(p.leftovers, "leftovers"), single(p.sessions, "sessions"), single(p.chains, "events.chain"), single(p.heartbeat, "heartbeat.config"),
			examination{[]string{"heartbeat.hierarchy"}, p.hierarchy}, examination{[]string{"usage.statements"}, p.statements}, examination{[]string{"runs.new"}, p.newRuns}, examination{[]string{"sessions.build"}, p.builds},
			examination{[]string{"hub.files", "hub.attempts", "hub.durability"}, p.machines},
		)
	}
	return list
}

// RunChecks runs all checks. If ids are given, it runs only the examinations that contain them.
func RunChecks(ctx context.Context, p Target, ids ...string) Report {
	p.findings = sync.OnceValue(p.validate)
	examinations := slices.DeleteFunc(p.examinations(), func(e examination) bool {
		return len(ids) > 0 && !slices.ContainsFunc(e.ids, func(id string) bool { return slices.Contains(ids, id) })
	})
	report := Report{WorkspaceDir: p.RequestedDir, OK: true, Checks: []Check{}}
	for _, checks := range p.runConcurrently(ctx, examinations) {
		report.Checks = append(report.Checks, checks...)
	}
	for _, check := range report.Checks {
		switch check.Status {
		case Pass:
			report.Summary.Pass++
		case Warn:
			report.Summary.Warn++
		default:
			report.Summary.Fail++
			report.OK = false
		}
	}
	return report
}

// runConcurrently runs all examinations concurrently. It returns their checks in order, each with
// its duration.
func (p Target) runConcurrently(ctx context.Context, examinations []examination) [][]Check {
	results := make([][]Check, len(examinations))
	done := make(chan struct{})
	for i, examine := range examinations {
		go func() {
			began := p.Env.Clock.Now()
			results[i] = examine.run(ctx)
			took := (p.Env.Clock.Since(began).Microseconds() + 999) / 1000
			for j := range results[i] {
				results[i][j].DurationMS = took
			}
			done <- struct{}{}
		}()
	}
	for range examinations {
		<-done
	}
	return results
}

func single(check func(context.Context) Check, ids ...string) examination {
	return examination{ids, func(ctx context.Context) []Check { return []Check{check(ctx)} }}
}

func pass(id, format string, args ...any) Check {
	return Check{ID: id, Status: Pass, Message: fmt.Sprintf(format, args...)}
}

// unknown is the result of a check that could not be performed.
func unknown(id string, err error) Check {
	return Check{ID: id, Status: Warn, Message: "could not be checked: " + err.Error(), Hint: "Repair what the message names and check again."}
}

// maxDetails bounds the detail lines of a check.
const maxDetails = 50

// shortened truncates a list and appends the number of omitted lines.
func shortened(lines []string) []string {
	if len(lines) <= maxDetails {
		return lines
	}
	return append(lines[:maxDetails:maxDetails], fmt.Sprintf("and %d more", len(lines)-maxDetails))
}

// plural formats a count with its noun.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
