package agentbench

// Requests and replies of the model, independent of the agent's protocol.

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// API names the wire format of a request.
type API string

// The APIs.
const (
	Responses API = "responses"
	Chat      API = "chat"
	Messages  API = "messages"
	Gemini    API = "gemini"
)

// Request is a request of an agent to its model, in any of the APIs.
type Request struct {
	API    API
	Model  string
	Prompt string   // all texts of the newest user message
	Texts  []string // all texts of all user messages, in order
	// Results are the tool results since the newest text of the user.
	Results []string
	// Tools are the names of the tools that the agent offers. Requests without tools are the
	// agent's own bookkeeping (titles, summaries).
	Tools  []string
	Schema bool // the answer must be JSON that matches a schema
	Body   []byte
	Header http.Header
	// Charged is the usage of the answer, as reported to the agent so far.
	Charged Usage
}

// Step returns the number of tool results since the newest text of the user.
func (r Request) Step() int { return len(r.Results) }

// Usage is the token counts of an answer. The parts do not overlap.
type Usage struct{ Input, Cached, CacheWrite, Output, Reasoning int64 }

// Total returns the sum of all parts.
func (u Usage) Total() int64 { return u.Input + u.Cached + u.CacheWrite + u.Output + u.Reasoning }

// Plus returns the sum of two usages.
func (u Usage) Plus(o Usage) Usage {
	return Usage{u.Input + o.Input, u.Cached + o.Cached, u.CacheWrite + o.CacheWrite, u.Output + o.Output, u.Reasoning + o.Reasoning}
}

// Call is a tool call of the model: a command, a file to write, or, if Name is
// set, a tool by name.
type Call struct {
	Run     string
	Read    string // path
	Write   string // path
	Content string
	Name    string
	Space   string // namespace of Name, for APIs that have namespaces
	Args    any
}

// Reply is a scripted answer of the model.
type Reply struct {
	Think string
	Text  string
	Calls []Call
	Usage Usage
	// Status, unless 0, rejects the request with this HTTP status, and Text as the message.
	Status     int
	RetryAfter time.Duration
	// Pause is the time between pieces of the text. Endless repeats the text
	// until the agent hangs up.
	Pause   time.Duration
	Endless bool
	// Refused marks an answer as refused by the model.
	Refused bool
}

// Script decides what the model answers. The server calls it from one goroutine at a time.
type Script func(Request) Reply

// Server is a running model server. It is safe for concurrent use.
type Server struct {
	URL string

	http   *http.Server
	done   chan struct{}
	script Script

	mu       sync.Mutex
	requests []Request
}

// Start serves a script on a free port of the loopback.
func Start(script Script) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed by Close
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + listener.Addr().String(), script: script, done: make(chan struct{})}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { // until Close
		defer close(s.done)
		_ = s.http.Serve(listener)
	}()
	return s, nil
}

// Close closes all connections and waits until the server has ended.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// TotalUsage returns the sum of the usages that were reported to agents.
func (s *Server) TotalUsage() Usage {
	var sum Usage
	for _, r := range s.Requests() {
		sum = sum.Plus(r.Charged)
	}
	return sum
}

// Requests returns the requests received so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// maxBody bounds a request body, in bytes.
const maxBody = 64 << 20

// dialect parses the requests of one API and writes its answers.
type dialect interface {
	read(body []byte) (Request, error)
	// answer writes the reply, either streamed or as one value.
	answer(out *stream, r Request, reply Reply, streamed bool)
	refuse(w http.ResponseWriter, reply Reply)
}

func dialectOf(path string) (d dialect, streamed *bool) {
	yes, no := true, false
	switch {
	case strings.HasSuffix(path, "/responses"):
		return responses{}, nil
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}, nil
	case strings.HasSuffix(path, "/messages"):
		return messages{}, nil
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return generate{}, &yes
	case strings.HasSuffix(path, ":generateContent"):
		return generate{}, &no
	}
	return nil, nil
}

// ServeHTTP answers one request of an agent.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, streamed := dialectOf(r.URL.Path)
	switch {
	case d != nil && r.Method == http.MethodPost:
	case strings.HasSuffix(r.URL.Path, "/oauth/token"): // a login that has expired
		refuse(w, http.StatusUnauthorized, object{"error": "invalid_grant", "error_description": "Unauthorized"})
		return
	case strings.HasSuffix(r.URL.Path, "count_tokens"):
		writeJSON(w, object{"input_tokens": 1})
		return
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		writeJSON(w, object{"totalTokens": 1})
		return
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, object{"object": "list", "data": []object{}, "models": []object{}})
		return
	default:
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err == nil && streamed == nil {
		var says struct {
			Stream bool `json:"stream"`
		}
		err = json.Unmarshal(body, &says)
		streamed = &says.Stream
	}
	var asked Request
	if err == nil {
		asked, err = d.read(body)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	asked.Body, asked.Header = body, r.Header.Clone()
	if name, _, ok := strings.Cut(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], ":"); ok {
		asked.Model = name
	}
	s.mu.Lock()
	s.requests = append(s.requests, asked)
	number := len(s.requests)
	reply := s.script(asked)
	s.mu.Unlock()
	if reply.Status != 0 {
		if reply.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(reply.RetryAfter/time.Second)))
		}
		d.refuse(w, reply)
		return
	}
	out := &stream{w: w, request: r, number: number, charged: func(u Usage) { s.charge(number, u) }}
	d.answer(out, asked, reply, *streamed)
}

// charge adds to the usage charged to a request, given its number.
func (s *Server) charge(number int, u Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.requests[number-1]
	r.Charged = r.Charged.Plus(u)
}

type object = map[string]any

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the agent may be gone
}

func refuse(w http.ResponseWriter, status int, body object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the agent may be gone
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	request *http.Request
	number  int // number of the request, from which IDs are made
	begun   bool
	gone    bool // the agent hung up
	charged func(Usage)
}

// charge records usage that is about to be reported, unless the agent has hung up.
func (s *stream) charge(u Usage) {
	if !s.gone {
		s.charged(u)
	}
}

func (s *stream) id(prefix string) string { return fmt.Sprintf("%s_%06d", prefix, s.number) }

// event sends one event. With an empty name it sends only data.
func (s *stream) event(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // cannot fail: the values are ours
	}
	s.send(name, string(text))
}

func (s *stream) send(name, text string) {
	if s.gone {
		return
	}
	if !s.begun {
		s.begun = true
		s.w.Header().Set("Content-Type", "text/event-stream")
	}
	if name != "" {
		text = "event: " + name + "\ndata: " + text
	} else {
		text = "data: " + text
	}
	_, err := io.WriteString(s.w, text+"\n\n")
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
	s.gone = err != nil || s.request.Context().Err() != nil
}

// pieces sends a text in pieces, with the pauses of the reply.
func (s *stream) pieces(reply Reply, text string, send func(piece string)) {
	if text == "" {
		return
	}
	for first := true; first || (reply.Endless && !s.gone); first = false {
		for _, piece := range cut(text) {
			if !first || reply.Pause > 0 {
				select {
				case <-s.request.Context().Done():
					s.gone = true
					return
				case <-time.After(max(reply.Pause, time.Millisecond)):
				}
			}
			send(piece)
		}
	}
}

// cut splits a text into at most four pieces, never within a character.
func cut(text string) (pieces []string) {
	runes := []rune(text)
	size := max(1, (len(runes)+3)/4)
	for piece := range slices.Chunk(runes, size) {
		pieces = append(pieces, string(piece))
	}
	return pieces
}

// words translates the call into a call of one of the agent's own tools: the first offered tool
// that fits. It returns the tool's name and arguments.
func (c Call) words(tools []string) (name string, args any) {
	if c.Name != "" {
		return c.Name, c.Args
	}
	if slices.Contains(tools, "exec") { // codex runs a script that calls its tools
		return "exec", c.script()
	}
	if c.Run != "" {
		for _, name := range tools {
			switch name {
			case "exec_command":
				return name, object{"cmd": c.Run, "yield_time_ms": 5000}
			case "shell":
				return name, object{"command": []string{"bash", "-lc", c.Run}}
			case "shell_command", "run_shell_command":
				return name, object{"command": c.Run}
			case "Bash", "bash":
				return name, object{"command": c.Run, "description": "run a command"}
			}
		}
	}
	if c.Read != "" {
		return c.read(tools)
	}
	for _, name := range tools {
		switch name {
		case "Write":
			return name, object{"file_path": c.Write, "content": c.Content}
		case "write_file":
			return name, object{"file_path": c.Write, "content": c.Content}
		case "write":
			return name, object{"filePath": c.Write, "content": c.Content}
		case "apply_patch":
			return name, patchOf(c.Write, c.Content)
		}
	}
	return "no_such_tool", object{"command": c.Run, "path": c.Write}
}

// read returns a call that reads a file. It uses a command if the agent has no tool for that.
func (c Call) read(tools []string) (name string, args any) {
	for _, name := range tools {
		switch name {
		case "Read", "read_file":
			return name, object{"file_path": c.Read}
		case "read":
			return name, object{"filePath": c.Read}
		}
	}
	return Call{Run: "cat " + c.Read}.words(tools)
}

// script returns the call as JavaScript, which newer models of codex use to call tools.
func (c Call) script() string {
	if c.Read != "" {
		return "text(JSON.stringify(tools.mcp__ac__read_file ? await tools.mcp__ac__read_file({path: " + strconv.Quote(c.Read) + "}) : await tools.exec_command({cmd: " + strconv.Quote("cat "+c.Read) + "})));"
	}
	if c.Run != "" {
		return "const r = await tools.exec_command({cmd: " + strconv.Quote(c.Run) + "}); text(r.output);"
	}
	return "text(JSON.stringify(await tools.apply_patch(" + strconv.Quote(patchOf(c.Write, c.Content)) + ")));"
}

// patchOf returns a patch that adds a file, in codex's own format.
func patchOf(path, content string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", path)
	for line := range strings.Lines(content) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}
