package grant

// The half of `ac mcp:serve`.

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

// Client is a connection to the supervisor of a session, under its grant. It is
// safe for concurrent use.
type Client struct {
	conn net.Conn
	who  Identity
	gone chan struct{} // closed when the supervisor is not to be reached any more
	read sync.WaitGroup

	writing sync.Mutex
	mu      sync.Mutex
	last    int
	waiting map[int]*exchange
	asked   map[string]*asked // by interaction
}

// exchange is a request that waits for its answer. Of an ask another may follow.
type exchange struct {
	first chan reply // of one
	asked *asked     // nil for all others
	begun bool       // the first answer came
}

// reply is an answer of the supervisor.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Error  string          `json:"error"`
	Reason string          `json:"reason"`
	Result json.RawMessage `json:"result"`
}

// request is a line to the supervisor.
type request struct {
	Version int    `json:"version"`
	Verb    string `json:"verb"`
	ID      int    `json:"id"`
	Params  any    `json:"params"`
}

// socketVersion is the version of the socket's protocol that has these verbs.
const socketVersion = 2

// maxReply bounds an answer of the supervisor.
const maxReply = 8 << 20

// Open presents a grant to the supervisor that it is of. The error is fault.Denied
// for a file that is no grant, a token that is wrong, and a session that is over.
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
	c := &Client{conn: conn, gone: make(chan struct{}), waiting: map[int]*exchange{}, asked: map[string]*asked{}}
	c.read.Go(c.listen)
	if err := c.do(ctx, VerbGrant, struct {
		Token string `json:"token"`
	}{f.Token}, nil, &c.who); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Identity is who the run was when the connection was made.
func (c *Client) Identity() Identity { return c.who }

// Gone is closed when the session, or the connection to it, is over.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// Close ends the connection.
func (c *Client) Close() error {
	err := c.conn.Close()
	c.read.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Call admits a tool call and returns what it is to be carried out with. The error
// is fault.RateLimited for one too many.
func (c *Client) Call(ctx context.Context, arguments json.RawMessage) (call Call, err error) {
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = json.RawMessage("{}")
	}
	err = c.do(ctx, VerbCall, struct {
		Arguments json.RawMessage `json:"arguments"`
	}{arguments}, nil, &call)
	return call, err
}

// StartJob starts the runner of a job.
func (c *Client) StartJob(ctx context.Context, jobID string) error {
	return c.do(ctx, VerbStartJob, struct {
		JobID string `json:"job_id"`
	}{jobID}, nil, &struct{}{})
}

// Ask asks people, or takes up what was asked before.
func (c *Client) Ask(ctx context.Context, p Ask) (record interaction.Record, err error) {
	if known := c.known(p.InteractionID); known != nil {
		return c.recordOf(known), nil
	}
	q := &asked{over: make(chan struct{})}
	if err := c.do(ctx, VerbAsk, p, q, &record); err != nil {
		return record, err
	}
	return record, nil
}

// Await waits for the outcome of what was asked by Ask, and returns how it is when
// it is over, the context ends, or the session does.
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

func (c *Client) known(id string) *asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[id]
}

func (c *Client) recordOf(q *asked) interaction.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return q.record
}

// do sends a request and decodes its first answer. Of an ask q is kept.
func (c *Client) do(ctx context.Context, verb string, params any, q *asked, into any) error {
	x := &exchange{first: make(chan reply, 1), asked: q}
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
		return context.Cause(ctx)
	}
	select {
	case r := <-x.first: // it came before the end
		return r.decode(into)
	default:
		return fault.New(fault.Denied, "the session is over")
	}
}

// decode reads the result, or returns what was told instead of one.
func (r reply) decode(into any) error {
	if r.Error != "" {
		return refusal(r)
	}
	return json.Unmarshal(r.Result, into)
}

// refusal is the error that an answer tells.
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

// listen reads the supervisor's answers until there are no more.
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
			c.take(id, r)
		}
	}
}

// take hands an answer to who waits for it.
func (c *Client) take(id int, r reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.waiting[id]
	if x == nil {
		return
	}
	if q := x.asked; q == nil || r.Error != "" || json.Unmarshal(r.Result, &q.record) != nil || q.record.State != interaction.Open {
		delete(c.waiting, id)
		if q != nil {
			close(q.over)
		}
	}
	if x.asked != nil && r.Error == "" {
		if len(c.asked) >= keptAnswers { // the supervisor has those as well
			maps.DeleteFunc(c.asked, func(_ string, q *asked) bool { return q.record.State != interaction.Open })
		}
		c.asked[x.asked.record.InteractionID] = x.asked
	}
	if !x.begun {
		x.begun = true
		x.first <- r
	}
}
