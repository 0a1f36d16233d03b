package top

// The data of the screen, and the actions of its keys.

import (
	"context"
	"time"

	"ac/internal/terminal"
)

// Run is a run in the pane Now.
type Run struct {
	ID, Short   string // Short is the id suffix shown in lists
	Sign, State string
	Colour      terminal.Colour // of Sign and State
	Agent, What string
	Place       string // provider and model
	At          time.Time
	Tokens      string
	Cost        string
	Live        bool
	Need        string // the id of the need it waits for, "" for none
}

// Need is an item that waits for a person.
type Need struct {
	ID, Short   string
	Kind        string
	From, Title string
	RunID       string    // the run that it concerns, "" for none
	At          time.Time // since when
	Expires     time.Time // zero for never
	Asks        bool      // takes an answer in words or one of its choices
}

// Conversation is a conversation in the pane Talk.
type Conversation struct {
	ID, Name string
	LastBy   string
	LastAt   time.Time
}

// Room holds everything in the lists of the screen.
type Room struct {
	Company, Project string
	Runs             []Run
	Needs            []Need
	Conversations    []Conversation
	Agents           []string // agents that can be given a new run
	Running          int
	Today            string // today's cost or tokens, "" if unknown
	Health           string // ok, or the worst finding
}

// Line is a line of text with a color.
type Line struct {
	Text   string
	Colour terminal.Colour
}

// Proof is what a person has to see before deciding on a need.
type Proof struct {
	Lines   []Line
	Hash    string   // of what was shown; the decision refers to it
	Choices []string // of a question
}

// Source is the company behind the screen. Its methods are safe for concurrent use and end with
// their context. Methods that act return a sentence about what they did.
type Source interface {
	// Follow sends the room at once and after each change, until the context ends.
	Follow(ctx context.Context, send func(Room)) error
	// Watch sends the end of a run's transcript at once and after each change, until the context
	// ends.
	Watch(ctx context.Context, runID string, send func([]Line)) error

	Proof(ctx context.Context, needID string, width int) (Proof, error)
	Plan(ctx context.Context, width int) ([]Line, error)
	Cost(ctx context.Context, width int) ([]Line, error)
	Messages(ctx context.Context, conversationID string) ([]Line, error)
	// Changes returns what landing a run would bring: a summary line and a diff.
	Changes(ctx context.Context, runID string) (stat string, diff []Line, err error)

	Decide(ctx context.Context, needID string, approve bool, note, hash string) (string, error)
	Answer(ctx context.Context, needID, text string) (string, error)
	Say(ctx context.Context, runID, text string) (string, error)
	Send(ctx context.Context, conversationID, text string) (string, error)
	Stop(ctx context.Context, runID string) (string, error)
	Land(ctx context.Context, runID string) (string, error)
	Start(ctx context.Context, agent, text string) (string, error)
}
