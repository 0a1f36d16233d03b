package transcript

// The fold: builds the transcript of a run from its events, in order.

import (
	"slices"
	"strconv"

	"ac/events"
)

// Bounds of a fold. It drops the oldest closed items first.
const (
	maxItems = 50_000
	// maxBytes bounds the memory of closed items, in bytes.
	maxBytes = 56 << 20
	// maxOwn and maxOwnBytes bound the open items of ours: queued texts and interactions.
	maxOwn      = 256
	maxOwnBytes = 512 << 10
	// briefLine and briefErrors bound the lines of a brief fold, in bytes.
	briefLine   = 1 << 20
	briefErrors = 64 << 10
)

// Fold builds the transcript of a run from its events. It is not safe for concurrent use.
type Fold struct {
	project  string
	discards bool    // closed items are not kept
	items    []*Item // the kept items, in order of creation
	bytes    int     // of the closed items
	numbered int     // items created so far
	dropped  int
	last     int64 // the newest seq_last of the dropped items

	session   *Session
	number    int  // of the session
	execution int  // number within the session, as an agent may be restarted
	named     bool // the agent gave ids to items of this execution
	announced int  // the session number in run.continued, 0 for none
	ended     bool // the session is over
	out, errs Cutter
	chunk     []byte // reused for the next chunk

	seq     int64
	at      string
	unnamed int // items of this event without an id of the agent

	turn         int     // the current turn, 0 for none
	own          []*Item // open items that our own events created
	ownSize      int
	plan         *Item // the newest plan
	used         turnUsage
	state        State
	shown        State // as last reported
	live         bool  // the session is live
	begun        bool  // its agent responded
	cannotResume bool  // the newest agent cannot resume conversations

	quiet    bool // no changes are wanted for this event
	final    string
	finalSeq int64 // seq where final began
	digest   digest
	lastLine lastLine
	changes  []Change
}

// NewFold returns a fold for a run of a project, before its first event.
func NewFold(project string) *Fold {
	state := State{Status: "running", OpenInteractions: []string{}}
	return &Fold{project: project, state: state, shown: state}
}

// NewBrief returns a fold that keeps only open items, the final text and the contents of a
// digest, in under 4 MiB for any log. It skips agent lines over 1 MiB.
func NewBrief(project string) *Fold {
	f := NewFold(project)
	f.discards, f.out.most, f.errs.most = true, briefLine, briefErrors
	return f
}

// Items returns the kept items in order of creation. They belong to the fold.
func (f *Fold) Items() []*Item { return f.items }

// Dropped returns how many items were dropped, and the newest seq_last among them.
func (f *Fold) Dropped() (n int, seq int64) { return f.dropped, f.last }

// MemorySize returns the approximate memory of the fold's items and incomplete lines, in bytes.
func (f *Fold) MemorySize() int {
	n := f.bytes + f.ownSize + len(f.out.kept) + len(f.errs.kept)
	if f.session != nil {
		n += f.session.size
	}
	return n
}

// Seq returns the seq of the last event.
func (f *Fold) Seq() int64 { return f.seq }

// State returns the state of the run according to its log.
func (f *Fold) State() State { return f.state }

// CannotResume reports whether the newest agent declared that it cannot resume conversations.
func (f *Fold) CannotResume() bool { return f.cannotResume }

// Facts returns the facts of the newest execution, zero before the first.
func (f *Fold) Facts() Facts {
	if f.session == nil {
		return Facts{}
	}
	return f.session.Facts()
}

// FinalText returns the agent's last complete message over all sessions, "" before the first.
func (f *Fold) FinalText() string { return f.final }

// Advance is Line without the changes.
func (f *Fold) Advance(seq int64, line []byte) {
	f.quiet = true
	f.Line(seq, line)
	f.quiet = false
}

// Line applies a line of a log and returns the changes. A line that is not an event changes
// nothing. The list is valid until the next call.
func (f *Fold) Line(seq int64, line []byte) []Change {
	e, ok := readEvent(line)
	if !ok {
		f.seq = seq // it counts as a line
		return nil
	}
	return f.Apply(seq, e)
}

// Apply applies an event and returns the changes. The list is valid until the next call.
func (f *Fold) Apply(seq int64, e Event) []Change {
	var said agentOutput
	if e.Type == events.ProviderRaw {
		if said = readChunk(e.Payload, f.chunk); cap(said.chunk) > keptCap {
			f.chunk = nil
		} else if said.hasChunk {
			f.chunk = said.chunk[:0]
		}
	}
	return f.apply(seq, e, said)
}

// apply is Apply with the agent's output already decoded.
func (f *Fold) apply(seq int64, e Event, said agentOutput) []Change {
	f.seq, f.at, f.unnamed, f.changes = seq, e.At, 0, f.changes[:0]
	switch {
	case e.Type == events.ProviderRaw:
		f.raw(e, said)
	case e.Type == events.RunExecuting:
		f.execute(e)
	case events.Terminal(e.Type):
		f.end(e)
	default:
		f.event(e)
	}
	f.trim()
	if e.Type != events.ProviderRaw || f.state.SessionRef != f.shown.SessionRef {
		f.reportState()
	}
	return f.changes
}

// raw handles output of the agent.
func (f *Fold) raw(e Event, said agentOutput) {
	if !said.hasChunk {
		return
	}
	if f.session == nil {
		f.number, f.execution = 1, 1
		f.start("", e.SessionRef)
	}
	f.cutter(said.stream).Add(said.chunk, func(line []byte) { f.session.Line(said.stream, line) })
}

func (f *Fold) cutter(stream string) *Cutter {
	if stream == "stderr" {
		return &f.errs
	}
	return &f.out
}

// start starts the decoding of an execution.
func (f *Fold) start(driver, ref string) {
	f.state.SessionRef, f.named, f.ended = ref, false, false
	f.session = NewSession(driver)
	f.session.begins, f.session.changed = f.beginItem, f.add
	f.session.hasTextEvents = f.live || f.state.Turn > 0
}

// beginItem sets the id and the start of a session's item.
func (f *Fold) beginItem(item *Item) {
	f.named = f.named || item.own != ""
	id := item.ID
	if id == "" {
		id = "seq" + strconv.FormatInt(f.seq, 10)
		if f.unnamed++; f.unnamed > 1 {
			id += "." + strconv.Itoa(f.unnamed)
		}
	}
	prefix := strconv.Itoa(f.number)
	if f.execution > 1 {
		prefix += "." + strconv.Itoa(f.execution)
	}
	item.ID = prefix + ":" + id
	f.begin(item)
}

// begin sets where and when an item starts.
func (f *Fold) begin(item *Item) {
	f.numbered++
	item.number = f.numbered
	item.Turn, item.SessionRef = f.turn, f.state.SessionRef
	item.SeqFirst, item.SeqLast, item.StartedAt = f.seq, f.seq, f.at
}

// add applies a change to the fold and records it.
func (f *Fold) add(c Change) {
	item := c.Item
	item.SeqLast = f.seq
	switch c.Op {
	case Open:
		if item.Kind == KindPlan {
			f.plan = item
		}
		f.keep(item)
	case Close:
		item.EndedAt = f.at
		f.measure(item, 0)
		if item.answers() && item.SeqFirst >= f.finalSeq {
			f.final, f.finalSeq = item.Text, item.SeqFirst
		}
		f.digest.add(item)
		f.recordLastLine(item)
	case Update:
		if item.State == StateClosed {
			f.measure(item, item.size)
			f.digest.changed(item)
			f.recordLastLine(item)
		}
	case Append, Status:
	}
	if f.quiet {
		return
	}
	if c.Op != Append {
		c.Item = item.Snapshot()
	}
	f.changes = append(f.changes, c)
}

func (f *Fold) keep(item *Item) {
	if !f.discards {
		f.items = append(f.items, item)
	}
}

// measure updates the size of a closed item. before is the size counted so far.
func (f *Fold) measure(item *Item, before int) {
	item.size = item.bytes()
	if !f.discards {
		f.bytes += item.size - before
	}
}

// finish closes what an execution left open.
func (f *Fold) finish() {
	if f.session == nil {
		return
	}
	f.out.End(func(line []byte) { f.session.Line("stdout", line) })
	f.errs.End(func(line []byte) { f.session.Line("stderr", line) })
	f.session.End()
}

// trim drops closed items beyond the bounds.
func (f *Fold) trim() {
	for len(f.items) > maxItems || f.bytes > maxBytes {
		i := slices.IndexFunc(f.items, func(i *Item) bool { return i.State == StateClosed })
		if i < 0 {
			return
		}
		gone := f.items[i]
		copy(f.items[1:i+1], f.items[:i])
		f.items[0] = nil
		f.items = f.items[1:]
		f.bytes -= gone.size
		f.dropped, f.last = f.dropped+1, max(f.last, gone.SeqLast)
	}
}

// Fork returns an independent copy of the fold that keeps no closed items.
func (f *Fold) Fork() *Fold {
	c := *f
	c.discards, c.items, c.bytes, c.changes, c.chunk = true, nil, 0, nil, nil
	known := map[*Item]*Item{}
	of := func(item *Item) *Item {
		if item == nil {
			return nil
		}
		if known[item] == nil {
			known[item] = item.Snapshot()
		}
		return known[item]
	}
	c.own = nil
	for _, item := range f.own {
		c.own = append(c.own, of(item))
	}
	c.plan, c.used.item = of(f.plan), of(f.used.item)
	if f.session != nil {
		c.session = f.session.fork(of)
		c.session.begins, c.session.changed = c.beginItem, c.add
	}
	c.out, c.errs = f.out.clone(), f.errs.clone()
	c.digest = f.digest.clone()
	return &c
}
