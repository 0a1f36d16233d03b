package transcript

// Changes of items: the operations that build a transcript.

import "slices"

// Op is an operation.
type Op string

// Operations. Applied in order, they build the transcript.
const (
	Open   Op = "open"   // a new item
	Append Op = "append" // text was added to a field of an item
	Update Op = "update" // the whole item was replaced
	Close  Op = "close"  // the whole item was replaced, and is closed
	// Status reports a new state of the run.
	Status Op = "state"
)

// Fields that text is appended to.
const (
	FieldText   = "text"
	FieldOutput = "output"
)

// Change is one change of the transcript. Item is a copy of the item after the change. For an
// append it is the fold's own item, of which only the id may be used. Field and Text belong to an
// append, State to a Status change.
type Change struct {
	Op    Op
	Item  *Item
	Field string
	Text  string
	State *State
}

// State is the state of a run according to its log.
type State struct {
	Status     string `json:"status"`
	Activity   string `json:"activity,omitempty"` // of a live session
	Turn       int    `json:"turn"`               // the newest turn, 0 for none
	SessionRef string `json:"session_ref"`
	// OpenInteractions holds the ids of the unanswered interactions, oldest first.
	OpenInteractions []string `json:"open_interactions"`
}

// Activities of a live session.
const (
	ActivityStarting = "starting"
	ActivityIdle     = "idle"
	ActivityBusy     = "busy"
	ActivityWaiting  = "waiting_" // followed by the interaction's kind
)

func (s State) equal(o State) bool {
	return s.Status == o.Status && s.Activity == o.Activity && s.Turn == o.Turn && s.SessionRef == o.SessionRef &&
		slices.Equal(s.OpenInteractions, o.OpenInteractions)
}

// Apply applies an append with the given seq to the item.
func (i *Item) Apply(field, text string, seq int64) {
	if field == FieldOutput && i.Tool != nil {
		i.Tool.appendOutput(text)
	} else if field == FieldText {
		i.appendText(text)
	}
	i.SeqLast = seq
}
