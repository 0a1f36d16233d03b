package transcript

// What happens to items: the operations that make a transcript of nothing.

import "slices"

// Op is what happened.
type Op string

// The operations. Whoever applies them in their order has the transcript.
const (
	Open   Op = "open"   // a new item
	Append Op = "append" // text was added to a field of an item
	Update Op = "update" // the item is another one as a whole
	Close  Op = "close"  // likewise, and it is over
	// Status says that the state of the run is another one.
	Status Op = "state"
)

// Fields that texts are appended to.
const (
	FieldText   = "text"
	FieldOutput = "output"
)

// Change is one change of the transcript. Item is a copy of the item as it stands after
// the change; of an append it is the item of the fold, which tells its id alone. Field
// and Text are those of an append, State is that of a change of the run.
type Change struct {
	Op    Op
	Item  *Item
	Field string
	Text  string
	State *State
}

// State is how a run is by its log.
type State struct {
	Status     string `json:"status"`
	Activity   string `json:"activity,omitempty"` // of a run that is spoken with, while its session lives
	Turn       int    `json:"turn"`               // the newest that began, 0 for none
	SessionRef string `json:"session_ref"`
	// OpenInteractions are the ids of what waits for an answer, the oldest first.
	OpenInteractions []string `json:"open_interactions"`
}

// Activities of a live session.
const (
	ActivityStarting = "starting"
	ActivityIdle     = "idle"
	ActivityBusy     = "busy"
	ActivityWaiting  = "waiting_" // and the kind of the interaction
)

func (s State) equal(o State) bool {
	return s.Status == o.Status && s.Activity == o.Activity && s.Turn == o.Turn && s.SessionRef == o.SessionRef &&
		slices.Equal(s.OpenInteractions, o.OpenInteractions)
}

// Apply changes the item as an append of this field says that comes with a seq.
func (i *Item) Apply(field, text string, seq int64) {
	if field == FieldOutput && i.Tool != nil {
		i.Tool.appendOutput(text)
	} else if field == FieldText {
		i.appendText(text)
	}
	i.SeqLast = seq
}
