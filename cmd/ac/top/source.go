package top

// What the screen shows, and what its keys may ask for.

import (
	"context"
	"time"

	"ac/internal/terminal"
)

// Run is a run in the pane Now.
type Run struct {
	ID, Short   string // Short is the end of the id that lists show
	Sign, State string
	Colour      terminal.Colour // of sign and state
	Agent, What string
	Place       string // how its agent is spoken with and where it works
	At          time.Time
	Tokens      string
	Cost        string
	Live        bool
	Need        string // the id of what it waits for, "" for nothing
}

// Need is something that waits for a person.
type Need struct {
	ID, Short   string
	Kind        string
	From, Title string
	RunID       string    // the run that asks, "" for none
	At          time.Time // since when
	Expires     time.Time // until when, zero for any time
	Asks        bool      // it takes an answer in words or one of its choices
}

// Conversation is a conversation in the pane Talk.
type Conversation struct {
	ID, Name string
	LastBy   string
	LastAt   time.Time
}

// Room is everything in the lists of the screen.
type Room struct {
	Company, Project string
	Runs             []Run
	Needs            []Need
	Conversations    []Conversation
	Agents           []string // whom a new run can be given to
	Running          int
	Today            string // what was spent today, "" if nothing is known
	Health           string // ok, else the worst finding
}

// Line is a line of text in a colour.
type Line struct {
	Text   string
	Colour terminal.Colour
}

// Proof is what a decision is made on.
type Proof struct {
	Lines   []Line
	Hash    string   // of what was shown; the decision is about that
	Choices []string // of a question
}

// Source is the company behind the screen. Its methods are called side by side and end with
// their context. Those that act return what was done, in a sentence.
type Source interface {
	// Follow sends the room at once and after each change, until the context ends.
	Follow(ctx context.Context, send func(Room)) error
	// Watch sends the end of a run's transcript at once and after each change.
	Watch(ctx context.Context, runID string, send func([]Line)) error

	Proof(ctx context.Context, needID string, width int) (Proof, error)
	Plan(ctx context.Context, width int) ([]Line, error)
	Cost(ctx context.Context, width int) ([]Line, error)
	Messages(ctx context.Context, conversationID string) ([]Line, error)
	// Changes is what landing a run would bring: in a line, and as a diff.
	Changes(ctx context.Context, runID string) (stat string, diff []Line, err error)

	Decide(ctx context.Context, needID string, approve bool, note, hash string) (string, error)
	Answer(ctx context.Context, needID, text string) (string, error)
	Say(ctx context.Context, runID, text string) (string, error)
	Send(ctx context.Context, conversationID, text string) (string, error)
	Stop(ctx context.Context, runID string) (string, error)
	Land(ctx context.Context, runID string) (string, error)
	Start(ctx context.Context, agent, text string) (string, error)
}
