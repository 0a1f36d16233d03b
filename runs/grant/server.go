package grant

// The supervisor's half.

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

// Bounds of what an agent may do by its tools.
const (
	CallsPerMinute = 60
	MaxOpen        = 3   // questions of a session that are open at once
	keptAnswers    = 100 // of questions that are over
	maxWaits       = 16  // of one connection
)

// Host is the supervisor, as a Server sees it. Its methods may be called at the same
// time.
type Host interface {
	// Identity is who the run is now. The error is that of a session that is ending.
	Identity() (Identity, error)
	// Mask masks the secrets of the session in a JSON value.
	Mask(value []byte) []byte
	// Ask asks people. The supervisor adds ids, times and time-out, and ends what is
	// open with the session. It calls resolved once, when the interaction is over,
	// also before it returns, with the answers as they were given.
	Ask(r interaction.Request, expires time.Duration, resolved func(interaction.Record)) (interaction.Record, error)
	// StartJob starts the runner of a job that was entered in the workspace, as a
	// process that does not end with the session.
	StartJob(ctx context.Context, jobID string) error
}

// Server answers the verbs of this package for one session. It is safe for
// concurrent use.
type Server struct {
	token string
	host  Host
	now   func() time.Time

	mu    sync.Mutex
	calls []time.Time // of the last minute
	open  int         // questions, those that are being asked included
	asked []*asked    // the oldest first
}

// asked is a question of this session. Its record belongs to the Server's lock.
type asked struct {
	record interaction.Record
	over   chan struct{} // closed when it is
}

// NewServer makes the server of a session. now is the supervisor's clock.
func NewServer(token string, host Host, now func() time.Time) *Server {
	return &Server{token: token, host: host, now: now}
}

// Conn is one connection of the supervisor's socket.
type Conn struct {
	server  *Server
	ctx     context.Context //nolint:containedctx // ends with the connection
	cancel  context.CancelFunc
	waiting sync.WaitGroup

	mu      sync.Mutex
	granted bool
	waits   int
}

// Conn makes the state of a new connection. Close ends it.
func (s *Server) Conn(ctx context.Context) *Conn {
	c := &Conn{server: s}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// Close ends the connection, once no Handle runs any more. When it returns, no again
// of Handle is called any more.
func (c *Conn) Close() {
	c.cancel()
	c.waiting.Wait()
}

// Handle carries out a verb; known is false for verbs of others. For an ask whose
// result is open it calls again once, with the outcome, unless the connection is
// closed before.
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

// into decodes the params of a verb.
func into(params json.RawMessage, target any) error {
	if err := json.Unmarshal(params, target); err != nil {
		return fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	return nil
}

// grant lets a connection in that has the token.
func (c *Conn) grant(params json.RawMessage) (Identity, error) {
	var p struct {
		Token string `json:"token"`
	}
	if err := into(params, &p); err != nil {
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

// call counts a tool call and returns what it is carried out with.
func (c *Conn) call(params json.RawMessage) (Call, error) {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := into(params, &p); err != nil {
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

// admit counts a call, if it is not one too many in a minute.
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
	if err := into(params, &p); err != nil {
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

// ask asks people, or looks for what was asked before, and has the outcome of what
// is open told again.
func (c *Conn) ask(params json.RawMessage, again func(interaction.Record)) (interaction.Record, error) {
	var p Ask
	err := into(c.server.host.Mask(params), &p) // who speaks to the socket itself masked nothing
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

// wait has the outcome of a question told once.
func (c *Conn) wait(q *asked, again func(interaction.Record)) {
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

func (s *Server) recordOf(q *asked) interaction.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return q.record
}

// find is the question of an ask: one that was asked before, or a new one.
func (s *Server) find(p Ask) (*asked, error) {
	if p.InteractionID == "" {
		return s.ask(p.Question)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.asked, func(q *asked) bool { return q.record.InteractionID == p.InteractionID })
	if i < 0 {
		return nil, fault.New(fault.InteractionNotFound, "this session asked no %s", p.InteractionID)
	}
	return s.asked[i], nil
}

// ask asks people something new.
func (s *Server) ask(question Question) (*asked, error) {
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
	q := &asked{over: make(chan struct{})}
	record, err := s.host.Ask(question.Request(), time.Duration(question.ExpiresMS)*time.Millisecond, func(r interaction.Record) { s.resolved(q, r) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.open--
		return nil, err
	}
	if q.record.InteractionID == "" { // else it is over already
		q.record = record
	}
	s.asked = append(s.asked, q)
	if len(s.asked) > keptAnswers {
		// Of so many the oldest is over: few are open at once.
		i := slices.IndexFunc(s.asked, func(q *asked) bool { return q.record.State != interaction.Open })
		s.asked = slices.Delete(s.asked, i, i+1)
	}
	return q, nil
}

// resolved takes the outcome of a question.
func (s *Server) resolved(q *asked, r interaction.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	q.record = r
	close(q.over)
}
