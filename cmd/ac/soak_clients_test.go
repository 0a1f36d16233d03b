//go:build unix

package main

// The clients of the soak test, one per protocol. Each call does one round.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coder/websocket"
)

// soakPeer is the client over stdin and stdout. It is not safe for concurrent use.
type soakPeer struct {
	in  io.WriteCloser
	out *bufio.Reader
	id  int
}

func (s *soak) serveStdio() {
	_, in, out := s.start("server", "server:start")
	s.stdio = &soakPeer{in: in, out: out}
}

// call sends a request and skips what arrives before its response.
func (p *soakPeer) call(method string, params map[string]any, result any) error {
	p.id++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(text, '\n')); err != nil {
		return err
	}
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(line, &answer); err != nil {
			return fmt.Errorf("%s: %w: %.200s", method, err, line)
		}
		switch {
		case answer.ID == nil || *answer.ID != p.id:
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error)
		case result == nil:
			return nil
		default:
			return json.Unmarshal(answer.Result, result)
		}
	}
}

func (s *soak) useStdio(context.Context) error {
	in := map[string]any{"workspace_dir": s.dir, "project_id": s.project}
	var subscription struct {
		ID string `json:"subscription_id"`
	}
	if err := s.stdio.call("events.subscribe", map[string]any{"workspace_dir": s.dir, "project_id": s.project, "backfill_limit": 20}, &subscription); err != nil {
		return err
	}
	for _, method := range []string{"run.list", "ui.snapshot", "monitor.snapshot", "workspace.open", "needs.list", "task.list", "index.stats"} {
		params := in
		if method == "workspace.open" {
			params = map[string]any{"workspace_dir": s.dir}
		}
		if err := s.stdio.call(method, params, nil); err != nil {
			return err
		}
	}
	return s.stdio.call("events.unsubscribe", map[string]any{"subscription_id": subscription.ID}, nil)
}

// fetch sends an HTTP request and returns the status and at most bound bytes of the body. Then it
// closes the connection.
func fetch(ctx context.Context, method, url, body string, bound int64) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0, nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, bound))
	return answer.StatusCode, text, errors.Join(err, answer.Body.Close())
}

func (s *soak) usePage(ctx context.Context) error {
	for _, path := range []string{"/", "/api/health", "/api/rows", "/api/events", "/api/ui/snapshot"} {
		// A stream is closed after its first bytes.
		code, text, err := fetch(ctx, "GET", s.room+path, "", map[bool]int64{true: 16, false: 1 << 24}[path == "/api/rows" || path == "/api/events"])
		if err != nil || code != http.StatusOK || len(text) == 0 {
			return fmt.Errorf("%s: %d %w", path, code, err)
		}
	}
	for _, call := range []string{`{"method":"room.read"}`, `{"method":"needs.list"}`, `{"method":"search.query","params":{"q":"said"}}`, `{"method":"usage.report"}`} {
		if code, text, err := fetch(ctx, "POST", s.room+"/api/call", call, 1<<24); err != nil || code != http.StatusOK {
			return fmt.Errorf("%s: %d %.300s %w", call, code, text, err)
		}
	}
	return nil
}

// socket opens a WebSocket, sends frames, and reads until frames have contained the words, in
// order. It closes the socket without a handshake after odd numbers of stdio rounds.
func (s *soak) socket(ctx context.Context, url string, frames, words []string) error {
	conn, answer, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(64 << 20)
	if err := exchange(ctx, conn, frames, words); err != nil {
		return err
	}
	if s.rounds["stdio"].Load()%2 == 0 {
		return conn.Close(websocket.StatusNormalClosure, "")
	}
	return nil
}

// exchange sends frames and reads until frames have contained the words, in order.
func exchange(ctx context.Context, conn *websocket.Conn, frames, words []string) error {
	for _, frame := range frames {
		if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
			return err
		}
	}
	for _, word := range words {
		for {
			_, text, err := conn.Read(ctx)
			if err != nil {
				return fmt.Errorf("before %s: %w", word, err)
			}
			if bytes.Contains(text, []byte(word)) {
				break
			}
		}
	}
	return nil
}

// soakWork is how many rounds a client makes between two prompts to an agent.
const soakWork = 25

func (s *soak) useAutonoma(ctx context.Context) error {
	frames, last := []string{
		`{"id":1,"method":"agents.list"}`, `{"id":2,"method":"background.list"}`, `{"id":3,"method":"nothing.such"}`, `{"id":4,"method":"workflows.list"}`,
	}, []string{`"id":4`}
	if s.rounds["autonoma"].Load()%soakWork == 0 {
		frames, last = append(frames, `{"id":5,"method":"agents.invoke","params":{"agentType":"Speaker","task":"say it"}}`), []string{`"id":5`, `"execution.complete"`}
	}
	return s.socket(ctx, s.autonoma, frames, last)
}

func (s *soak) useComma(ctx context.Context) error {
	frames, last := []string{
		`{"type":"list_strategies","requestId":"a"}`, `{"type":"list_runs","requestId":"b"}`, `{"type":"nothing","requestId":"c"}`, `{"type":"list_strategies","requestId":"d"}`,
	}, []string{`"requestId":"d"`}
	n := s.rounds["comma"].Load()
	if n%soakWork != 0 {
		return s.socket(ctx, s.comma, frames, last)
	}
	run := fmt.Sprintf("soak-%d", n)
	conn, answer, err := websocket.Dial(ctx, s.comma, nil)
	if err != nil {
		return err
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(64 << 20)
	return errors.Join(
		exchange(ctx, conn, []string{fmt.Sprintf(`{"type":"prepare_run","runId":%q,"strategyPath":%q,"requestId":"p"}`, run, s.strategy)}, []string{`"run_prepared"`}),
		exchange(ctx, conn, []string{fmt.Sprintf(`{"type":"start_run","runId":%q,"input":"say it","requestId":"s"}`, run)}, []string{`"strategy_completed"`}),
	)
}

// useACECode sends a text to a conversation and reads it from the beginning until the text appears.
func (s *soak) useACECode(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == "" || s.texts == soakTexts {
		if err := s.converse(ctx); err != nil {
			return err
		}
	}
	s.texts++
	said := fmt.Sprintf("text-%d-of-the-soak", s.texts)
	if code, text, err := fetch(ctx, "POST", s.ace+"/api/sessions/"+s.session+"/messages", fmt.Sprintf(`{"text":%q}`, said), 1<<20); err != nil || code >= 300 {
		return fmt.Errorf("a message: %d %.300s %w", code, text, err)
	}
	if code, text, err := fetch(ctx, "GET", s.ace+"/api/sessions", "", 1<<24); err != nil || code != http.StatusOK {
		return fmt.Errorf("sessions: %d %.300s %w", code, text, err)
	}
	return s.follow(ctx, s.session, said)
}

// follow reads a conversation from its beginning until a frame contains a word.
func (s *soak) follow(ctx context.Context, id, word string) error {
	return s.socket(ctx, "ws"+strings.TrimPrefix(s.ace, "http")+"/ws/sessions/"+id, []string{
		fmt.Sprintf(`{"type":"hello","payload":{"session_id":%q,"since":0}}`, id),
	}, []string{word})
}

// converse stops the current conversation, if any, and starts another.
func (s *soak) converse(ctx context.Context) error {
	if s.session != "" {
		stop := program(s.t, "session:stop", s.dir, "local_"+s.session)
		if err := stop.Run(); err != nil {
			return err
		}
	}
	code, text, err := fetch(ctx, "POST", s.ace+"/api/sessions", `{"initial_user_message":"hello"}`, 1<<20)
	var made struct {
		ID string `json:"session_id"`
	}
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil || code >= 300 || made.ID == "" {
		return fmt.Errorf("a session: %d %.300s %w", code, text, err)
	}
	if s.session != "" {
		s.before = append(s.before, s.session)
	}
	s.session, s.texts = made.ID, 0
	return nil
}

// useConsole opens a shell, makes it print, and deletes it.
func (s *soak) useConsole(ctx context.Context) error {
	code, text, err := fetch(ctx, "POST", s.ace+"/api/pty", `{"shell":"sh"}`, 1<<20)
	var made struct {
		ID string `json:"id"`
	}
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil || code != http.StatusCreated {
		return fmt.Errorf("a console: %d %.300s %w", code, text, err)
	}
	conn, answer, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.ace, "http")+"/ws/pty/"+made.ID+"?cursor=0", nil)
	if err != nil {
		return err
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	defer func() { _ = conn.CloseNow() }()
	if err := conn.Write(ctx, websocket.MessageBinary, []byte("echo so''ak\n")); err != nil {
		return err
	}
	var out []byte
	for !bytes.Contains(out, []byte("soak")) {
		_, frame, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("a console: %w: %q", err, out)
		}
		out = append(out, frame...)
	}
	if code, text, err := fetch(ctx, "DELETE", s.ace+"/api/pty/"+made.ID, "", 1<<20); err != nil || code >= 300 {
		return fmt.Errorf("the end of a console: %d %.300s %w", code, text, err)
	}
	return nil
}

func (s *soak) useCommands(context.Context) error {
	for _, words := range [][]string{{"ps", "-C", s.dir}, {"status", "-q", "-C", s.dir}, {"inbox", "-q", "-C", s.dir}} {
		if err := program(s.t, words...).Run(); err != nil {
			return fmt.Errorf("%v: %w", words, err)
		}
	}
	return nil
}
