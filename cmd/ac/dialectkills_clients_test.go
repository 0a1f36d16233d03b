//go:build unix

package main

// The clients of the servers that TestKilledDialects kills. Each records what the server
// acknowledged, and returns when the server is gone.

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/coder/websocket"
)

// conversations are the conversations of the ACECode clients.
type conversations struct {
	mu  sync.Mutex
	ids []string
	by  map[string]*conversation
}

// conversation records what clients sent and received in a session.
type conversation struct {
	said    map[string]bool   // by text, whether the server acknowledged it
	decided map[string]string // by request, the choice that the server confirmed
	last    int64             // number of the last event received
}

func (c *conversations) draw(r *rand.Rand) (id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids) > 0 {
		id = c.ids[r.IntN(len(c.ids))]
	}
	return id
}

// of applies a change to a conversation.
func (c *conversations) of(id string, change func(*conversation)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.by[id])
}

// Limits per company: conversations, and texts in each.
const (
	mostConversations = 5
	mostTexts         = 8
)

func (c *conversations) said(id string) (n int) {
	c.of(id, func(c *conversation) { n = len(c.said) })
	return n
}

func (c *conversations) all() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ids)
}

// word returns a unique text. A text that begins with "ask" makes the agent request a permission.
func word(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return fmt.Sprintf("ask touch-%x", r.Uint64())
	}
	return fmt.Sprintf("word-%x", r.Uint64())
}

// converse starts conversations and sends texts to them.
func (k *served) converse(ctx context.Context, r *rand.Rand, s *dialectServer) {
	for {
		id := k.conversations.draw(r)
		if id != "" && k.conversations.said(id) == mostTexts {
			if id = ""; k.conversations.all() == mostConversations {
				if !k.call(ctx, 200, "GET", s.ace+"/api/sessions", "", nil) {
					return
				}
				continue
			}
		}
		if id == "" {
			var made struct {
				ID string `json:"session_id"`
			}
			if !k.call(ctx, 201, "POST", s.ace+"/api/sessions", `{}`, &made) {
				return
			}
			k.conversations.mu.Lock()
			k.conversations.ids = append(k.conversations.ids, made.ID)
			k.conversations.by[made.ID] = &conversation{said: map[string]bool{}, decided: map[string]string{}}
			k.conversations.mu.Unlock()
			id = made.ID
		}
		if !k.say(ctx, s, id, word(r)) {
			return
		}
	}
}

// say sends a text. The text is also its client message id.
func (k *served) say(ctx context.Context, s *dialectServer, id, text string) bool {
	k.conversations.of(id, func(c *conversation) { c.said[text] = false })
	if !k.call(ctx, 202, "POST", s.ace+"/api/sessions/"+id+"/messages", fmt.Sprintf(`{"text":%q,"client_message_id":%q}`, text, text), nil) {
		return false
	}
	k.conversations.of(id, func(c *conversation) { c.said[text] = true })
	return true
}

// dialed opens a WebSocket. It returns nil if the server is gone.
func dialed(ctx context.Context, url string) *websocket.Conn {
	conn, answer, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return nil
	}
	if answer.Body != nil {
		_ = answer.Body.Close()
	}
	conn.SetReadLimit(-1)
	return conn
}

// send sends a frame. It returns false if the server is gone.
func send(ctx context.Context, conn *websocket.Conn, frame any) bool {
	text, err := json.Marshal(frame)
	return err == nil && conn.Write(ctx, websocket.MessageText, text) == nil
}

// receive reads frames until wanted accepts one. It returns false if the server is gone.
func receive[F any](ctx context.Context, conn *websocket.Conn, wanted func(F) bool) (f F, ok bool) {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return f, false
		}
		var next F
		if json.Unmarshal(text, &next) == nil && wanted(next) {
			return next, true
		}
	}
}

// aceFrame is a frame of the ACECode daemon.
type aceFrame struct {
	Type    string
	Seq     int64
	Session string `json:"session_id"`
	Payload struct {
		RequestID string `json:"request_id"`
		Choice    string
		Reason    string
		Gap       bool
	}
}

// decide answers permission requests in random conversations.
func (k *served) decide(ctx context.Context, r *rand.Rand, s *dialectServer) {
	for {
		id := k.conversations.draw(r)
		if id == "" {
			if !k.call(ctx, 200, "GET", s.ace+"/api/sessions", "", nil) {
				return
			}
			continue
		}
		if !k.decideIn(ctx, r, s, id, 3) {
			return
		}
	}
}

// decideIn answers permission requests in a conversation until it has received the given number
// of permission_closed and Done frames.
func (k *served) decideIn(ctx context.Context, r *rand.Rand, s *dialectServer, id string, closed int) bool {
	conn := dialed(ctx, "ws"+strings.TrimPrefix(s.ace, "http")+"/ws/sessions/"+id)
	if conn == nil {
		return false
	}
	defer func() { _ = conn.CloseNow() }()
	if !send(ctx, conn, object{"type": "hello", "payload": object{"session_id": id, "since": 0}}) {
		return false
	}
	_, ok := receive(ctx, conn, func(f aceFrame) bool {
		p := f.Payload
		switch f.Type {
		case "permission_request", "PermissionRequest":
			return !send(ctx, conn, object{"type": "decision", "payload": object{"session_id": id, "request_id": p.RequestID, "choice": []string{"allow", "deny"}[r.IntN(2)]}})
		case "permission_closed":
			k.conversations.of(id, func(c *conversation) {
				if before, known := c.decided[p.RequestID]; known && before != p.Choice {
					k.t.Errorf("%s was closed with %s, and with %s", p.RequestID, before, p.Choice)
				}
				c.decided[p.RequestID] = p.Choice
			})
			closed--
		case "Done":
			closed--
		}
		return closed <= 0
	})
	return ok
}

// follow follows a conversation from the last event received, possibly from an earlier server. It
// checks that no event is lost or repeated.
func (k *served) follow(ctx context.Context, r *rand.Rand, s *dialectServer) {
	id := k.conversations.draw(r)
	conn := dialed(ctx, "ws"+strings.TrimPrefix(s.ace, "http")+"/ws/sessions/x")
	if conn == nil || id == "" {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	var last int64
	k.conversations.of(id, func(c *conversation) { last = c.last })
	if !send(ctx, conn, object{"type": "hello", "payload": object{"session_id": id, "since": last}}) {
		return
	}
	_, _ = receive(ctx, conn, func(f aceFrame) bool {
		if f.Payload.Gap {
			k.t.Errorf("%s has a gap behind %d", id, last)
		}
		if f.Seq > 0 && f.Seq <= last {
			k.t.Errorf("%s has %d behind %d", id, f.Seq, last)
		}
		last = max(last, f.Seq)
		return false
	})
	k.conversations.of(id, func(c *conversation) { c.last = last })
}

// tasks are the tasks and files of the Autonoma clients.
type tasks struct {
	mu        sync.Mutex
	by        map[string]string // task texts by id
	asked     []string          // all requested task texts
	cancelled int
	applied   int               // acknowledged versions of the files
	files     map[string]string // the last version requested
	before    map[string]string // the last version acknowledged
}

type object = map[string]any

// autonomaFrame is a response of the Autonoma daemon.
type autonomaFrame struct {
	ID     int
	Result json.RawMessage
	Error  *string
}

// autonomaAsk sends a request and waits for its response. It returns false if the server is gone
// or reports an error.
func (k *served) autonomaAsk(ctx context.Context, conn *websocket.Conn, method string, params, into any) bool {
	if !send(ctx, conn, object{"id": 7, "method": method, "params": params}) {
		return false
	}
	f, ok := receive(ctx, conn, func(f autonomaFrame) bool { return f.ID == 7 })
	if !ok {
		return false
	}
	if f.Error != nil {
		k.t.Errorf("%s %v: %s", method, params, *f.Error)
		return false
	}
	if into != nil {
		if err := json.Unmarshal(f.Result, into); err != nil {
			k.t.Errorf("%s: %v: %s", method, err, f.Result)
		}
	}
	return true
}

// mostTasks limits the tasks per company.
const mostTasks = 12

// task launches tasks, lists them, and cancels some.
func (k *served) task(ctx context.Context, r *rand.Rand, s *dialectServer) {
	conn := dialed(ctx, s.autonoma)
	if conn == nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		what := fmt.Sprintf("word-%x", r.Uint64())
		k.tasks.mu.Lock()
		n := len(k.tasks.asked)
		if n < mostTasks {
			k.tasks.asked = append(k.tasks.asked, what)
		}
		k.tasks.mu.Unlock()
		if n >= mostTasks {
			if !k.autonomaAsk(ctx, conn, "background.list", nil, nil) {
				return
			}
			continue
		}
		var made struct {
			TaskID string `json:"taskId"`
		}
		if !k.autonomaAsk(ctx, conn, "background.launch", object{"agentType": "Speaker", "task": what}, &made) {
			return
		}
		k.tasks.mu.Lock()
		k.tasks.by[made.TaskID] = what
		k.tasks.mu.Unlock()
		if r.IntN(3) == 0 {
			if !k.autonomaAsk(ctx, conn, "background.cancel", object{"taskId": made.TaskID}, nil) {
				return
			}
			k.tasks.mu.Lock()
			k.tasks.cancelled++
			k.tasks.mu.Unlock()
		}
	}
}

// applyFiles applies one version after another of the same eight files.
func (k *served) applyFiles(ctx context.Context, r *rand.Rand, s *dialectServer) {
	conn := dialed(ctx, s.autonoma)
	if conn == nil {
		return
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		files, list := map[string]string{}, []object{}
		for i := range 8 {
			name, text := fmt.Sprintf("many/f%d.txt", i), fmt.Sprintf("%x\n", r.Uint64())
			files[name] = text
			list = append(list, object{"id": "", "type": "code", "path": name, "content": text, "language": ""})
		}
		k.tasks.mu.Lock()
		k.tasks.files = files // not acknowledged yet
		k.tasks.mu.Unlock()
		if !k.autonomaAsk(ctx, conn, "artifacts.apply", object{"artifacts": list}, nil) {
			return
		}
		k.tasks.mu.Lock()
		k.tasks.applied, k.tasks.before = k.tasks.applied+1, files
		k.tasks.mu.Unlock()
	}
}
