package comma

// Fixtures of the tests: a company with a repository and agents, a listener, and clients that
// check every message against its closed schema.

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"testing"

	"ac/dialect/dialecttest"

	"github.com/coder/websocket"

	"ac/dialect"
)

type object = map[string]any

// stage is a company with a listener.
type stage struct {
	*dialecttest.Stage
	url    string
	server *server
}

// newStage creates a company with two agents and starts a listener. Speaker is a conversational
// agent, Printer a command.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{Stage: dialecttest.New(t, dialecttest.Agent{Name: "Speaker", Provider: "acp_own", Program: "speaker"}, dialecttest.Agent{Name: "Printer", Provider: "cmd", Program: "printer"})}
	s.open(change...)
	return s
}

// open starts a listener for the company.
func (s *stage) open(change ...func(*Options)) {
	s.T.Helper()
	o := Options{ListenOptions: dialect.ListenOptions{Dialect: Name, Address: "127.0.0.1:0", MaxHeader: maxHeader, Patience: pongWithin}, Level: "run-commands", Isolation: "none"}
	for _, fn := range change {
		fn(&o)
	}
	s.Serve(func(c *dialect.Company) func(context.Context) error {
		socket := dialecttest.Must(dialect.Listen(s.T.Context(), o.ListenOptions, c.Log))
		s.server = newServer(c, o, socket)
		s.url = "ws://" + socket.Addr() + "/ws"
		return s.server.serve
	})
}

// strategy writes a strategy into the workspace and returns its path.
func (s *stage) strategy(name string, doc object) string {
	s.T.Helper()
	path := filepath.Join(s.Dir, "strategies", name)
	dialecttest.Write(s.T, path, string(dialecttest.Must(json.Marshal(doc))))
	return path
}

// flowOf returns a strategy with agents and a flow.
func flowOf(agents object, flow object) object {
	return object{"name": "One", "version": "1", "agents": agents, "flow": flow}
}

// one writes a strategy of one call, and returns its path.
func (s *stage) one() string {
	return s.strategy("one.json", flowOf(object{"speaker": object{"tools": []string{"write_file", "run_command"}}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "speaker"}}}))
}

// client is a connection to the listener.
type client struct{ *dialecttest.Client[message] }

// message is any message that the listener sends.
type message struct {
	Type      string          `json:"type"`
	RunID     string          `json:"runId"`
	RequestID *string         `json:"requestId"`
	AgentName string          `json:"agentName"`
	StepName  string          `json:"stepName"`
	Message   string          `json:"-"`
	Code      string          `json:"code"`
	Text      string          `json:"text"`
	Event     json.RawMessage `json:"event"`
	raw       string
}

func (m message) is(kind, run string) bool { return m.Type == kind && m.RunID == run }

func (s *stage) dial() *client { return dial(s.T, s.url) }

// handshake is the server's answer to an upgrade request.
type handshake struct {
	status int
	header http.Header
}

// upgrade opens a WebSocket connection.
func upgrade(t *testing.T, url string, o *websocket.DialOptions) (conn *websocket.Conn, got handshake, err error) {
	t.Helper()
	conn, answer, err := websocket.Dial(t.Context(), url, o)
	if answer != nil {
		got = handshake{answer.StatusCode, answer.Header}
		if answer.Body != nil {
			_ = answer.Body.Close()
		}
	}
	return conn, got, err
}

func dial(t *testing.T, url string) *client {
	t.Helper()
	return &client{dialecttest.Dial(t, url, &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover}, func(text []byte) message {
		m := message{raw: string(text)}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Errorf("no JSON: %s", text)
		}
		for _, why := range schemaFaults(text) {
			t.Errorf("%s in %s", why, text)
		}
		return m
	})}
}

// send sends a message of a type. Its requestId is the type.
func (c *client) send(kind string, members object) {
	c.T.Helper()
	all := object{"type": kind, "requestId": kind}
	for name, value := range members {
		all[name] = value
	}
	c.Send(string(dialecttest.Must(json.Marshal(all))))
}

// ask sends a message and returns the answer.
func (c *client) ask(kind string, members object) message {
	c.T.Helper()
	c.send(kind, members)
	return c.Await("the answer to "+kind, func(m message) bool { return m.RequestID != nil && *m.RequestID == kind })
}

// refused is ask for a message that must be refused. It returns the error.
func (c *client) refused(kind string, members object) (code, text string) {
	c.T.Helper()
	c.send(kind, members)
	m := c.Await("a refusal of "+kind, func(m message) bool { return m.Type == "error" && m.RequestID != nil && *m.RequestID == kind })
	var body errorBody
	if err := json.Unmarshal([]byte(m.raw), &body); err != nil {
		c.T.Fatalf("%s %v: %s", kind, members, m.raw)
	}
	return body.Code, body.Message
}

// prepare prepares a run, which must succeed, and returns the answer.
func (c *client) prepare(run, path string, more object) message {
	c.T.Helper()
	all := object{"runId": run, "strategyPath": path}
	for name, value := range more {
		all[name] = value
	}
	m := c.ask("prepare_run", all)
	if m.Type != "run_prepared" {
		c.T.Fatalf("%s", m.raw)
	}
	return m
}

// until reads the messages of a run up to one of a type, and returns them in order.
func (c *client) until(run, kind string) (list []message) {
	c.T.Helper()
	for {
		m := c.Next(kind + " of " + run)
		if m.RunID != run {
			continue
		}
		if list = append(list, m); m.Type == kind {
			return list
		}
	}
}
