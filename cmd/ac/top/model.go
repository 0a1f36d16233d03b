package top

// The state of the screen, and how messages change it.

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Options configures the screen.
type Options struct {
	ReadOnly bool // disables keys that change the company
	Colour   bool
	Unicode  bool
	Still    bool // at most one frame a second, no blinking cursor
	Now      func() time.Time
}

type paneID int

const (
	paneNow paneID = iota
	paneNeeds
	panePlan
	paneTalk
	paneCost
	panes
)

// Model is the state of the screen. Only the goroutine of its program uses it.
type Model struct {
	options Options
	source  Source
	ctx     context.Context //nolint:containedctx // of the program
	calls   *sync.WaitGroup // background calls; Show waits for them
	send    func(tea.Msg)
	after   func(time.Duration, func(time.Time) tea.Msg) tea.Cmd

	width, height int
	now           time.Time
	ticking       bool
	mouse         bool

	room    Room
	loaded  bool
	lost    error // set when the workspace can no longer be read
	pane    paneID
	lists   [panes]list
	bodies  [panes]text
	inBody  bool   // the lower or right part has the focus
	whole   bool   // one part fills the screen
	filter  string // of the lists of runs and needs
	keys    bool   // the help page is shown
	ask     *ask
	message string // shown in the bottom line until the next key

	proofOf  string // the need whose proof the body shows
	proof    Proof
	unwatch  context.CancelFunc // stops watching the selected run
	watching string
}

// New returns the screen of a source. send passes messages to the program that runs it.
func New(ctx context.Context, source Source, options Options, send func(tea.Msg)) *Model {
	return &Model{ctx: ctx, source: source, options: options, send: send, after: tea.Tick, calls: &sync.WaitGroup{}, now: options.Now(), mouse: true}
}

// Messages to the screen.
type (
	roomMsg  Room
	linesMsg struct { // of a run, a conversation, the plan or the costs
		pane  paneID
		of    string
		lines []Line
	}
	proofMsg struct {
		of    string
		proof Proof
	}
	doneMsg struct { // the result of an action, or a read error
		text string
		err  error
	}
	lostMsg struct{ err error }
	tickMsg struct{}
)

// Init starts following the company.
func (m *Model) Init() tea.Cmd {
	m.background(func() {
		err := m.source.Follow(m.ctx, func(r Room) { m.send(roomMsg(r)) })
		if m.ctx.Err() == nil {
			m.send(lostMsg{err})
		}
	})
	return nil
}

// background runs fn concurrently. fn must return when the screen ends.
func (m *Model) background(fn func()) {
	m.calls.Go(fn)
}

// do returns a command that runs an action. Its result goes to the bottom line.
func (m *Model) do(act func(context.Context) (string, error)) tea.Cmd {
	return func() tea.Msg {
		said, err := act(m.ctx)
		return doneMsg{said, err}
	}
}

// Update handles a message and returns the command to run next.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, m.open()
	case roomMsg:
		return m, m.take(Room(msg))
	case linesMsg:
		if body := &m.bodies[msg.pane]; body.of == msg.of {
			body.lines = msg.lines
		}
	case proofMsg:
		m.takeProof(msg)
	case doneMsg:
		m.message = msg.text
		if msg.err != nil {
			m.message = msg.err.Error()
			m.proofOf = "" // the displayed proof may be outdated
			return m, m.open()
		}
	case lostMsg:
		m.lost = msg.err
	case tickMsg:
		m.ticking = false
		return m, m.tick()
	case askMsg:
		m.ask = msg.ask
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case tea.PasteMsg:
		if m.ask != nil && !m.ask.yes {
			m.ask.input.insert(msg.Content)
		}
	case tea.MouseClickMsg:
		return m, m.click(msg.Mouse())
	case tea.MouseWheelMsg:
		return m, m.wheel(msg.Mouse())
	}
	return m, nil
}

// take replaces the room. The selection stays on its ids.
func (m *Model) take(r Room) tea.Cmd {
	var before [panes][]string
	for p := range panes {
		before[p] = m.ids(p)
	}
	m.room, m.loaded, m.lost, m.now = r, true, nil, m.options.Now()
	for p := range panes {
		m.lists[p].keep(before[p], m.ids(p))
	}
	return tea.Batch(m.open(), m.tick())
}

// tick redraws ages every second while a run is live or a need expires.
func (m *Model) tick() tea.Cmd {
	m.now = m.options.Now()
	goesOn := m.room.Running > 0 || slices.ContainsFunc(m.room.Needs, func(n Need) bool { return !n.Expires.IsZero() })
	if m.ticking || !goesOn {
		return nil
	}
	m.ticking = true
	return m.after(time.Second, func(time.Time) tea.Msg { return tickMsg{} })
}

// ids returns the ids of a pane's rows in order, after filtering.
func (m *Model) ids(p paneID) (ids []string) {
	switch p {
	case paneNow:
		for _, r := range m.room.Runs {
			if m.fits(r.Agent, r.What, r.State, r.ID) {
				ids = append(ids, r.ID)
			}
		}
	case paneNeeds:
		for _, n := range m.room.Needs {
			if m.fits(n.From, n.Title, n.Kind, n.ID) {
				ids = append(ids, n.ID)
			}
		}
	case paneTalk:
		for _, c := range m.room.Conversations {
			ids = append(ids, c.ID)
		}
	case panePlan, paneCost, panes:
	}
	return ids
}

func (m *Model) fits(texts ...string) bool {
	wanted := strings.ToLower(m.filter)
	return wanted == "" || slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), wanted) })
}

// selected returns the selected id of the current pane.
func (m *Model) selected() string { return m.lists[m.pane].selected }

func (m *Model) run(id string) (Run, bool) {
	at := slices.IndexFunc(m.room.Runs, func(r Run) bool { return r.ID == id })
	if at < 0 {
		return Run{}, false
	}
	return m.room.Runs[at], true
}

func (m *Model) need(id string) (Need, bool) {
	at := slices.IndexFunc(m.room.Needs, func(n Need) bool { return n.ID == id })
	if at < 0 {
		return Need{}, false
	}
	return m.room.Needs[at], true
}

// open loads the body for the selected row, unless it is already loaded.
func (m *Model) open() tea.Cmd {
	if m.width == 0 || !m.loaded {
		return nil
	}
	id := m.selected()
	if m.pane != paneNow {
		m.watch("")
	}
	switch m.pane {
	case paneNow:
		m.watch(id)
	case paneNeeds:
		return m.openProof(id)
	case panePlan:
		return m.read("plan", func(ctx context.Context) ([]Line, error) { return m.source.Plan(ctx, m.width) })
	case paneTalk:
		return m.read(id, func(ctx context.Context) ([]Line, error) { return m.source.Messages(ctx, id) })
	case paneCost:
		return m.read("cost", func(ctx context.Context) ([]Line, error) { return m.source.Cost(ctx, m.width) })
	case panes:
	}
	return nil
}

// read reloads the body of the pane. It keeps the scroll position if the subject is the same.
func (m *Model) read(of string, lines func(context.Context) ([]Line, error)) tea.Cmd {
	body, pane := &m.bodies[m.pane], m.pane
	if body.of != of {
		*body = text{of: of, follow: pane == paneTalk}
	}
	if of == "" {
		return nil
	}
	return func() tea.Msg {
		read, err := lines(m.ctx)
		if err != nil {
			return doneMsg{err: err}
		}
		return linesMsg{pane, of, read}
	}
}

// watch follows the transcript of a run instead of the previous one.
func (m *Model) watch(id string) {
	if m.watching == id {
		return
	}
	if m.unwatch != nil {
		m.unwatch()
		m.unwatch = nil
	}
	m.watching = id
	m.bodies[paneNow] = text{of: id, follow: true}
	if id == "" {
		return
	}
	ctx, cancel := context.WithCancel(m.ctx)
	m.unwatch = cancel
	m.background(func() {
		defer cancel()
		err := m.source.Watch(ctx, id, func(lines []Line) { m.send(linesMsg{paneNow, id, lines}) })
		if err != nil && ctx.Err() == nil {
			m.send(doneMsg{err: err})
		}
	})
}

// openProof reads the proof of a need. If the need changes later, the next decision fails and the
// proof is read again.
func (m *Model) openProof(id string) tea.Cmd {
	if m.proofOf == id {
		return nil
	}
	m.proofOf, m.proof = id, Proof{}
	m.bodies[paneNeeds] = text{of: id}
	if id == "" {
		return nil
	}
	width := m.frame().body.width
	return func() tea.Msg {
		proof, err := m.source.Proof(m.ctx, id, width)
		if err != nil {
			return doneMsg{err: err}
		}
		return proofMsg{id, proof}
	}
}

func (m *Model) takeProof(msg proofMsg) {
	if msg.of == m.proofOf {
		m.proof, m.bodies[paneNeeds].lines = msg.proof, msg.proof.Lines
	}
}
