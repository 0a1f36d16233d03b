package transcript

// The fold: the events of a run in order, its transcript out.

import (
	"slices"
	"strconv"

	"ac/events"
)

// Bounds of a fold. The oldest closed items go first.
const (
	maxItems = 50_000
	// maxBytes bounds what closed items take.
	maxBytes = 56 << 20
	// maxOwn and maxOwnBytes bound what waits: texts for the agent, and what it asks.
	maxOwn      = 256
	maxOwnBytes = 512 << 10
	// briefLine and briefErrors bound the lines of a brief fold.
	briefLine   = 1 << 20
	briefErrors = 64 << 10
)

// Fold makes the transcript of a run from its events. It is for one goroutine.
type Fold struct {
	project  string
	discards bool    // closed items are not kept
	items    []*Item // that are kept, in order of making
	bytes    int     // of those that are closed
	numbered int     // items that were made
	dropped  int
	last     int64 // the newest seq_last of those that were dropped

	session   *Session
	number    int  // of the session
	execution int  // of the session: an agent may be started anew in it
	named     bool // the agent named items in this execution
	announced int  // the number of the session that run.continued told, 0 for none
	ended     bool // the session is over
	out, errs Cutter
	chunk     []byte // memory for the next one

	seq     int64
	at      string
	unnamed int // items of this event that have no id of the agent's

	turn    int     // that is under way, 0 for none
	own     []*Item // of our events that are open
	ownSize int
	plan    *Item // the newest
	used    turnUsage
	state   State
	shown   State // as the last change had it
	live    bool  // the session is spoken with
	begun   bool  // its agent answered
	forgets bool  // the newest agent said that it takes up no conversation

	quiet    bool // nobody wants the changes of this event
	final    string
	finalSeq int64 // where it began
	digest   digest
	spoken   spoken
	changes  []Change
}

// NewFold makes the fold of a run of a project of which no event was seen.
func NewFold(project string) *Fold {
	state := State{Status: "running", OpenInteractions: []string{}}
	return &Fold{project: project, state: state, shown: state}
}

// NewBrief makes a fold that keeps what is open, what was said last and what a digest
// is made of, under 4 MiB whatever the log. Lines of agents over 1 MiB are passed over.
func NewBrief(project string) *Fold {
	f := NewFold(project)
	f.discards, f.out.most, f.errs.most = true, briefLine, briefErrors
	return f
}

// Items are the items so far, in the order in which they were made. They belong to
// the fold.
func (f *Fold) Items() []*Item { return f.items }

// Dropped is how many items were let go, and the newest seq_last among them.
func (f *Fold) Dropped() (n int, seq int64) { return f.dropped, f.last }

// Held is about how many bytes the items of the fold and what waits for its end take.
func (f *Fold) Held() int {
	n := f.bytes + f.ownSize + len(f.out.kept) + len(f.errs.kept)
	if f.session != nil {
		n += f.session.size
	}
	return n
}

// Seq is that of the last event.
func (f *Fold) Seq() int64 { return f.seq }

// State is how the run is by its log.
func (f *Fold) State() State { return f.state }

// Forgets reports whether the newest agent said of itself that it does not go on with
// conversations.
func (f *Fold) Forgets() bool { return f.forgets }

// Facts are those of the newest execution; none before one began.
func (f *Fold) Facts() Facts {
	if f.session == nil {
		return Facts{}
	}
	return f.session.Facts()
}

// FinalText is the text of the last message of the agent that is complete, over all
// sessions; "" before there is one.
func (f *Fold) FinalText() string { return f.final }

// Advance is Line for a caller that wants no changes.
func (f *Fold) Advance(seq int64, line []byte) {
	f.quiet = true
	f.Line(seq, line)
	f.quiet = false
}

// Line applies a line of a log. A line that is no event changes nothing. The list is valid
// until the next call.
func (f *Fold) Line(seq int64, line []byte) []Change {
	e, ok := readEvent(line)
	if !ok {
		f.seq = seq // it counts
		return nil
	}
	return f.Apply(seq, e)
}

// Apply takes the event with a seq. The list is valid until the next call.
func (f *Fold) Apply(seq int64, e Event) []Change {
	var said agentOutput
	if e.Type == events.ProviderRaw {
		if said = readChunk(e.Payload, f.chunk); cap(said.chunk) > keptCap {
			f.chunk = nil
		} else if said.said {
			f.chunk = said.chunk[:0]
		}
	}
	return f.apply(seq, e, said)
}

// apply is Apply with what an agent said, which was read before.
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
		f.judge()
	}
	return f.changes
}

// raw takes output of the agent.
func (f *Fold) raw(e Event, said agentOutput) {
	if !said.said {
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

// start begins the decoding of an execution.
func (f *Fold) start(driver, ref string) {
	f.state.SessionRef, f.named, f.ended = ref, false, false
	f.session = NewSession(driver)
	f.session.begins, f.session.changed = f.beginItem, f.add
	f.session.told = f.live || f.state.Turn > 0
}

// beginItem sets the id of an item of a session, and its beginning.
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

// begin sets where and when an item begins.
func (f *Fold) begin(item *Item) {
	f.numbered++
	item.number = f.numbered
	item.Turn, item.SessionRef = f.turn, f.state.SessionRef
	item.SeqFirst, item.SeqLast, item.StartedAt = f.seq, f.seq, f.at
}

// add adds a change of the run.
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
		f.hear(item)
	case Update:
		if item.State == StateClosed {
			f.measure(item, item.size)
			f.digest.changed(item)
			f.hear(item)
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

// measure counts a closed item anew, which counted before as so many bytes.
func (f *Fold) measure(item *Item, before int) {
	item.size = item.bytes()
	if !f.discards {
		f.bytes += item.size - before
	}
}

// finish ends what an execution left open.
func (f *Fold) finish() {
	if f.session == nil {
		return
	}
	f.out.End(func(line []byte) { f.session.Line("stdout", line) })
	f.errs.End(func(line []byte) { f.session.Line("stderr", line) })
	f.session.End()
}

// trim lets go of what is too much.
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

// Fork is a fold that goes on from here by itself, and keeps no closed items.
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
