package autonoma

// Fixtures of the tests: a company with a repository and a worker, a daemon, and clients.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ac/dialect/dialecttest"

	"ac/dialect"
)

// stage is a company with a daemon.
type stage struct {
	*dialecttest.Stage
	agent  string
	url    string
	server *server
}

// newStage creates a company with one worker, called Coder, and starts a daemon for it.
func newStage(t *testing.T, change ...func(*Options)) *stage {
	t.Helper()
	s := &stage{Stage: dialecttest.New(t, dialecttest.Agent{Name: "Coder", Provider: "cmd", Program: "answerer"})}
	s.agent = s.Agents["Coder"]
	s.open(change...)
	return s
}

// open starts a daemon for the company.
func (s *stage) open(change ...func(*Options)) {
	s.T.Helper()
	o := Options{ListenOptions: dialect.ListenOptions{Dialect: Name, Address: "127.0.0.1:0"}, AnswerWithin: DefaultAnswerWithin}
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

// client is a connection to the daemon.
type client struct{ *dialecttest.Client[frame] }

// frame is any frame that the daemon sends.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *string         `json:"error"`
	LogID  string          `json:"conversation_log_id"`
	Type   string          `json:"type"`
	Data   json.RawMessage `json:"data"`
	raw    string
}

func (s *stage) dial() *client { return dial(s.T, s.url) }

func dial(t *testing.T, url string) *client {
	t.Helper()
	return &client{dialecttest.Dial(t, url, nil, func(text []byte) frame {
		f := frame{raw: string(text)}
		if err := json.Unmarshal(text, &f); err != nil {
			f.raw = "no JSON: " + f.raw
		}
		return f
	})}
}

// answer waits for the answer to a request.
func (c *client) answer(id string) frame {
	c.T.Helper()
	return c.Await("answer of "+id, func(f frame) bool { return string(f.ID) == id })
}

// ask sends a request and returns the frame that answers it.
func (c *client) ask(method string, params any) frame {
	c.T.Helper()
	id := fmt.Sprintf(`"req_%s_%d"`, method, time.Now().UnixNano())
	c.Send(fmt.Sprintf(`{"id":%s,"method":%q,"params":%s}`, id, method, dialecttest.Must(json.Marshal(params))))
	return c.answer(id)
}

// do is ask for a request that must succeed. A non-nil into receives the decoded result.
func (c *client) do(method string, params, into any) frame {
	c.T.Helper()
	f := c.ask(method, params)
	if f.Error != nil {
		c.T.Fatalf("%s: %s", method, *f.Error)
	}
	if into != nil {
		if err := json.NewDecoder(bytes.NewReader(f.Result)).Decode(into); err != nil {
			c.T.Fatalf("%s: %v in %s", method, err, f.raw)
		}
	}
	return f
}

// explained repeats code.explain until its answer is no longer deferred, as clients do.
func (c *client) explained(params any) (text string) {
	c.T.Helper()
	f := c.ask("code.explain", params)
	for f.Error != nil && strings.HasPrefix(*f.Error, "still working: ") {
		f = c.ask("code.explain", params)
	}
	if f.Error != nil || json.Unmarshal(f.Result, &text) != nil {
		c.T.Fatalf("code.explain: %s", f.raw)
	}
	return text
}

// refused is ask for a request that must fail. It returns the error.
func (c *client) refused(method string, params any) string {
	c.T.Helper()
	f := c.ask(method, params)
	if f.Error == nil || f.Result != nil {
		c.T.Fatalf("%s %v: %s", method, params, f.raw)
	}
	return *f.Error
}

type object = map[string]any

// over polls until an execution has ended.
func (c *client) over(id string) executionResult {
	c.T.Helper()
	for deadline := time.Now().Add(dialecttest.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var r executionResult
		c.do("execution.status", object{"executionId": id}, &r)
		if r.Status == "success" || r.Status == "failure" {
			return r
		}
	}
	c.T.Fatalf("%s is never over", id)
	return executionResult{}
}
