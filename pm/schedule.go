package pm

// Laying tasks out by the critical path method.

import (
	"cmp"
	"math"
	"slices"
	"time"

	"ac/internal/clock"
	"ac/workspace/doc"
)

// day is the unit of durations, in milliseconds. Calendar days: no weekends, no
// daylight saving.
const day = int64(24 * time.Hour / time.Millisecond)

// criticalSlack is the slack from which on a task is not critical any more: a
// ten-thousandth of a day, in milliseconds.
const criticalSlack = day / 10000

// MaxDurationDays is the longest duration that counts; a longer one is cut.
const MaxDurationDays = 36500

// The first and the last millisecond of the years 0000 to 9999: other years have
// no four digits and would not sort.
const (
	firstDate = -62167219200000
	lastDate  = 253402300799999
)

// States of a plan.
const (
	StatusOK    = "ok"
	StatusCycle = "dependency_cycle"
)

// Plan is the tasks of a project in time.
type Plan struct {
	Status   string   // StatusOK, or StatusCycle when some tasks wait for each other
	SpanDays float64  // from the base to the last finish, to 0.01
	CycleIDs []string // the tasks that lie on a cycle, ascending
	Bars     []Bar    // by start, ties in the order in which the tasks were given
}

// Bar is a task in time.
type Bar struct {
	Task         doc.Task
	Start, End   time.Time // UTC
	DurationDays int
	SlackDays    float64 // how long it may be late without moving the end, to 0.01
	Critical     bool
}

// Lay lays tasks out. Dependencies are finish-to-start; a planned start is a
// start-not-before; a cycle is a state of the plan and never an error. Where no
// task has a planned start the plan begins at today's midnight, in UTC.
//
// The passes are those of the critical path method (Kelley and Walker, 1959).
func Lay(tasks []doc.Task, today time.Time) Plan {
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

// DurationDays is how long a task takes: as it says, else as its dates are
// apart, else a day.
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

// network is the tasks of a project while they are laid out. Times are
// milliseconds from the base.
type network struct {
	tasks []doc.Task
	nodes []node
	base  int64 // Unix milliseconds
	span  int64
	seq   []int // nodes in the order of the passes
}

type node struct {
	deps                    []int // what it waits for; each once
	notBefore, duration     int64
	start, finish, lateness int64 // earliest start and finish; latest start
	seqIndex                int   // in seq
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

// connect finds what each task waits for: the tasks of this project that it
// names, but not itself.
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

// order puts the tasks into the order of the passes and says how many of them
// can be ordered: ready ones by ascending id, then what waits for a cycle.
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

// pass goes forward for the earliest times and back for the latest. What a task
// waits for counts only when it stands before it.
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

// date is a computed time, within the years that can be written.
func date(ms int64) time.Time { return time.UnixMilli(max(firstDate, min(ms, lastDate))).UTC() }

// days is a length in days, to 0.01.
func days(ms int64) float64 { return math.Floor(float64(ms)/float64(day)*100+0.5) / 100 }
