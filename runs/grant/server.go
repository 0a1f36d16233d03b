package grant

// The server side, used by the supervisor.

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"ac/internal/fault"
	"ac/runs/interaction"
)

// Limits on an agent's use of ac's tools.
const (
	CallsPerMinute = 60
	MaxOpen        = 3   // questions of a session that are open at once
	keptAnswers    = 100 // retained questions, most of them answered
	maxWaits       = 16  // pending answers of one connection
)

// Host is the part of the supervisor that a Server needs. Its methods must be safe for
// concurrent use.
type Host interface {
	// Identity returns the run's current identity. It fails if the session is ending.
	Identity() (Identity, error)
	// Mask masks the secrets of the session in a JSON value.
	Mask(value []byte) []byte
	// Ask asks people. The supervisor sets ids, times and the timeout, and closes open questions
	// at the end of the session. It calls resolved exactly once, with the unmasked answers, when
	// the interaction is resolved. That may happen before Ask returns.
	Ask(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (interaction.Record, error)
	// StartJob starts the runner of a job that is already in the workspace. The runner's process
	// outlives the session.
	StartJob(ctx context.Context, jobID string) error
}

// Server answers the verbs of this package for one session. It is safe for
// concurrent use.
type Server struct {
	token string
	host  Host
	now   func() time.Time

	mu        sync.Mutex
	calls     []time.Time      // of the last minute
	open      int              // questions that are open or being asked
	questions []*questionState // the oldest first
}

// questionState is a question of this session. The owner's lock guards its record.
type questionState struct {
	record interaction.Record
	over   chan struct{} // closed when the question is resolved
}

// NewServer returns the server of a session. now is the supervisor's clock.
func NewServer(token string, host Host, now func() time.Time) *Server {
	return &Server{token: token, host: host, now: now}
}

// Conn is the state of one connection to the supervisor's socket.
type Conn struct {
	server  *Server
	ctx     context.Context //nolint:containedctx // ends with the connection
	cancel  context.CancelFunc
	waiting sync.WaitGroup

	mu      sync.Mutex
	granted bool
	waits   int
}

// Conn returns the state of a new connection. The caller must call Close.
func (s *Server) Conn(ctx context.Context) *Conn {
	c := &Conn{server: s}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Close ends the connection. The caller must first wait for all calls of Handle. After Close
// returns, no again callback runs.
func (c *Conn) Close() {
	c.cancel()
	c.waiting.Wait()
}

// Handle executes a verb. known is false for a verb of another package. If the result of an ask
// is still open, Handle calls again once with the outcome, unless the connection closes before.
func (c *Conn) Handle(verb string, params json.RawMessage, again func(interaction.Record)) (result any, known bool, err error) {
	if verb != VerbGrant && verb != VerbCall && verb != VerbAsk && verb != VerbStartJob {
		return nil, false, nil
	}
	if verb == VerbGrant {
		result, err = c.grant(params)
		return result, true, err
	}
	if !c.isGranted() {
		return nil, true, fault.New(fault.Denied, "the connection has no grant")
	}
	switch verb {
	case VerbCall:
		result, err = c.call(params)
	case VerbAsk:
		result, err = c.ask(params, again)
	default:
		result, err = struct{}{}, c.startJob(params)
	}
	return result, true, err
}

func (c *Conn) isGranted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granted
}

// decodeParams decodes the parameters of a verb.
func decodeParams(params json.RawMessage, target any) error {
	if err := json.Unmarshal(params, target); err != nil {
		return fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	return nil
}

// grant authorizes a connection that presents the right token.
func (c *Conn) grant(params json.RawMessage) (Identity, error) {
	var p struct {
		Token string `json:"token"`
	}
	if err := decodeParams(params, &p); err != nil {
		return Identity{}, err
	}
	if subtle.ConstantTimeCompare([]byte(p.Token), []byte(c.server.token)) != 1 {
		return Identity{}, fault.New(fault.Denied, "the grant is not for this session")
	}
	who, err := c.server.host.Identity()
	if err == nil {
		c.mu.Lock()
		c.granted = true
		c.mu.Unlock()
	}
	return who, err
}

// call admits a tool call and returns its identity and masked arguments.
func (c *Conn) call(params json.RawMessage) (Call, error) {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := decodeParams(params, &p); err != nil {
		return Call{}, err
	}
	who, err := c.server.host.Identity()
	if err != nil {
		return Call{}, err
	}
	if !c.server.admit() {
		return Call{}, fault.New(fault.RateLimited, "at most %d calls a minute are served; try again later", CallsPerMinute)
	}
	return Call{Identity: who, Arguments: c.server.host.Mask(p.Arguments)}, nil
}

// admit counts a call and reports whether it is within the limit per minute.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.calls = slices.DeleteFunc(s.calls, func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(s.calls) >= CallsPerMinute {
		return false
	}
	s.calls = append(s.calls, now)
	return true
}

func (c *Conn) startJob(params json.RawMessage) error {
	var p struct {
		JobID string `json:"job_id"`
	}
	if err := decodeParams(params, &p); err != nil {
		return err
	}
	who, err := c.server.host.Identity()
	if err == nil && !who.LaunchJobs {
		err = fault.New(fault.Denied, "this session may not launch jobs")
	}
	if err != nil {
		return err
	}
	return c.server.host.StartJob(c.ctx, p.JobID)
}

// ask asks people a new question, or finds an earlier one. If the question is open, ask arranges
// for again to receive the outcome.
func (c *Conn) ask(params json.RawMessage, again func(interaction.Record)) (interaction.Record, error) {
	var p Ask
	err := decodeParams(c.server.host.Mask(params), &p) // a foreign client masks nothing
	if err == nil && p.InteractionID == "" {
		err = p.check()
	}
	if err != nil {
		return interaction.Record{}, err
	}
	c.mu.Lock()
	full := c.waits >= maxWaits
	c.mu.Unlock()
	if full {
		return interaction.Record{}, fault.New(fault.TooManyOpen, "%d answers are waited for on this connection", maxWaits)
	}
	question, err := c.server.find(p)
	if err != nil {
		return interaction.Record{}, err
	}
	record := c.server.recordOf(question)
	if record.State == interaction.Open {
		c.wait(question, again)
	}
	return record, nil
}

// wait calls again with the outcome of a question, once, unless the connection closes before.
func (c *Conn) wait(q *questionState, again func(interaction.Record)) {
	c.mu.Lock()
	c.waits++
	c.mu.Unlock()
	c.waiting.Go(func() {
		select {
		case <-q.over:
			again(c.server.recordOf(q))
		case <-c.ctx.Done():
		}
		c.mu.Lock()
		c.waits--
		c.mu.Unlock()
	})
}

func (s *Server) recordOf(q *questionState) interaction.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.record
}

// find returns the question of an ask: an earlier one, or a new one.
func (s *Server) find(p Ask) (*questionState, error) {
	if p.InteractionID == "" {
		return s.ask(p.Question)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.questions, func(q *questionState) bool { return q.record.InteractionID == p.InteractionID })
	if i < 0 {
		return nil, fault.New(fault.InteractionNotFound, "this session asked no %s", p.InteractionID)
	}
	return s.questions[i], nil
}

// ask asks people a new question.
func (s *Server) ask(question Question) (*questionState, error) {
	who, err := s.host.Identity()
	if err != nil {
		return nil, err
	}
	if !who.Interactive {
		return nil, fault.New(fault.NotInteractive, "nobody can be asked in this session")
	}
	s.mu.Lock()
	if s.open >= MaxOpen {
		s.mu.Unlock()
		return nil, fault.New(fault.TooManyOpen, "%d questions are open already: wait for an answer first", MaxOpen)
	}
	s.open++
	s.mu.Unlock()
	q := &questionState{over: make(chan struct{})}
	record, err := s.host.Ask(question.Request(), time.Duration(question.ExpiresMS)*time.Millisecond, func(r interaction.Record) { s.resolved(q, r) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.open--
		return nil, err
	}
	if q.record.InteractionID == "" { // otherwise resolved has already set it
		q.record = record
	}
	s.questions = append(s.questions, q)
	if len(s.questions) > keptAnswers {
		// At most MaxOpen are open, so a resolved one exists. Drop the oldest.
		i := slices.IndexFunc(s.questions, func(q *questionState) bool { return q.record.State != interaction.Open })
		s.questions = slices.Delete(s.questions, i, i+1)
	}
	return q, nil
}

// resolved records the outcome of a question and wakes those who wait for it.
func (s *Server) resolved(q *questionState, r interaction.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	q.record = r
	close(q.over)
}
