package pm

// Scheduling tasks by the critical path method.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ac/internal/clock"
	"ac/workspace/doc"
)

// day is the unit of durations, in milliseconds. Days are calendar days, without weekends or
// daylight saving.
const day = int64(24 * time.Hour / time.Millisecond)

// criticalSlack is the slack at which a task is no longer critical: a ten-thousandth of a
// day, in milliseconds.
const criticalSlack = day / 10000

// MaxDurationDays caps durations.
const MaxDurationDays = 36500

// The first and last millisecond of the years 0000 to 9999, in Unix ms. Other years do not
// have four digits and would not sort.
const (
	firstDate = -62167219200000
	lastDate  = 253402300799999
)

// States of a plan.
const (
	StatusOK    = "ok"
	StatusCycle = "dependency_cycle"
)

// Plan is the schedule of a project.
type Plan struct {
	Status   string   // StatusOK, or StatusCycle if there is a dependency cycle
	SpanDays float64  // from the base to the last finish, rounded to 0.01
	CycleIDs []string // the tasks on cycles, ascending
	Bars     []Bar    // by start, then in input order
}

// Bar is a scheduled task.
type Bar struct {
	Task         doc.Task
	Start, End   time.Time // UTC
	DurationDays int
	SlackDays    float64 // how late it may be without delaying the end, rounded to 0.01
	Critical     bool
}

// Schedule schedules tasks. Dependencies are finish-to-start, and a planned start means
// start-not-before. A cycle is a state of the plan, never an error. If no task has a planned
// start, the plan starts at today's midnight, UTC.
//
// The passes are those of the critical path method (Kelley and Walker, 1959).
func Schedule(tasks []doc.Task, today time.Time) Plan {
	n := network{tasks: tasks, nodes: make([]node, len(tasks))}
	n.measure(today)
	n.connect()
	ordered := n.order()
	n.pass()
	plan := Plan{Status: StatusOK, SpanDays: days(n.span), Bars: make([]Bar, len(tasks))}
	if ordered < len(tasks) {
		plan.Status, plan.CycleIDs = StatusCycle, n.cycles()
	}
	for i := range tasks {
		plan.Bars[i] = n.bar(i)
	}
	slices.SortStableFunc(plan.Bars, func(a, b Bar) int { return a.Start.Compare(b.Start) })
	return plan
}

// DurationDays returns the duration of a task: its own, else the difference of its dates,
// else one day.
func DurationDays(t *doc.Task) int {
	s := t.Schedule
	if s == nil {
		return 1
	}
	if s.DurationDays != nil {
		return max(1, min(*s.DurationDays, MaxDurationDays))
	}
	start, okStart := clock.ParseDate(s.PlannedStart)
	end, okEnd := clock.ParseDate(s.PlannedEnd)
	if !okStart || !okEnd || end.Before(start) {
		return 1
	}
	return int(max(1, (end.UnixMilli()-start.UnixMilli()+day-1)/day))
}

// network is the dependency graph of a project's tasks. Times are in milliseconds from the
// base.
type network struct {
	tasks []doc.Task
	nodes []node
	base  int64 // Unix milliseconds
	span  int64
	seq   []int // the nodes in the order of the passes
}

type node struct {
	deps                    []int // dependencies, without duplicates
	notBefore, duration     int64
	start, finish, lateness int64 // earliest start and finish; latest start
	seqIndex                int   // index in seq
}

func (n *network) measure(today time.Time) {
	n.base = math.MaxInt64
	for i := range n.tasks {
		if at, ok := plannedStart(&n.tasks[i]); ok {
			n.base = min(n.base, at)
		}
	}
	if n.base == math.MaxInt64 {
		n.base = today.UTC().Truncate(24 * time.Hour).UnixMilli()
	}
	for i := range n.tasks {
		n.nodes[i].duration = int64(DurationDays(&n.tasks[i])) * day
		if at, ok := plannedStart(&n.tasks[i]); ok {
			n.nodes[i].notBefore = at - n.base
		}
	}
}

// connect resolves the dependencies of each task. Dependencies on itself or on tasks outside
// the project are ignored.
func (n *network) connect() {
	byID := make(map[string]int, len(n.tasks))
	for i := range n.tasks {
		byID[n.tasks[i].ID] = i
	}
	for i := range n.tasks {
		s := n.tasks[i].Schedule
		if s == nil {
			continue
		}
		seen := map[int]bool{i: true}
		for _, id := range s.DependsOnTaskIDs {
			if on, known := byID[id]; known && !seen[on] {
				seen[on] = true
				n.nodes[i].deps = append(n.nodes[i].deps, on)
			}
		}
	}
}

// order sorts the tasks for the passes: ready tasks by ascending id, then those on a cycle or
// after one. It returns the number of the former.
func (n *network) order() (ordered int) {
	waits := make([]int, len(n.nodes))
	after := make([][]int, len(n.nodes))
	for i := range n.nodes {
		waits[i] = len(n.nodes[i].deps)
		for _, on := range n.nodes[i].deps {
			after[on] = append(after[on], i)
		}
	}
	ready := &queue{less: func(a, b int) bool { return n.before(a, b) < 0 }}
	for i := range n.nodes {
		if waits[i] == 0 {
			ready.push(i)
		}
	}
	for len(ready.items) > 0 {
		i := ready.pop()
		n.seq = append(n.seq, i)
		for _, next := range after[i] {
			if waits[next]--; waits[next] == 0 {
				ready.push(next)
			}
		}
	}
	ordered = len(n.seq)
	for i := range n.nodes {
		if waits[i] > 0 {
			n.seq = append(n.seq, i)
		}
	}
	slices.SortFunc(n.seq[ordered:], n.before)
	for at, i := range n.seq {
		n.nodes[i].seqIndex = at
	}
	return ordered
}

func (n *network) before(a, b int) int {
	return cmp.Or(cmp.Compare(n.tasks[a].ID, n.tasks[b].ID), cmp.Compare(a, b))
}

// pass computes earliest times in a forward pass and latest times in a backward pass. A
// dependency counts only if it comes earlier in the order.
func (n *network) pass() {
	for _, i := range n.seq {
		at := &n.nodes[i]
		at.start = at.notBefore
		for _, on := range at.deps {
			if n.nodes[on].seqIndex < at.seqIndex {
				at.start = max(at.start, n.nodes[on].finish)
			}
		}
		at.finish = at.start + at.duration
		n.span = max(n.span, at.finish)
	}
	for i := range n.nodes {
		n.nodes[i].lateness = n.span - n.nodes[i].duration
	}
	for _, i := range slices.Backward(n.seq) {
		at := &n.nodes[i]
		for _, on := range at.deps {
			if before := &n.nodes[on]; before.seqIndex < at.seqIndex {
				before.lateness = min(before.lateness, at.lateness-before.duration)
			}
		}
	}
}

func (n *network) bar(i int) Bar {
	t, at := &n.tasks[i], &n.nodes[i]
	start := n.base + at.start
	if planned, ok := plannedStart(t); ok {
		start = planned
	}
	end := start + at.duration
	if planned, ok := plannedEnd(t); ok && planned >= start {
		end = planned
	}
	slack := at.lateness - at.start
	return Bar{
		Task: *t, Start: date(start), End: date(end), DurationDays: int(at.duration / day),
		SlackDays: days(max(0, slack)), Critical: max(slack, -slack) < criticalSlack,
	}
}

func plannedStart(t *doc.Task) (ms int64, ok bool) {
	if t.Schedule == nil {
		return 0, false
	}
	at, ok := clock.ParseDate(t.Schedule.PlannedStart)
	return at.UnixMilli(), ok
}

func plannedEnd(t *doc.Task) (ms int64, ok bool) {
	if t.Schedule == nil {
		return 0, false
	}
	at, ok := clock.ParseDate(t.Schedule.PlannedEnd)
	return at.UnixMilli(), ok
}

// date converts a computed time, clamped to years that can be written.
func date(ms int64) time.Time { return time.UnixMilli(max(firstDate, min(ms, lastDate))).UTC() }

// days converts milliseconds to days, rounded to 0.01.
func days(ms int64) float64 { return math.Floor(float64(ms)/float64(day)*100+0.5) / 100 }
