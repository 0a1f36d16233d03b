package comma

// The state of a listener, which may be lost: prepared runs that were not started, the request that
// started each round, the runs that the listener started, and partial answers to questions.

import (
	"slices"
	"sync"
	"time"

	"ac/internal/shape"
	"ac/workspace/doc"
)

const (
	maxPrepared  = 1000
	preparedHold = 10 * time.Minute // after its client disconnected
)

// prepared is a run that waits to be started or continued.
type prepared struct {
	run      string
	again    bool // a finished run is to be continued
	template shape.Value
	shown    strategyView
	notices  []string
	source   string
	place    *doc.JobPlace
	moves    bool // place differs from that of the earlier rounds
	at       time.Time
	said     []string // texts for its first call

	owner *connection
	since time.Time // when its client disconnected, zero while it is connected
}

// roundOf identifies a round of a run.
type roundOf struct {
	run   string
	round int
}

// memory is the state of a listener. It is safe for concurrent use.
type memory struct {
	mu       sync.Mutex
	prepared map[string]*prepared
	requests map[roundOf]*string // requestId of the request that started a round
	started  []string
	answers  map[string]map[string][]string // by interaction and question, for interactions with several questions
}

func newMemory() *memory {
	return &memory{prepared: map[string]*prepared{}, requests: map[roundOf]*string{}, answers: map[string]map[string][]string{}}
}

// sweep drops expired prepared runs. The caller holds m.mu.
func (m *memory) sweep(now time.Time) {
	for run, p := range m.prepared {
		if !p.since.IsZero() && now.Sub(p.since) > preparedHold {
			delete(m.prepared, run)
		}
	}
}

// keep stores a prepared run. It refuses a run that is prepared already, unless that run's client
// has disconnected. Then it replaces the run and keeps its texts.
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

// find returns a prepared run, nil if there is none.
func (m *memory) find(run string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.prepared[run]
}

// fresh returns a prepared run whose client is still connected, nil if there is none.
func (m *memory) fresh(run string) *prepared {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.prepared[run]; p != nil && p.since.IsZero() {
		return p
	}
	return nil
}

// take removes and returns a prepared run, nil if there is none. So a run starts only once.
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

// say stores a text for the first call of a prepared run. ok is false if there is no such run or it
// has too many texts.
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

// maxSaidBefore limits the texts to a run that has not started.
const maxSaidBefore = 100

// preparedRuns returns the prepared runs, newest first.
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

// gone records that a client disconnected.
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

// ask records which request starts a round.
func (m *memory) ask(run string, round int, id *string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[roundOf{run, round}] = id
}

// asked returns the request that started a round, nil if unknown.
func (m *memory) asked(run string, round int) *string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[roundOf{run, round}]
}

// begun records a run that this listener started.
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

// part records the answer to one of several questions, and returns all answers so far.
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

// answered returns how many questions of an interaction have an answer.
func (m *memory) answered(interaction string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.answers[interaction])
}

// forget drops the answers to an interaction.
func (m *memory) forget(interaction string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.answers, interaction)
}
