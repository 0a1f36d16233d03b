package transcript

// The fold: the events of a run in order, its transcript out.

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ac/events"
	"ac/workspace/doc"
)

// Event is what the fold reads of an event.
type Event struct {
	ID         string          `json:"event_id"`
	Type       string          `json:"type"`
	Actor      string          `json:"actor"`
	SessionRef string          `json:"session_ref"`
	At         string          `json:"ts_wallclock"`
	Payload    json.RawMessage `json:"payload"`
}

// maxItems bounds the items that a fold keeps; the oldest closed ones go first.
const maxItems = 50_000

// Fold makes the transcript of a run from its events. It is for one goroutine.
type Fold struct {
	items   []*Item
	session *Session
	number  int // of the session
	ref     string
	seq     int64
	at      string
	unnamed int // items of this event that have no id of the agent's
	lines   map[string]*Cutter
	dropped int
	changes []Change
}

// NewFold makes the fold of a run of which no event was seen.
func NewFold() *Fold { return &Fold{} }

// Items are the items so far, in the order in which they began. They belong to
// the fold.
func (f *Fold) Items() []*Item { return f.items }

// Dropped is how many items were let go.
func (f *Fold) Dropped() int { return f.dropped }

// Facts are those of the newest session; none before one began.
func (f *Fold) Facts() Facts {
	if f.session == nil {
		return Facts{}
	}
	return f.session.Facts()
}

// Line applies a line of a log. A line that is no event changes nothing.
func (f *Fold) Line(seq int64, line []byte) []Change {
	var e Event
	if json.Unmarshal(line, &e) != nil {
		return nil
	}
	return f.Apply(seq, e)
}

// Apply takes the event with a seq. The changes are valid until the next call.
func (f *Fold) Apply(seq int64, e Event) []Change {
	f.seq, f.at, f.unnamed, f.changes = seq, e.At, 0, f.changes[:0]
	switch {
	case e.Type == events.RunExecuting:
		f.begin(e)
	case e.Type == events.ProviderRaw:
		f.raw(e)
	case events.Terminal(e.Type):
		f.end(e)
	case e.Type == events.BudgetExceeded:
		f.own(Item{ID: "ev:" + e.ID, Kind: KindNotice, Role: RoleSystem, Text: "A budget was exceeded."})
	}
	f.trim()
	return f.changes
}

// begin starts the decoding of a session anew.
func (f *Fold) begin(e Event) {
	f.finish()
	var p struct {
		Mode   string `json:"mode"`
		Driver string `json:"driver"`
	}
	_ = json.Unmarshal(e.Payload, &p) // logs of other programs may have none
	if p.Driver == "" && p.Mode == doc.KindAppServer {
		p.Driver = string(doc.Codex)
	}
	f.start(p.Driver, e.SessionRef)
}

func (f *Fold) start(driver, ref string) {
	f.number++
	f.ref, f.lines = ref, map[string]*Cutter{}
	f.session = NewSession(driver)
	f.session.before = f.place
}

// place sets the id of an item of a session, and its beginning.
func (f *Fold) place(item *Item) {
	id := item.own
	if id == "" {
		id = "seq" + strconv.FormatInt(f.seq, 10)
		if f.unnamed++; f.unnamed > 1 {
			id += "." + strconv.Itoa(f.unnamed)
		}
	}
	item.ID = strconv.Itoa(f.number) + ":" + id
	item.SessionRef, item.SeqFirst, item.SeqLast, item.StartedAt = f.ref, f.seq, f.seq, f.at
}

// raw takes output of the agent.
func (f *Fold) raw(e Event) {
	var p struct {
		Stream string `json:"stream"`
		Chunk  string `json:"chunk"`
	}
	if json.Unmarshal(e.Payload, &p) != nil {
		return
	}
	if f.session == nil {
		f.start("", e.SessionRef)
	}
	lines := f.lines[p.Stream]
	if lines == nil {
		lines = &Cutter{}
		f.lines[p.Stream] = lines
	}
	lines.Add([]byte(p.Chunk), func(line []byte) { f.take(f.session.Line(p.Stream, line)) })
}

// take makes changes of a session those of the run.
func (f *Fold) take(changes []Change) {
	for _, c := range changes {
		c.Item.SeqLast = f.seq
		switch c.Op {
		case Open:
			f.items = append(f.items, c.Item)
		case Append, Update:
		case Close:
			c.Item.EndedAt = f.at
			if c.Item.void {
				f.items = slices.DeleteFunc(f.items, func(i *Item) bool { return i == c.Item })
			}
		}
		f.changes = append(f.changes, c)
	}
}

// finish ends what a session left open.
func (f *Fold) finish() {
	if f.session == nil {
		return
	}
	for _, stream := range []string{"stdout", "stderr"} {
		if lines := f.lines[stream]; lines != nil {
			lines.End(func(line []byte) { f.take(f.session.Line(stream, line)) })
		}
	}
	f.take(f.session.End())
}

// end takes the end of a session.
func (f *Fold) end(e Event) {
	f.finish()
	var p struct {
		Error     string `json:"error"`
		ErrorKind string `json:"error_kind"`
		ExitCode  *int   `json:"exit_code"`
		Signal    string `json:"signal"`
	}
	_ = json.Unmarshal(e.Payload, &p)
	text := "The run " + strings.TrimPrefix(e.Type, "run.") + "."
	switch {
	case p.Error != "":
		text = strings.TrimSuffix(text, ".") + ": " + plainLines(p.Error)
	case p.Signal != "":
		text = strings.TrimSuffix(text, ".") + " (" + p.Signal + ")."
	case p.ExitCode != nil && *p.ExitCode != 0:
		text = strings.TrimSuffix(text, ".") + " (exit code " + strconv.Itoa(*p.ExitCode) + ")."
	}
	f.own(Item{ID: "ev:" + e.ID, Kind: KindNotice, Role: RoleSystem, Text: text})
}

func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// own adds an item that an event of ours makes by itself.
func (f *Fold) own(item Item) {
	made := new(item)
	made.State, made.SessionRef = StateClosed, f.ref
	made.SeqFirst, made.SeqLast, made.StartedAt, made.EndedAt = f.seq, f.seq, f.at, f.at
	made.setText(item.Text)
	f.items = append(f.items, made)
	f.changes = append(f.changes, Change{Op: Close, Item: made})
}

func (f *Fold) trim() {
	for len(f.items) > maxItems {
		i := slices.IndexFunc(f.items, func(i *Item) bool { return i.State == StateClosed })
		if i < 0 {
			return
		}
		f.items = slices.Delete(f.items, i, i+1)
		f.dropped++
	}
}
