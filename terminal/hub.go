// Package terminal runs the consoles of a process: shells in pseudo-terminals that outlive
// their viewers' connections.
//
// Invariants:
//   - A terminal keeps the newest 2 MiB of its output, however many viewers it has.
//   - A viewer holds a cursor and never blocks anybody else.
//   - Nothing that a shell started outlives its terminal.
//   - No shell outlives the process.
package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"ac/internal/fault"
	"ac/runs/session"
)

// Bounds.
const (
	Limit       = 16      // terminals in a process
	BufferBytes = 2 << 20 // output kept by a terminal
	MaxViewers  = 32      // viewers of a terminal
	ChunkBytes  = 64 << 10
	maxTitle    = 200 // bytes
)

// Statuses of a terminal.
const (
	Running = "running"
	Exited  = "exited"
)

// Info describes a terminal as methods return it.
type Info struct {
	ID          string `json:"terminal_id"`
	Title       string `json:"title"`
	Shell       string `json:"shell"`
	CWD         string `json:"cwd"`
	Status      string `json:"status"`
	PID         int    `json:"pid"`
	Cols        int    `json:"cols"`
	Rows        int    `json:"rows"`
	CreatedAt   string `json:"created_at"`
	CreatedBy   string `json:"created_by"`
	Cursor      int64  `json:"cursor"`
	BufferStart int64  `json:"buffer_start"`
	ExitCode    *int   `json:"exit_code,omitempty"`
	Signal      string `json:"signal,omitempty"`
}

// Options are what a hub needs from its process.
type Options struct {
	// Executable is the program with the guard command.
	Executable string
	// RandomText returns n random letters and digits of base 32.
	RandomText func(n int) string
	// OnEnd is called for each terminal whose shell has ended. It may block, and must not
	// call the hub.
	OnEnd func(dir string, t Info)
}

// Hub manages the terminals of a process. It is safe for concurrent use.
type Hub struct {
	opts   Options
	guards session.GuardSet

	mu     sync.Mutex
	closed bool
	made   int
	list   []*Terminal // oldest first
	making int
}

// New creates the hub of a process. Close ends it.
func New(opts Options) *Hub { return &Hub{opts: opts} }

// Spec describes a new terminal.
type Spec struct {
	Dir        string // the workspace
	Title      string // "" for Terminal N
	Shell      string // an absolute path
	CWD        string
	Env        []string
	Cols, Rows int
	CreatedAt  string
	CreatedBy  string
}

// Create starts a shell in a new terminal. At the limit it removes the oldest terminal that
// has exited and has no viewers.
func (h *Hub) Create(spec Spec) (Info, error) {
	number, err := h.reserve()
	if err != nil {
		return Info{}, err
	}
	if spec.Title = Title(spec.Title); spec.Title == "" {
		spec.Title = fmt.Sprintf("Terminal %d", number)
	}
	t, err := h.start(spec)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.making--
	if err != nil {
		return Info{}, fault.New(fault.TerminalUnavailable, "the shell was not started: %w", err)
	}
	if h.closed {
		go t.end()
		return Info{}, fault.New(fault.ShuttingDown, "the server is shutting down")
	}
	h.list = append(h.list, t)
	return t.Info(), nil
}

// reserve reserves a slot and returns the number of the new terminal.
func (h *Hub) reserve() (number int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return 0, fault.New(fault.ShuttingDown, "the server is shutting down")
	}
	if len(h.list)+h.making >= Limit {
		i := slices.IndexFunc(h.list, func(t *Terminal) bool { return t.idle() })
		if i < 0 {
			return 0, fault.New(fault.TerminalLimit, "%d terminals are open already", Limit)
		}
		h.list = slices.Delete(h.list, i, i+1)
	}
	h.made, h.making = h.made+1, h.making+1
	return h.made, nil
}

// List lists the terminals of a workspace, oldest first.
func (h *Hub) List(dir string) []Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := []Info{}
	for _, t := range h.list {
		if t.spec.Dir == dir {
			list = append(list, t.Info())
		}
	}
	return list
}

// Running counts the running shells in all workspaces.
func (h *Hub) Running() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.list {
		if t.Info().Status == Running {
			n++
		}
	}
	return n
}

// Find returns a terminal of a workspace, or fault.TerminalNotFound.
func (h *Hub) Find(dir, id string) (*Terminal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.list {
		if t.id == id && t.spec.Dir == dir {
			return t, nil
		}
	}
	return nil, fault.New(fault.TerminalNotFound, "there is no terminal %s", id)
}

// CloseTerminal ends a terminal with everything that it started, and removes it from the hub.
func (h *Hub) CloseTerminal(dir, id string) (Info, error) {
	t, err := h.Find(dir, id)
	if err != nil {
		return Info{}, err
	}
	t.end()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = slices.DeleteFunc(h.list, func(other *Terminal) bool { return other == t })
	t.forget()
	return t.Info(), nil
}

// Close ends all terminals and waits up to a second for that. The guards end any remaining
// ones when the process exits.
func (h *Hub) Close() {
	var wg sync.WaitGroup
	for _, t := range h.shut() {
		wg.Go(func() {
			t.end()
			t.forget()
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(time.Second):
	}
}

// shut rejects new terminals from now on and returns the present ones. The list is a copy,
// since a concurrent CloseTerminal shifts the elements of the hub's own.
func (h *Hub) shut() []*Terminal {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	return slices.Clone(h.list)
}

// Title normalizes a title to one line of at most 200 bytes. A blank title becomes "".
func Title(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	for len(text) > maxTitle {
		_, size := utf8.DecodeLastRuneInString(text)
		if text = text[:len(text)-size]; len(text) <= maxTitle {
			break
		}
	}
	return text
}
