package demo

// The server from a client's point of view: a child process and a connection
// over its stdin and stdout.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/sourcegraph/jsonrpc2"
)

// params are the params of a call, as a client in any language would send them.
type params map[string]any

type server struct {
	cmd   *exec.Cmd
	conn  *jsonrpc2.Conn
	stdin io.WriteCloser
	dead  bool
}

// duplex joins the two pipes of a child.
type duplex struct {
	io.Reader
	io.WriteCloser
}

// spawn starts a server and subscribes to the company's events. With since it resumes after the
// last events seen, otherwise it receives new ones.
func (s *stage) spawn(ctx context.Context, since map[string]int64) (*server, error) {
	cmd := exec.Command(s.opts.Executable, "server:start") //nolint:noctx // it ends with its input, or by the simulated crash
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stream := jsonrpc2.NewPlainObjectStream(duplex{stdout, stdin})
	sv := &server{cmd: cmd, stdin: stdin, conn: jsonrpc2.NewConn(ctx, stream, s.board)}
	subscribe := params{"workspace_dir": s.dir}
	if since != nil {
		subscribe["since"] = since
	}
	if err := sv.call(ctx, "events.subscribe", subscribe, nil); err != nil {
		return nil, errors.Join(err, sv.kill())
	}
	return sv, nil
}

func (sv *server) call(ctx context.Context, method string, p params, result any) error {
	if err := sv.conn.Call(ctx, method, p, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// kill simulates a crash of the server.
func (sv *server) kill() error {
	if sv.dead {
		return nil
	}
	sv.dead = true
	err := sv.cmd.Process.Kill()
	<-sv.conn.DisconnectNotify()
	_ = sv.cmd.Wait() // it reports the kill
	return err
}

// end closes the server's stdin and waits for the server to exit.
func (sv *server) end() error {
	sv.dead = true
	err := sv.stdin.Close()
	<-sv.conn.DisconnectNotify()
	return errors.Join(err, sv.cmd.Wait())
}

// notification is an event notification.
type notification struct {
	Seq   int64 `json:"seq"`
	Event struct {
		RunID   string          `json:"run_id"`
		Type    string          `json:"type"`
		Payload json.RawMessage `json:"payload"`
	} `json:"event"`
}

// Handle receives notifications. The server sends no other requests.
func (b *board) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var n notification
	if r.Method != "events.notification" || r.Params == nil || json.Unmarshal(*r.Params, &n) != nil {
		return
	}
	b.saw(n)
}
