package comma

// The memory of a listener, which may be lost: prepared runs that were not started, the request
// that started a round, the runs that the listener started, partial answers to questions.

import (
	"slices"
	"sync"
	"time"

	"ac/internal/shape"
	"ac/workspace/doc"
)

const (
	maxPrepared  = 1000
	preparedHold = 10 * time.Minute // after its client has gone
)

// prepared is a run that waits to be started, or to go on.
type prepared struct {
	run      string
	again    bool // a run that is over is to go on
	template shape.Value
	shown    shown
	notices  []string
	source   string
	place    *doc.JobPlace
	moves    bool // place is not that of the rounds before
	at       time.Time
	said     []string // to its first call

	owner *connection
	since time.Time // when its client went, zero while it is there
}

// roundOf names a round of a run.
type roundOf struct {
	run   string
	round int
}

// memory is safe for concurrent use.
type memory struct {
	mu       sync.Mutex
	prepared map[string]*prepared
	requests map[roundOf]*string // the requestId of what started a round
	started  []string
	answers  map[string]map[string][]string // by interaction, of several questions
}

func newMemory() *memory {
	return &memory{prepared: map[string]*prepared{}, requests: map[roundOf]*string{}, answers: map[string]map[string][]string{}}
}

// sweep drops prepared runs that have expired. It runs with the memory locked.
func (m *memory) sweep(now time.Time) {
	for run, p := range m.prepared {
		if !p.since.IsZero() && now.Sub(p.since) > preparedHold {
			delete(m.prepared, run)
		}
	}
}

// keep notes a prepared run. One that is prepared already stands, unless its client has
// gone or may do it again.
func (m *memory) keep(p *prepared) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep(p.at)
	if old := m.prepared[p.run]; old != nil {
		if old.since.IsZero() {
			return fail(codePrepare, "Run already exists: %s", p.run)
		}
		p.said = old.said
	} else if len(m.prepared) >= maxPrepared {
		return fail(codePrepare, "Too many prepared runs (%d)", maxPrepared)
	}
	m.prepared[p.run] = p
	return nil
}

// find is a prepared run, nil for none.
func (m *memory) find(run string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.prepared[run]
}

// fresh is a prepared run whose client is still there, or nil.
func (m *memory) fresh(run string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.prepared[run]; p != nil && p.since.IsZero() {
		return p
	}
	return nil
}

// take removes and returns a prepared run, nil for none. So it is started only once.
func (m *memory) take(run string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.prepared[run]
	delete(m.prepared, run)
	return p
}

// putBack undoes take.
func (m *memory) putBack(p *prepared) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prepared[p.run] == nil {
		m.prepared[p.run] = p
	}
}

// say keeps a text for the first call of a prepared run. ok is false where there is none.
func (m *memory) say(run, text string) (ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.prepared[run]
	if p == nil || p.again || len(p.said) >= maxSaidBefore {
		return false
	}
	p.said = append(p.said, text)
	return true
}

// maxSaidBefore limits the texts to a run that is not started.
const maxSaidBefore = 100

// preparedRuns are those that wait, the newest first.
func (m *memory) preparedRuns() []*prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*prepared, 0, len(m.prepared))
	for _, p := range m.prepared {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *prepared) int { return b.at.Compare(a.at) })
	return list
}

// gone notes that a client has gone.
func (m *memory) gone(c *connection, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.prepared {
		if p.owner == c {
			p.since = now
		}
	}
	m.sweep(now)
}

// ask notes which request starts a round.
func (m *memory) ask(run string, round int, id *string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[roundOf{run, round}] = id
}

// asked is the request that started a round, nil for none that is known.
func (m *memory) asked(run string, round int) *string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[roundOf{run, round}]
}

// begun notes a run that this listener started.
func (m *memory) begun(run string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.started, run) {
		m.started = append(m.started, run)
	}
}

func (m *memory) startedRuns() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.started)
}

// part notes the answer to one of several questions, and returns all that there are.
func (m *memory) part(interaction, question string, answers []string) map[string][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers[interaction] == nil {
		m.answers[interaction] = map[string][]string{}
	}
	m.answers[interaction][question] = answers
	all := map[string][]string{}
	for id, given := range m.answers[interaction] {
		all[id] = given
	}
	return all
}

// answered is how many of several questions have an answer.
func (m *memory) answered(interaction string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.answers[interaction])
}

// forget drops the answers to an interaction that is over.
func (m *memory) forget(interaction string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.answers, interaction)
}
