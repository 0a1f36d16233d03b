// Package doctor looks a workspace over and mends it: checks that run side by
// side and say in plain words what to do, repairs that lose nothing, and a
// bundle of diagnostics without secrets.
//
// Invariants: checks without index flags write nothing and start nothing but the
// probes of agent CLIs; a folder in any state gets a report; a repair touches only
// what it positively knows to be dead or ours, and keeps a copy of what it
// cuts off.
package doctor

import (
	"context"
	"fmt"
	"sync"

	"ac/workspace"
	"ac/workspace/validate"
)

// The outcomes of a check.
const (
	Pass = "pass"
	Warn = "warn"
	Fail = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	ID      string   `json:"id"`
	Status  string   `json:"status"`
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
	// Hint says what to do, where something is to be done.
	Hint string `json:"hint,omitempty"`
	// DurationMS is how long the check took, rounded up. Checks run side by side.
	DurationMS int64 `json:"duration_ms"`
}

// Summary counts checks by their outcome.
type Summary struct {
	Pass int `json:"pass"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
}

// Report is the outcome of all checks.
type Report struct {
	WorkspaceDir string  `json:"workspace_dir"`
	OK           bool    `json:"ok"`
	Checks       []Check `json:"checks"`
	Summary      Summary `json:"summary"`
}

// Patient is what is looked at.
type Patient struct {
	Env workspace.Env
	// Dir is the directory; Given, how the request named it.
	Dir, Given string
	// Workspace is the opened workspace, nil when the directory is none.
	Workspace *workspace.Workspace
	// Validator is that of the workspace, with what it knows from before; nil for none.
	Validator *validate.Validator
	// Index makes the check of the index; nil where there is no index to look
	// at. It is not called for a directory that is no workspace.
	Index func(ctx context.Context) Check

	findings func() validate.Findings // of one report, made once
}

// examination is a part of the report, made at once with the others.
type examination func(ctx context.Context) []Check

// Examine looks at everything and reports.
func Examine(ctx context.Context, p Patient) Report {
	p.findings = sync.OnceValue(p.validate)
	examinations := []examination{one(p.schema), one(p.machineConfig), p.providers, p.repositories}
	if p.Workspace != nil && p.Index != nil {
		examinations = append(examinations, one(p.Index))
	}
	examinations = append(examinations, p.worktrees)
	if p.Workspace != nil {
		examinations = append(examinations,
			one(p.references), one(p.locks), one(p.journal), one(p.leftovers), one(p.sessions), one(p.chains), one(p.heartbeat), p.hierarchy, p.statements, p.newRuns,
		)
	}
	report := Report{WorkspaceDir: p.Given, OK: true, Checks: []Check{}}
	for _, checks := range p.sideBySide(ctx, examinations) {
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

// sideBySide makes all examinations at once and gives their checks in order,
// with the time that each took.
func (p Patient) sideBySide(ctx context.Context, examinations []examination) [][]Check {
	results := make([][]Check, len(examinations))
	done := make(chan struct{})
	for i, examine := range examinations {
		go func() {
			began := p.Env.Clock.Now()
			results[i] = examine(ctx)
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

func one(check func(context.Context) Check) examination {
	return func(ctx context.Context) []Check { return []Check{check(ctx)} }
}

func pass(id, format string, args ...any) Check {
	return Check{ID: id, Status: Pass, Message: fmt.Sprintf(format, args...)}
}

// unknown is a check that could not be made.
func unknown(id string, err error) Check {
	return Check{ID: id, Status: Warn, Message: "could not be looked at: " + err.Error(), Hint: "Mend what the message names and look again."}
}

// maxDetails bounds how much a check tells one by one.
const maxDetails = 50

// shortened bounds a list and says how much was left out.
func shortened(lines []string) []string {
	if len(lines) <= maxDetails {
		return lines
	}
	return append(lines[:maxDetails:maxDetails], fmt.Sprintf("and %d more", len(lines)-maxDetails))
}

// plural counts things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
