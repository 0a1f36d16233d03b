package doctor

// Checks of recorded data: worktrees, references, sessions, logs.

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"ac/events"
	"ac/internal/durable"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// runOf identifies a run.
type runOf struct{ project, id string }

// allRuns lists all runs, by project and then by id.
func allRuns(w *workspace.Workspace) (list []runOf, err error) {
	projects, err := workspace.Dirs(w.FS, workspace.ProjectsDir)
	if err != nil {
		return nil, err
	}
	for _, project := range projects {
		ids, err := workspace.Dirs(w.FS, workspace.RunsDir(project))
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			list = append(list, runOf{project, id})
		}
	}
	return list, nil
}

// worktrees compares the worktrees that runs name with the existing directories. Orphaned
// worktrees get a separate check, if there are any.
func (p Target) worktrees(context.Context) []Check {
	const id = "worktrees.references"
	w := p.Workspace
	if w == nil {
		return []Check{pass(id, "no run names a worktree")}
	}
	list, err := allRuns(w)
	if err != nil {
		return []Check{unknown(id, err)}
	}
	var there, missing []string
	named := map[string]bool{}
	for _, run := range list {
		record, err := workspace.Load(w, doc.RunCodec, workspace.RunFile(run.project, run.id))
		if err != nil || record.Spec == nil || record.Spec.WorktreeRel == "" {
			continue
		}
		rel := record.Spec.WorktreeRel
		line := run.project + "/" + run.id + ": " + rel
		named[path.Clean(rel)] = true
		if durable.Exists(w.FS, path.Clean(rel)) {
			there = append(there, line)
		} else {
			missing = append(missing, line)
		}
	}
	checks := []Check{referenced(id, there, missing)}
	if orphans := p.orphanedWorktrees(named); len(orphans) > 0 {
		checks = append(checks, Check{
			ID: "worktrees.orphans", Status: Warn, Message: plural(len(orphans), "worktree") + " below " + worktree.Area + " of no known run",
			Details: shortened(orphans), Hint: "Check whether they contain work to keep, then remove them by hand (git worktree remove).",
		})
	}
	return checks
}

func referenced(id string, there, missing []string) Check {
	if len(missing) > 0 {
		return Check{
			ID: id, Status: Warn, Message: fmt.Sprintf("%d of %s that runs name are missing", len(missing), plural(len(there)+len(missing), "worktree")),
			Details: missing, Hint: "Runs that are over need nothing. A run to be continued needs its worktree: start a new run of the task.",
		}
	}
	if len(there) == 0 {
		return pass(id, "no run names a worktree")
	}
	c := pass(id, "all %s that runs name exist", plural(len(there), "worktree"))
	c.Details = there
	return c
}

// orphanedWorktrees returns the directories three levels below the area that no run names,
// except those inside a worktree that a run names.
func (p Target) orphanedWorktrees(named map[string]bool) []string {
	level := []string{worktree.Area}
	for range 3 {
		var next []string
		for _, dir := range level {
			names, err := workspace.Dirs(p.Workspace.FS, dir)
			if err != nil {
				continue
			}
			for _, name := range names {
				if below := path.Join(dir, name); !named[below] {
					next = append(next, below)
				}
			}
		}
		level = next
	}
	return level
}

func (p Target) references(context.Context) Check {
	const id = "references"
	warnings := p.findings().Warnings
	if len(warnings) == 0 {
		return pass(id, "documents match their paths, and their references exist")
	}
	c := Check{
		ID: id, Status: Warn, Message: inconsistencies(len(warnings)),
		Hint: "The workspace still works. unknown_reference: correct the reference, or create what it names. The others: the file is ignored until it is repaired, renamed or removed by hand.",
	}
	for _, warning := range warnings {
		c.Details = append(c.Details, warning.Code+": "+warning.Message)
	}
	c.Details = shortened(c.Details)
	return c
}

func inconsistencies(n int) string {
	if n == 1 {
		return "1 inconsistency in the references of documents"
	}
	return fmt.Sprintf("%d inconsistencies in the references of documents", n)
}

// orphanedSessions returns the session records with status running and no live owner.
func orphanedSessions(w *workspace.Workspace) ([]doc.Session, error) {
	records, err := session.All(w)
	return slices.DeleteFunc(records, func(r doc.Session) bool { return doc.Terminal(r.Status) || session.Live(w, r) }), err
}

func (p Target) sessions(context.Context) Check {
	const id = "sessions"
	orphans, err := orphanedSessions(p.Workspace)
	if err != nil {
		return unknown(id, err)
	}
	if len(orphans) == 0 {
		return pass(id, "every running session has a live owner")
	}
	c := Check{
		ID: id, Status: Warn, Message: plural(len(orphans), "session") + " recorded as running without a live owner",
		Hint: "Record their end with: ac workspace:doctor " + p.RequestedDir + " --fix",
	}
	for _, r := range orphans {
		c.Details = append(c.Details, fmt.Sprintf("%s: run %s of %s", r.Ref, r.RunID, r.ProjectID))
	}
	c.Details = shortened(c.Details)
	return c
}

// chains verifies every log. It ignores the torn tail of a live run, whose last line may be
// in the middle of a write.
func (p Target) chains(ctx context.Context) Check {
	const id = "events.chain"
	w := p.Workspace
	list, err := allRuns(w)
	if err != nil {
		return unknown(id, err)
	}
	faults := make([]string, len(list))
	torn := make([]bool, len(list))
	workers := min(runtime.GOMAXPROCS(0), len(list))
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(list) && ctx.Err() == nil; i += workers {
				faults[i], torn[i] = chainFault(w, list[i])
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return unknown(id, context.Cause(ctx))
	}
	faults = slices.DeleteFunc(faults, func(fault string) bool { return fault == "" })
	if len(faults) == 0 {
		return pass(id, "every hash chain is valid (%s)", plural(len(list), "log"))
	}
	c := Check{
		ID: id, Status: Warn, Message: fmt.Sprintf("faults in %d of %s", len(faults), plural(len(list), "log")), Details: shortened(faults),
		Hint: "What a log lost cannot be recovered. See all faults with: ac log:verify " + p.RequestedDir,
	}
	if slices.Contains(torn, true) {
		c.Hint += ". To cut off unfinished last lines, which keeps a copy: ac workspace:doctor " + p.RequestedDir + " --fix"
	}
	return c
}

// chainFault returns the first fault of a run's log, "" if there is none.
func chainFault(w *workspace.Workspace, run runOf) (fault string, torn bool) {
	where := run.project + "/" + run.id + ": "
	if end, err := events.FindTorn(w.FS, workspace.LogFile(run.project, run.id)); err == nil && end != nil {
		if session.RunAlive(w, run.project, run.id) {
			return "", false // the last line is being written
		}
		return where + fmt.Sprintf("the last line, at byte %d, is unfinished", end.Offset), true
	}
	report, err := runs.VerifyLog(w, run.project, run.id)
	switch {
	case err != nil:
		return where + err.Error(), false
	case report.Sound():
		return "", false
	case len(report.ParseIssues) > 0 && report.ParseIssues[0].Seq == report.FirstLine:
		return where + fmt.Sprintf("line %d is not JSON: %s", report.FirstLine, report.ParseIssues[0].Error), false
	case len(report.VerificationIssues) > 0:
		issue := report.VerificationIssues[0]
		return where + fmt.Sprintf("line %d: %s: %s", report.FirstLine, issue.Code, issue.Message), false
	}
	issue := report.RecordIssues[0]
	return where + issue.Code + ": " + strings.TrimSpace(issue.Message), false
}

func (p Target) heartbeat(context.Context) Check {
	const id, dir = "heartbeat.config", workspace.HeartbeatDir
	var details []string
	for _, warning := range p.findings().Warnings {
		if warning.Path == workspace.HeartbeatConfigFile || warning.Path == workspace.HeartbeatStateFile {
			details = append(details, warning.Message)
		}
	}
	entries, err := p.Workspace.FS.ReadDir(dir)
	for _, entry := range entries {
		if err == nil && strings.HasPrefix(entry.Name(), "state.yaml.broken-") {
			details = append(details, path.Join(dir, entry.Name())+": a damaged state, set aside: until it is removed, actions wait for approval")
		}
	}
	if len(details) == 0 {
		return pass(id, "the heartbeat's files can be read")
	}
	return Check{
		ID: id, Status: Warn, Message: "the heartbeat is off or restricted because of its files", Details: details,
		Hint: "heartbeat.config.set writes a complete new config. Remove a damaged state once you have checked what the heartbeat did.",
	}
}
