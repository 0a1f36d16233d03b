package acecode

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ac/dialect/dialecttest"
	"ac/internal/clip"

	"github.com/coder/websocket"

	"ac/terminal"
	"ac/workspace"
)

// consoleClient follows a console as the published client does: it counts bytes and adopts the
// cursors that the server sends.
type consoleClient struct {
	t      *testing.T
	conn   *websocket.Conn
	cursor int64
	places []int64
	out    bytes.Buffer
	exit   *int
}

// newConsole starts a shell.
func (s *stage) newConsole() consoleRow {
	s.T.Helper()
	var made consoleRow
	s.want(http.StatusCreated, "POST", "/api/pty", `{"shell":"sh"}`, &made)
	return made
}

// look opens the socket of a console. from is the query that sets the starting cursor.
func (s *stage) look(id, from string) *consoleClient {
	s.T.Helper()
	return &consoleClient{t: s.T, conn: s.dial("/ws/pty/" + id + from).conn}
}

func (c *consoleClient) typed(text string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageBinary, []byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

// read reads the next frame. If the socket was closed, it returns the close status.
func (c *consoleClient) read() (end websocket.StatusCode) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), dialecttest.Patience)
	defer cancel()
	kind, frame, err := c.conn.Read(ctx)
	if err != nil {
		if end = websocket.CloseStatus(err); end < 0 {
			c.t.Fatalf("%v behind %q", err, clip.Tail(c.out.String(), 500))
		}
		return end
	}
	var control struct {
		Cursor   *int64
		ExitCode *int `json:"exit_code"`
	}
	switch {
	case kind != websocket.MessageBinary || len(frame) == 0 || len(frame) > terminal.ChunkBytes:
		c.t.Fatalf("a frame of kind %v and %d bytes", kind, len(frame))
	case frame[0] != 0:
		c.out.Write(frame)
		c.cursor += int64(len(frame))
	case json.Unmarshal(frame[1:], &control) != nil:
		c.t.Fatalf("%q", frame)
	case control.Cursor != nil:
		c.cursor, c.places = *control.Cursor, append(c.places, *control.Cursor)
	case control.ExitCode != nil && c.exit == nil:
		c.exit = control.ExitCode
	default:
		c.t.Fatalf("%q", frame)
	}
	return 0
}

// until reads frames until there returns true.
func (c *consoleClient) until(there func() bool) {
	c.t.Helper()
	for !there() {
		if end := c.read(); end != 0 {
			c.t.Fatalf("the socket ended with %d behind %q", end, clip.Tail(c.out.String(), 500))
		}
	}
}

// shows reads until the output contains text.
func (c *consoleClient) shows(text string) {
	c.t.Helper()
	c.until(func() bool { return bytes.Contains(c.out.Bytes(), []byte(text)) })
}

// ends reads until the socket is closed, and checks the close status.
func (c *consoleClient) ends(want websocket.StatusCode) {
	c.t.Helper()
	for {
		if end := c.read(); end != 0 {
			if end != want {
				c.t.Errorf("the socket ended with %d, want %d", end, want)
			}
			return
		}
	}
}

// TestConsole types into a shell and reads its output from two sockets, one of which reconnects.
// It then follows the shell's exit.
func TestConsole(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.want(http.StatusOK, "GET", "/api/health", "", nil, `"console":{"available":true,"backend":"posix"}`)
	s.want(http.StatusOK, "GET", "/api/pty/shells", "", nil, `{"id":"sh","label":"sh","available":true,"needs_path":false}`)
	made := s.newConsole()
	if made.Status != "running" || made.Backend != "posix" || made.Cwd != s.Repo || made.Title != "Terminal 1" || made.PID == 0 {
		t.Errorf("%+v", made)
	}
	first := s.look(made.ID, "?cursor=0")
	first.typed("echo $((6*7))\n")
	first.shows("\r\n42\r\n")
	first.typed("")
	first.typed("seq 1 100000; echo e''nd\n")
	first.shows("\r\nend\r\n")
	late := s.look(made.ID, "?cursor=0")
	late.shows("\r\nend\r\n")
	if a, b := first.out.Bytes(), late.out.Bytes(); !bytes.Equal(a[:min(len(a), len(b))], b[:min(len(a), len(b))]) {
		t.Error("two viewers saw different bytes")
	}
	if len(late.places) > 1 || len(first.places) != 1 {
		t.Errorf("places: %v, %v", first.places, late.places)
	}
	_ = late.conn.Close(websocket.StatusNormalClosure, "")
	late.t.Log("it comes back at", late.cursor)
	back := s.look(made.ID, fmt.Sprint("?cursor=", late.cursor))
	s.want(http.StatusNoContent, "POST", "/api/pty/"+made.ID+"/resize", `{"cols":100,"rows":40}`, nil)
	back.typed("stty size\n")
	back.shows("40 100\r\n")
	if bytes.Contains(back.out.Bytes(), []byte("99999")) {
		t.Error("what was read before is repeated")
	}
	s.want(http.StatusNoContent, "POST", "/api/pty/"+made.ID+"/title", `{"title":" build\u0007 "}`, nil)
	s.want(http.StatusNoContent, "POST", "/api/pty/"+made.ID+"/title", `{"title":" "}`, nil)
	s.want(http.StatusOK, "GET", "/api/pty", "", nil, `"backend":"posix"`, `"title":"build"`, `"status":"running"`)
	back.typed("exit 7\n")
	for _, c := range []*consoleClient{first, back} {
		if c.until(func() bool { return c.exit != nil }); *c.exit != 7 {
			t.Errorf("exit code %d", *c.exit)
		}
	}
	first.typed("dropped\n")
	s.want(http.StatusOK, "GET", "/api/pty", "", nil, `"status":"exited"`, `"exit_code":7`)
	s.want(http.StatusNotFound, "POST", "/api/pty/"+made.ID+"/resize", `{"cols":80,"rows":24}`, nil)
	again := s.look(made.ID, "?cursor=-5")
	again.until(func() bool { return again.exit != nil })
	if again.out.Len() > 0 || len(again.places) != 1 || again.cursor != back.cursor {
		t.Errorf("%d bytes, places %v", again.out.Len(), again.places)
	}
	s.want(http.StatusNoContent, "DELETE", "/api/pty/"+made.ID, "", nil)
	for _, c := range []*consoleClient{first, back, again} {
		c.ends(websocket.StatusNormalClosure)
	}
	s.want(http.StatusOK, "GET", "/api/pty", "", nil, `"sessions":[]`)
	trace := string(dialecttest.Must(os.ReadFile(filepath.Join(s.Dir, filepath.FromSlash(workspace.TerminalsLog)))))
	for _, part := range []string{`"action":"opened"`, `"action":"exited"`, `"action":"closed"`, `"via":"acecode"`} {
		if !strings.Contains(trace, part) {
			t.Errorf("the audit lacks %s: %s", part, trace)
		}
	}
	if strings.Contains(trace, "dropped") {
		t.Error("what was typed is recorded")
	}
}

// TestConsolePlaces checks where a socket starts, and that the server closes it when it stops.
func TestConsolePlaces(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	made := s.newConsole()
	c := s.look(made.ID, "?cursor=0")
	c.typed("printf '\\0\\0a\\0b'; echo; seq 1 400000; kill -9 $$\n")
	c.until(func() bool { return c.exit != nil })
	if *c.exit != 137 {
		t.Errorf("exit code %d", *c.exit)
	}
	end, kept := c.cursor, c.cursor-terminal.BufferBytes
	for from, want := range map[string]struct{ place, bytes int64 }{
		"":                                {end, 0},
		"?cursor=":                        {end, 0},
		"?cursor=x":                       {end, 0},
		"?cursor=-1":                      {end, 0},
		"?cursor=999999999999":            {end, 0},
		"?cursor=9999999999999999999999":  {end, 0},
		"?cursor=3":                       {end, terminal.BufferBytes},
		fmt.Sprint("?cursor=", kept+4711): {end, terminal.BufferBytes - 4711},
		fmt.Sprint("?cursor=", end):       {end, 0},
	} {
		look := s.look(made.ID, from)
		look.until(func() bool { return look.exit != nil })
		if place := look.places[len(look.places)-1]; place != want.place || int64(look.out.Len()) != want.bytes {
			t.Errorf("%q: place %d behind %d bytes, want %+v", from, place, look.out.Len(), want)
		}
		_ = look.conn.CloseNow()
	}
	s.End()
	c.ends(websocket.StatusGoingAway)
}

// TestConsoleFrames checks how pieces of output are turned into frames.
func TestConsoleFrames(t *testing.T) {
	t.Parallel()
	code := 3
	ended := terminal.Info{ExitCode: &code}
	for name, c := range map[string]struct {
		at, backlog int64
		pieces      []terminal.Piece
		want        []string
	}{
		"nothing there":     {0, 0, nil, []string{"\x00{\"cursor\":0}"}},
		"replay, then live": {0, 3, []terminal.Piece{{Bytes: []byte("abc"), Next: 3}, {Cursor: 3, Bytes: []byte("d"), Next: 4}}, []string{"abc", "\x00{\"cursor\":3}", "d"}},
		"replay in parts":   {0, 3, []terminal.Piece{{Bytes: []byte("ab"), Next: 2}, {Cursor: 2, Bytes: []byte("cd"), Next: 4}}, []string{"ab", "cd", "\x00{\"cursor\":4}"}},
		"overtaken":         {5, 5, []terminal.Piece{{Cursor: 9, Bytes: []byte("x"), Next: 10}}, []string{"\x00{\"cursor\":5}", "\x00{\"cursor\":9}", "x"}},
		"NULs":              {0, 0, []terminal.Piece{{Bytes: []byte("\x00\x00a\x00b"), Next: 5}, {Cursor: 5, Bytes: []byte("\x00"), Next: 6}}, []string{"\x00{\"cursor\":0}", "a\x00b", "\x00{\"cursor\":5}", "\x00{\"cursor\":6}"}},
		"the exit once":     {0, 1, []terminal.Piece{{Bytes: []byte("a"), Next: 1, Over: true, Info: ended}, {Cursor: 1, Next: 1, Over: true, Closed: true, Info: ended}}, []string{"a", "\x00{\"cursor\":1}", "\x00{\"exit_code\":3}"}},
	} {
		o := consoleOutput{at: c.at, backlog: c.backlog}
		list := o.begin()
		for _, p := range c.pieces {
			list = append(list, o.frames(p)...)
		}
		got := []string{}
		for _, frame := range list {
			got = append(got, string(frame))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestConsoleFlood checks that a client that does not read delays no other client, and later
// receives a cursor that skips the output it missed.
func TestConsoleFlood(t *testing.T) {
	t.Parallel()
	s := newStage(t, patient)
	made := s.newConsole()
	slow, quick := s.look(made.ID, ""), s.look(made.ID, "?cursor=0")
	quick.typed("yes 0123456789abcdef | head -c 24000000; echo fin''ished\n")
	quick.shows("finished\r\n")
	slow.shows("finished\r\n")
	if len(slow.places) < 2 {
		t.Errorf("nothing was missed: places %v, %d bytes", slow.places, slow.out.Len())
	}
	quick.typed("exit\n")
	for _, c := range []*consoleClient{slow, quick} {
		c.until(func() bool { return c.exit != nil })
	}
	if slow.cursor != quick.cursor {
		t.Errorf("one ends at %d, one at %d", slow.cursor, quick.cursor)
	}
}

// TestConsoleStalled checks that typing into a program that does not read its input closes the
// socket but keeps the console.
func TestConsoleStalled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	made := s.newConsole()
	c := s.look(made.ID, "?cursor=0")
	c.typed("stty raw -echo; echo wait''ing; sleep 600\n")
	c.shows("waiting")
	c.typed(strings.Repeat("x", 256<<10))
	c.ends(websocket.StatusTryAgainLater)
	s.want(http.StatusOK, "GET", "/api/pty", "", nil, `"status":"running"`)
	s.want(http.StatusNoContent, "DELETE", "/api/pty/"+made.ID, "", nil)
}

// TestConsoleLimit checks that at most 16 consoles are open.
func TestConsoleLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	made := s.newConsole()
	var consoles []consoleRow
	for range terminal.Limit - 1 {
		consoles = append(consoles, s.newConsole())
	}
	r := s.do("POST", "/api/pty", `{"shell":"sh"}`)
	if r.code != http.StatusTooManyRequests || r.text != `{"error":"pty session limit reached (16)"}` {
		t.Errorf("%d %s", r.code, r.text)
	}
	s.want(http.StatusNoContent, "DELETE", "/api/pty/"+made.ID, "", nil)
	// Close them here: the server's own shutdown waits one second for them, too short on a busy
	// machine.
	for _, c := range append(consoles, s.newConsole()) {
		s.want(http.StatusNoContent, "DELETE", "/api/pty/"+c.ID, "", nil)
	}
}

// TestConsoleRefusals checks which requests and sockets are refused.
func TestConsoleRefusals(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		method, path, body string
		code               int
		word               string
	}{
		{"POST", "/api/pty", `{"shell":"/bin/sh"}`, 400, `{"error":"shell unavailable","shell":"/bin/sh"}`},
		{"POST", "/api/pty", `{"cwd":"/"}`, 400, `"error":"path_outside_root"`},
		{"POST", "/api/pty", `{"cwd":"` + s.Repo + `/README"}`, 400, `"error":"not_a_directory"`},
		{"POST", "/api/pty", `{"cwd":5}`, 400, `"error":"BAD_REQUEST"`},
		{"POST", "/api/pty", `[]`, 400, `{"error":"bad json"}`},
		{"DELETE", "/api/pty/pty-none", "", 404, `{"error":"unknown pty session"}`},
		{"POST", "/api/pty/pty-none/resize", `{"cols":80,"rows":24}`, 404, `{"error":"unknown pty session"}`},
		{"POST", "/api/pty/pty-none/resize", `{"cols":1,"rows":24}`, 400, `{"error":"cols/rows out of range"}`},
		{"POST", "/api/pty/pty-none/resize", `{"cols":80,"rows":1001}`, 400, `{"error":"cols/rows out of range"}`},
		{"POST", "/api/pty/pty-none/resize", ``, 400, `{"error":"cols/rows out of range"}`},
		{"POST", "/api/pty/pty-none/title", `{"title":"x"}`, 404, `{"error":"unknown pty session"}`},
		{"GET", "/ws/pty/pty-none", "", 426, `{"error":"this is a WebSocket"}`},
		{"PUT", "/api/pty", "", 405, `{"error":"method not allowed"}`},
	} {
		r := s.do(c.method, c.path, c.body)
		if r.code != c.code || !strings.Contains(r.text, c.word) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.code, r.text)
		}
	}
	made := s.newConsole()
	for _, c := range []struct {
		path   string
		header http.Header
		code   int
	}{
		{"/ws/pty/pty-none", nil, 404},
		{"/ws/pty/" + made.ID, http.Header{"Origin": {"https://evil.example"}}, 403},
		{"/ws/pty/" + made.ID + "?token=" + testToken, http.Header{"Origin": {"https://evil.example"}}, 403},
		{"/ws/pty/" + made.ID, http.Header{"Origin": {"http://localhost:1"}}, 401},
		{"/ws/pty/" + made.ID + "?token=no", nil, 401},
		{"/ws/pty/" + made.ID + "?token=" + testToken, http.Header{"Origin": {"http://localhost:1"}}, 101},
	} {
		conn, answer, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+c.path, &websocket.DialOptions{HTTPHeader: c.header})
		if answer.StatusCode != c.code {
			t.Errorf("%s, %v: %d", c.path, c.header, answer.StatusCode)
		}
		if err == nil {
			_ = conn.CloseNow()
		} else {
			_ = answer.Body.Close()
		}
	}
	// A request from an unknown remote address, with the right token.
	for _, path := range []string{"/api/pty", "/api/pty/shells", "/ws/pty/" + made.ID} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", s.url+path, nil)
		r.Header.Set(tokenHeader, testToken)
		w := httptest.NewRecorder()
		s.server.ServeHTTP(w, r)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "console is loopback-only") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	s.want(http.StatusNoContent, "DELETE", "/api/pty/"+made.ID, "", nil)
}

// TestNoConsoles checks that consoles are unavailable when turned off, and when other machines
// can reach the listener.
func TestNoConsoles(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Options){
		"turned off":      func(o *Options) { o.Terminals = false },
		"beyond loopback": func(o *Options) { o.Place.Address = "0.0.0.0:0" },
	} {
		s := newStage(t, change)
		for _, path := range []string{"GET /api/pty", "GET /api/pty/shells", "POST /api/pty", "DELETE /api/pty/x", "POST /api/pty/x/resize", "POST /api/pty/x/title", "GET /ws/pty/x"} {
			method, path, _ := strings.Cut(path, " ")
			host := "127.0.0.1:" + s.server.socket.Guard().Port()
			s.url = "http://" + host
			if r := s.do(method, path, "", tokenHeader, testToken); r.code != http.StatusServiceUnavailable || r.text != `{"error":"console is not available"}` {
				t.Errorf("%s: %s %s: %d %s", name, method, path, r.code, r.text)
			}
		}
		if r := s.do("GET", "/api/health", "", tokenHeader, testToken); !strings.Contains(r.text, `"console":{"available":false,"backend":""}`) {
			t.Errorf("%s: %s", name, r.text)
		}
	}
}
