package grant

// The client side, used by `ac mcp:serve`.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"path/filepath"
	"strconv"
	"sync"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/interaction"
)

// Client is a connection to a session's supervisor, authorized by a grant. It is safe for
// concurrent use.
type Client struct {
	conn net.Conn
	who  Identity
	gone chan struct{} // closed when the supervisor becomes unreachable
	read sync.WaitGroup

	writing   sync.Mutex
	mu        sync.Mutex
	last      int
	waiting   map[int]*exchange
	questions map[string]*questionState // by interaction id
}

// exchange is a pending request. An ask may receive a second answer, with the outcome.
type exchange struct {
	first    chan reply     // buffers the first answer
	question *questionState // nil for all verbs but ask
	begun    bool           // the first answer arrived
}

// reply is an answer from the supervisor.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Error  string          `json:"error"`
	Reason string          `json:"reason"`
	Result json.RawMessage `json:"result"`
}

// request is a line sent to the supervisor.
type request struct {
	Version int    `json:"version"`
	Verb    string `json:"verb"`
	ID      int    `json:"id"`
	Params  any    `json:"params"`
}

// socketVersion is the protocol version of the socket that introduced these verbs.
const socketVersion = 2

// maxReply bounds a line from the supervisor, in bytes.
const maxReply = 8 << 20

// Open connects to the supervisor of a grant and presents its token. name is the grant file. The
// error is fault.Denied for an invalid grant file, a wrong token, or a session that has ended.
func Open(ctx context.Context, name string) (*Client, error) {
	dir, f, err := read(name)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, f.Socket+".sock"))
	if err != nil {
		return nil, fault.New(fault.Denied, "the session of the grant is over: %w", err)
	}
	c := &Client{conn: conn, gone: make(chan struct{}), waiting: map[int]*exchange{}, questions: map[string]*questionState{}}
	c.read.Go(c.listen)
	if err := c.do(ctx, VerbGrant, struct {
		Token string `json:"token"`
	}{f.Token}, nil, &c.who); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Identity returns the run's identity as of the time of Open.
func (c *Client) Identity() Identity { return c.who }

// Gone returns a channel that is closed when the session or the connection ends.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close closes the connection and waits for the reader.
func (c *Client) Close() error {
	err := c.conn.Close()
	c.read.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Call admits a tool call and returns its current identity and masked arguments. The error is
// fault.RateLimited if the call exceeds the rate limit.
func (c *Client) Call(ctx context.Context, arguments json.RawMessage) (call Call, err error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	err = c.do(ctx, VerbCall, struct {
		Arguments json.RawMessage `json:"arguments"`
	}{arguments}, nil, &call)
	return call, err
}

// StartJob starts the runner of a job through the supervisor.
func (c *Client) StartJob(ctx context.Context, jobID string) error {
	return c.do(ctx, VerbStartJob, struct {
		JobID string `json:"job_id"`
	}{jobID}, nil, &struct{}{})
}

// Ask asks people a question, or resumes an earlier one by its id.
func (c *Client) Ask(ctx context.Context, p Ask) (record interaction.Record, err error) {
	if known := c.known(p.InteractionID); known != nil {
		return c.recordOf(known), nil
	}
	q := &questionState{over: make(chan struct{})}
	if err := c.do(ctx, VerbAsk, p, q, &record); err != nil {
		return record, err
	}
	if record.InteractionID == "" {
		return record, fault.New(fault.Unsupported, "the supervisor's answer to a question has no interaction_id")
	}
	return record, nil
}

// Await waits for the outcome of a question that Ask opened. It returns the current record when
// the question is resolved, or when ctx or the session ends.
func (c *Client) Await(ctx context.Context, id string) (interaction.Record, error) {
	q := c.known(id)
	if q == nil {
		return interaction.Record{}, fault.New(fault.InteractionNotFound, "this session asked no %s", id)
	}
	select {
	case <-q.over:
	case <-ctx.Done():
	case <-c.gone:
	}
	return c.recordOf(q), nil
}

func (c *Client) known(id string) *questionState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.questions[id]
}

func (c *Client) recordOf(q *questionState) interaction.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return q.record
}

// do sends a request and decodes its first answer. For an ask, q receives every answer.
func (c *Client) do(ctx context.Context, verb string, params any, q *questionState, into any) error {
	x := &exchange{first: make(chan reply, 1), question: q}
	c.mu.Lock()
	c.last++
	id := c.last
	c.waiting[id] = x
	c.mu.Unlock()
	text, err := json.Marshal(request{socketVersion, verb, id, params})
	if err != nil {
		c.forget(id)
		return err
	}
	c.writing.Lock()
	err = durable.WriteAll(c.conn, append(text, '\n'))
	c.writing.Unlock()
	if err != nil {
		c.forget(id)
		return fault.New(fault.Denied, "the session is over: %w", err)
	}
	select {
	case r := <-x.first:
		return r.decode(into)
	case <-c.gone:
	case <-ctx.Done():
		if q == nil { // the answer to an ask still tells the id and the outcome of the question
			c.forget(id)
		}
		return context.Cause(ctx)
	}
	select {
	case r := <-x.first: // it arrived before the connection ended
		return r.decode(into)
	default:
		return fault.New(fault.Denied, "the session is over")
	}
}

// decode decodes the result, or returns the error that the supervisor sent instead.
func (r reply) decode(into any) error {
	if r.Error != "" {
		return refusal(r)
	}
	return json.Unmarshal(r.Result, into)
}

// refusal converts the error in an answer to a fault.
func refusal(r reply) error {
	if r.Reason == "" {
		return fault.New(fault.Unsupported, "the supervisor is of an older ac: %s", r.Error)
	}
	return fault.New(fault.Reason(r.Reason), "%s", r.Error)
}

func (c *Client) forget(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// listen reads the supervisor's answers until the connection ends.
func (c *Client) listen() {
	defer close(c.gone)
	lines := bufio.NewScanner(c.conn)
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		var r reply
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			return
		}
		if id, err := strconv.Atoi(string(r.ID)); err == nil {
			c.deliver(id, r)
		}
	}
}

// learn records an answer to an ask. It reports whether the question is open, so that a further
// answer follows. After an answer that is no record of a question, the next ask goes to the
// supervisor again. The caller holds c.mu.
func (c *Client) learn(q *questionState, r reply) (open bool) {
	var record interaction.Record
	if r.Error != "" || json.Unmarshal(r.Result, &record) != nil || record.InteractionID == "" {
		if id := q.record.InteractionID; c.questions[id] == q {
			delete(c.questions, id)
		}
		return false
	}
	q.record = record
	if len(c.questions) >= keptAnswers { // the supervisor has the dropped ones as well
		maps.DeleteFunc(c.questions, func(_ string, q *questionState) bool { return q.record.State != interaction.Open })
	}
	c.questions[record.InteractionID] = q
	return record.State == interaction.Open
}

// deliver delivers an answer to the request that waits for it.
func (c *Client) deliver(id int, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.waiting[id]
	if x == nil {
		return
	}
	if q := x.question; q == nil {
		delete(c.waiting, id)
	} else if !c.learn(q, r) {
		delete(c.waiting, id)
		close(q.over)
	}
	if !x.begun {
		x.begun = true
		x.first <- r
	}
}
