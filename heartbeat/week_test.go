package heartbeat

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ac/internal/durable/faultfs"
	"ac/workspace/doc"
)

var (
	manyKills = flag.Bool("many-kills", false, "kill ticks at fifty random moments")
	wholeWeek = flag.Bool("whole-week", false, "let a week of the company pass, not a day")
)

// TestCompany simulates a company of eight workers in ticks of half an hour. It compares each
// action's outcome with the ledger, and the totals with the files.
func TestCompany(t *testing.T) {
	t.Parallel()
	s := newStage(t, 8)
	s.set(t, func(c *doc.HeartbeatConfig) {
		c.TopKWorkers, c.MaxAutoActionsPerTick, c.MaxAutoActionsPerHour = 3, 2, 3
	})
	random := rand.New(rand.NewPCG(1, 2))
	model := ledger{days: 14, tick: 2, hour: 3}
	var told []doc.Action
	s.jobs.answer = func(string) string {
		if random.IntN(3) == 0 {
			return allWellText
		}
		var list []string
		for range 1 + random.IntN(3) {
			key, risk := fmt.Sprint(random.IntN(60)), []string{"low", "low", "high"}[random.IntN(3)]
			list = append(list, strings.Replace(s.commentAction(key, ""), `"risk":"low"`, `"risk":"`+risk+`"`, 1))
			told = append(told, act(func(a *doc.Action) { a.IdempotencyKey, a.Risk = key, risk }))
		}
		return actions(list...)
	}
	ticks := 14
	if *wholeWeek {
		ticks = 7 * 24 * 2
	}
	var sum Summary
	for i := range ticks {
		if random.IntN(4) > 0 {
			s.happen(t, s.agents[random.IntN(8)])
			s.happen(t, s.agents[random.IntN(8)])
		}
		told = nil
		got := s.tick(t)
		want := map[outcome]int{}
		for _, action := range told {
			if InQuietHours(got.Config, s.hand.Now()) {
				action.NeedsApproval = true
			}
			want[model.decide(action, i, s.hand.Now())]++
		}
		if got.ActionsExecuted != want[executed] || got.ApprovalsQueued != want[queued] || got.DedupedActions != want[deduped] || got.SkippedActions != 0 {
			t.Fatalf("tick %d: %+v, want %v", i, got, want)
		}
		sum.JobsSubmitted = append(sum.JobsSubmitted, got.JobsSubmitted...)
		sum.ActionsExecuted, sum.ApprovalsQueued = sum.ActionsExecuted+got.ActionsExecuted, sum.ApprovalsQueued+got.ApprovalsQueued
		sum.ReportsOK, sum.ReportsActions = sum.ReportsOK+got.ReportsOK, sum.ReportsActions+got.ReportsActions
		s.hand.advance(30 * time.Minute)
	}
	stats := s.state(t).Stats
	if s.comments(t) != sum.ActionsExecuted || s.proposals(t) != sum.ApprovalsQueued || s.jobs.started != len(sum.JobsSubmitted) || sum.ReportsOK == 0 ||
		stats.TicksTotal != int64(ticks) || stats.ActionsExecutedTotal != int64(sum.ActionsExecuted) || stats.ApprovalsQueuedTotal != int64(sum.ApprovalsQueued) ||
		stats.ReportsOKTotal != int64(sum.ReportsOK) || stats.ReportsActionsTotal != int64(sum.ReportsActions) || stats.WorkersWokenTotal != int64(len(sum.JobsSubmitted)) {
		t.Errorf("%+v\n%+v\n%d comments, %d proposals, %d started", stats, sum, s.comments(t), s.proposals(t), s.jobs.started)
	}
}

// TestIdleDay checks that ticks without news start nothing and write nothing but the state.
func TestIdleDay(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	s.tick(t)
	before := s.tree(t)
	for range 8 {
		s.hand.advance(3 * time.Hour)
		s.tick(t)
	}
	if after := s.tree(t); !slices.Equal(after, before) || s.jobs.started != 0 {
		t.Errorf("%d jobs\n%v\n%v", s.jobs.started, before, after)
	}
}

// tree lists all files with size and modification time, except the state, the index and the
// tick lock.
func (s *stage) tree(t *testing.T) (list []string) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, "state.yaml") || strings.Contains(name, "index.sqlite") || strings.HasSuffix(name, "tick.lock") {
			return err
		}
		st, err := d.Info()
		list = append(list, fmt.Sprint(name, st.Size(), st.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestKills kills ticks at various file system calls. Later ticks must carry out each action
// exactly once.
func TestKills(t *testing.T) {
	t.Parallel()
	kills := 5
	if *manyKills {
		kills = 50
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range kills {
		at := 1 + random.IntN(400)
		if i < 3 {
			at = 1 + 40*i
		}
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			killAt(t, at)
		})
	}
}

// deadPID is higher than any PID that a system assigns.
const deadPID = 1 << 30

func killAt(t *testing.T, n int) {
	t.Helper()
	s := newStage(t, 2)
	s.pid = deadPID
	s.open(t)
	s.jobs.answer = func(worker string) string {
		return actions(s.commentAction("c-"+worker, ""), strings.Replace(s.commentAction("q-"+worker, ""), `"risk":"low"`, `"risk":"high"`, 1), s.jobAction("j-"+worker, ""))
	}
	for _, agent := range s.agents {
		s.happen(t, agent)
	}
	s.plan.Arm(n, faultfs.Death)
	_, err := s.loop.Tick(t.Context(), Order{})
	if err != nil && !errors.Is(err, faultfs.ErrDead) && s.plan.Calls() < n {
		t.Fatal(err)
	}
	s.pid = os.Getpid()
	s.open(t) // another process
	for range 3 {
		s.hand.advance(20 * time.Minute)
		s.tick(t)
	}
	state := s.state(t)
	executions := 0
	for _, entry := range state.Idempotency {
		executions += int(entry.ExecutionCount)
	}
	jobs := 0
	for _, name := range s.files(t, "work/projects/*/jobs/*/job.yaml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "job_kind: execution") {
			jobs++
		}
	}
	left, err := pending(s.w)
	if err != nil || len(left) != 0 || s.comments(t) != 2 || s.proposals(t) != 2 || jobs != 2 || executions != 4 || state.Running ||
		state.Stats.ActionsExecutedTotal != 4 || state.Stats.ApprovalsQueuedTotal != 2 {
		t.Errorf("killed at %d: %d comments, %d proposals, %d jobs, %d executions, pending %v, %v\n%+v", n, s.comments(t), s.proposals(t), jobs, executions, left, err, state)
	}
}
