package crashtest

// Checks of a workspace after kills, against the ledger of acknowledged writes.

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/audit"
	"ac/company"
	"ac/company/maintenance"
	"ac/conversation"
	"ac/events"
	"ac/governance"
	"ac/internal/proc"
	"ac/pm"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/validate"
)

// survey is one check of a workspace.
type survey struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // a survey is one look, bounded by it
	g    *ground
	w    *workspace.Workspace
	seen map[string]bool // things by name
}

// look checks everything that killed servers left. Sometimes it first kills a
// supervisor, and it may kill a runner while it waits for jobs.
func (g *ground) look(r *rand.Rand) {
	g.t.Helper()
	w, err := workspace.Open(g.env, g.dir)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { g.must(w.Close()) }()
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Minute)
	defer cancel()
	s := &survey{t: g.t, ctx: ctx, g: g, w: w, seen: map[string]bool{}}
	s.sessions(r.IntN(3) == 0)
	if err := w.Recover(ctx); err != nil {
		s.t.Fatalf("settle: %v", err)
	}
	var killing sync.WaitGroup
	if r.IntN(2) == 0 {
		killing.Go(g.runnerKiller(r))
	}
	s.jobs()
	killing.Wait()
	if findings := validate.Folder(g.env, g.dir); len(findings.Issues) > 0 {
		s.t.Errorf("issues: %+v", findings.Issues)
	}
	s.documents()
	s.things()
	s.index()
	s.seals()
	s.released()
	if pids := survivors(s.t, g.token); len(pids) > 0 {
		s.t.Errorf("survivors: %v", pids)
	}
}

// sessions waits until all sessions have ended. It may first kill a supervisor.
func (s *survey) sessions(killSupervisor bool) {
	s.t.Helper()
	records, err := session.All(s.w)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, record := range records {
		if killSupervisor && session.Live(s.w, record) {
			_ = proc.Identity{PID: *record.OwnerPID, Start: record.OwnerStart}.Signal(os.Kill) // it may have ended
			killSupervisor = false
		}
		record, err = session.Collect(s.ctx, s.w, record.Ref)
		if err != nil || !doc.Terminal(record.Status) {
			s.t.Errorf("session %s: %s (%v)", record.Ref, record.Status, err)
		}
		s.seen[name("session", record.Ref)] = true
	}
}

func (s *survey) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Error(err)
	}
}

func (s *survey) projects() []string {
	s.t.Helper()
	ids, err := workspace.Dirs(s.w.FS, workspace.ProjectsDir)
	s.must(err)
	return ids
}

// documents records everything that the workspace's files contain.
func (s *survey) documents() {
	s.t.Helper()
	for _, project := range s.projects() {
		if _, err := s.w.Project(project); err != nil {
			s.t.Errorf("a project cannot be read: %v", err)
		}
		s.seen[name("project", project)] = true
		links, err := s.w.RepoLinks(project)
		s.must(err)
		for _, link := range links {
			s.seen[name("link", project, link.RepoID)] = true
		}
		ids, err := workspace.Dirs(s.w.FS, workspace.RunsDir(project))
		s.must(err)
		for _, id := range ids {
			s.story(project, id)
		}
		s.governed(project)
		s.said(project)
	}
	reviews, err := governance.Reviews(s.w, 1<<20)
	s.must(err)
	for _, review := range reviews {
		s.seen[name("review", review.ID)] = true
	}
}

func (s *survey) governed(project string) {
	s.t.Helper()
	comments, err := governance.ReadComments(s.w, governance.CommentFilter{CommentTarget: doc.CommentTarget{ProjectID: project}, Limit: 1 << 20})
	s.must(err)
	for _, comment := range comments {
		s.seen[name("comment", project, comment.ID)] = true
	}
	artifacts, err := workspace.Files(s.w.FS, workspace.ProjectsDir+"/"+project+"/artifacts", ".md")
	s.must(err)
	for _, id := range artifacts {
		s.seen[name("artifact", project, strings.TrimSuffix(id, ".md"))] = true
	}
	memory, err := s.w.Read(workspace.MemoryFile(project))
	s.must(err)
	for line := range strings.Lines(string(memory)) {
		s.seen[name("memory", project, strings.TrimSuffix(line, "\n"))] = true
	}
	tasks, err := pm.Tasks(s.w, project)
	s.must(err)
	for _, task := range tasks {
		s.planned(task)
	}
}

// planned checks that a client requested the task's plan, and that the plan is not
// older than the last acknowledged one.
func (s *survey) planned(task doc.Task) {
	s.t.Helper()
	hint := int64(0)
	if p := task.ExecutionPlan; p != nil && p.TokenBudgetHint != nil {
		hint = *p.TokenBudgetHint
	}
	known := s.g.ledger.plan(task.ID, func(*plan) {})
	if hint < known.acknowledged || hint > known.asked {
		s.t.Errorf("task %s has plan %d; %d was acknowledged and %d asked for", task.ID, hint, known.acknowledged, known.asked)
	}
	s.seen[name("task", task.ID)] = true
}

func (s *survey) said(project string) {
	s.t.Helper()
	place := conversation.Space{Project: project}
	conversations, err := conversation.List(s.w, place)
	s.must(err)
	for _, c := range conversations {
		s.seen[name("conversation", project, c.ID)] = true
		messages, err := conversation.Newest(s.w, place, c.ID, 1<<20)
		s.must(err)
		for _, message := range messages {
			s.seen[name("message", project, message.ID)] = true
		}
	}
}

// things checks that nothing is lost that a server has acknowledged.
func (s *survey) things() {
	s.t.Helper()
	for thing := range s.g.ledger.things {
		if !s.seen[thing] {
			s.t.Errorf("lost: %s", thing)
		}
	}
	for task := range s.g.ledger.plans {
		if !s.seen[name("task", task)] {
			s.t.Errorf("lost: task %s", task)
		}
	}
}

// index compares the index that the servers left with a rebuilt one.
func (s *survey) index() {
	s.t.Helper()
	all := company.New(company.Options{Env: s.g.env, Executable: s.g.executable})
	defer func() { s.must(all.Close()) }()
	in := company.Dir{WorkspaceDir: s.g.dir}
	opened, err := all.In(s.g.dir).Enter(s.ctx)
	s.must(err)
	c := maintenance.Operations{In: company.In{Company: opened}}
	_, err = c.SyncIndex(s.ctx, in)
	s.must(err)
	synced, err := c.IndexStats(s.ctx, in)
	s.must(err)
	_, err = c.RebuildIndex(s.ctx, in)
	s.must(err)
	built, err := c.IndexStats(s.ctx, in)
	s.must(err)
	if synced != built {
		s.t.Errorf("the index differs from one built anew:\n%+v\n%+v", synced, built)
	}
}

// seals verifies what servers sealed, and seals once more. The next look must find
// that seal.
func (s *survey) seals() {
	s.t.Helper()
	key, err := audit.LoadKey(s.g.env, s.g.keyFile)
	s.must(err)
	report, err := audit.Verify(s.ctx, s.w, audit.Options{Key: key.Public})
	s.must(err)
	// With a key, Verify reports a finding if nothing has been sealed completely yet.
	if s.g.sealed == 0 && len(report.Findings) == 1 && report.Findings[0].Code == audit.Unsealed {
		report.Findings = nil
	}
	if len(report.Findings) > 0 || report.Records < s.g.sealed {
		s.t.Errorf("sealed: %d records of %d, findings %+v", report.Records, s.g.sealed, report.Findings)
	}
	sealed, err := audit.Seal(s.ctx, s.w, key)
	s.must(err)
	if len(sealed.Refused) > 0 {
		s.t.Errorf("not sealed: %+v", sealed.Refused)
	}
	if sealed.Checkpoint != nil {
		s.g.sealed = sealed.Checkpoint.Size
	}
}

// story checks a run against its log.
func (s *survey) story(project, id string) {
	s.t.Helper()
	run, err := runs.Load(s.w, project, id)
	if err != nil {
		s.t.Error(err)
		return
	}
	s.seen[name("run", project, id)] = true
	report, err := runs.VerifyLog(s.w, project, id)
	if err != nil || !report.Sound() {
		s.t.Errorf("%s: %+v (%v)", id, report, err)
	}
	text, err := os.ReadFile(filepath.Join(s.w.Dir(), workspace.LogFile(project, id)))
	s.must(err)
	ends := 0
	for line := range strings.Lines(string(text)) {
		if events.Terminal(events.Type([]byte(line))) {
			ends++
		}
	}
	if (ends == 1) != doc.Terminal(run.Status) || ends > 1 {
		s.t.Errorf("%s is %s and has %d terminal events", id, run.Status, ends)
	}
}

// survivors waits for the processes of providers and workers to end, and returns those
// that are still alive.
func survivors(t *testing.T, token string) (pids []int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if pids = living(t, token); len(pids) == 0 || time.Now().After(deadline) {
			return pids
		}
	}
}

// living returns the live processes with a token in their environment.
func living(t *testing.T, token string) (pids []int) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range environs {
		environ, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environ), token) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if _, alive := proc.Lookup(pid); err == nil && alive {
			pids = append(pids, pid)
		}
	}
	return pids
}
