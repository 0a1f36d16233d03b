package supervisor

// The session's socket: the requests that a supervisor answers.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/grant"
	"ac/runs/interaction"
	"ac/runs/session"
	"ac/runs/session/live"
	"ac/workspace/doc"
)

type socketReply struct {
	Version int             `json:"version"`
	ID      json.RawMessage `json:"id,omitempty"`
	Error   string          `json:"error,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Data    any             `json:"data,omitempty"`
	Record  *doc.Session    `json:"record,omitempty"`
	Result  any             `json:"result,omitempty"`
}

// with puts the outcome of a request into its reply.
func (r *socketReply) with(result any, err error) {
	if err == nil {
		r.Result = result
		return
	}
	r.Error, r.Reason = err.Error(), string(fault.ReasonOf(err))
	if e, ok := errors.AsType[*fault.Error](err); ok {
		r.Data = e.Data
	}
}

// socketServer answers requests for one session.
type socketServer struct {
	dir      string
	name     string
	listener net.Listener
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
}

func (s *socketServer) serve(of *supervisor) {
	s.wg.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = struct{}{}
			s.mu.Unlock()
			s.wg.Go(func() { s.answer(conn, of) })
		}
	})
}

func (s *socketServer) answer(conn net.Conn, of *supervisor) {
	var underWay sync.WaitGroup
	var granted *grant.Conn // nil in a session without tools
	if of.tools != nil {
		granted = of.tools.server.Conn(context.Background())
	}
	defer func() {
		underWay.Wait()
		if granted != nil {
			granted.Close()
		}
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close() // its client was answered, or is gone
	}()
	var writing sync.Mutex
	write := func(reply socketReply) {
		text, err := json.Marshal(reply)
		writing.Lock()
		defer writing.Unlock()
		if err != nil || durable.WriteAll(conn, append(text, '\n')) != nil {
			_ = conn.Close() // ends the read loop
		}
	}
	lines := bufio.NewReader(conn)
	for {
		line, err := requestLine(lines)
		if err != nil {
			return
		}
		var request session.Request
		if json.Unmarshal(line, &request) != nil || request.Version > session.RequestVersion {
			request = session.Request{Verb: "\x00"}
		}
		serve := func() {
			reply, ofTool := toolReply(granted, request, write)
			if !ofTool {
				reply = of.answer(request)
			}
			write(reply)
		}
		if request.Version < 2 {
			serve() // version 1 answers requests in order
			continue
		}
		underWay.Go(serve)
	}
}

// drop closes all client connections.
func (s *socketServer) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close() // clients ask the next owner
	}
	clear(s.conns)
}

// close ends the socket. Clients that wait for the end of the session get their answer first,
// within lingering.
func (s *socketServer) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		err = errors.Join(err, conn.SetDeadline(time.Now().Add(finalReplyTimeout)))
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

func listen(ctx context.Context, random func(bytes int) string) (*socketServer, error) {
	listener, dir, name, err := session.NewSocket(ctx, random)
	if err != nil {
		return nil, err
	}
	return &socketServer{dir: dir, name: name, listener: listener, conns: map[net.Conn]struct{}{}}, nil
}

// maxRequest bounds a request line, in bytes.
const maxRequest = 2<<20 + 4<<10

// requestLine reads a line of bounded length.
func requestLine(from *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxRequest:
			return nil, errors.Join(err, io.ErrShortBuffer)
		}
	}
}

// finalReplyTimeout bounds how long the final answers to waiting clients may take.
const finalReplyTimeout = 500 * time.Millisecond

// answer executes a request, and adds the session's record after it.
func (s *supervisor) answer(request session.Request) socketReply {
	if s.remote != nil {
		reply := s.remote.serve(request)
		reply.Record = new(s.remote.reported())
		return reply
	}
	reply := s.serve(request)
	reply.Record = new(s.snapshot())
	return reply
}

// serve executes a request.
func (s *supervisor) serve(request session.Request) socketReply {
	reply := socketReply{Version: max(request.Version, 1), ID: request.ID}
	switch request.Verb {
	case "\x00":
		reply.Error = "request not understood"
	case session.VerbWait:
		<-s.ended
	case session.VerbStop:
		s.requestStop(true)
	case verbState:
	default:
		verb, known := live.Verbs()[request.Verb]
		switch {
		case request.Version < 2 || !known && request.Verb != session.VerbLimits:
			reply.Error, reply.Reason = "unknown verb "+request.Verb, string(fault.Unsupported)
		case !known:
			reply.with(s.limit(request.Params))
		default:
			reply.with(s.runInConversation(func(c *live.Conversation) (any, error) { return verb(c, request.Params) }))
		}
	}
	return reply
}

// limit sets what the session may still spend.
func (s *supervisor) limit(params []byte) (any, error) {
	var p session.LimitsRequest
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fault.New(fault.InvalidParams, "the request is not understood: %w", err)
	}
	return s.allowance.set(p)
}

// runInConversation runs do on the conversation's goroutine, and returns its result.
func (s *supervisor) runInConversation(do func(*live.Conversation) (any, error)) (result any, err error) {
	select {
	case <-s.talkReady:
	case <-s.ended:
	}
	if s.order.Live == nil {
		return nil, fault.New(fault.RunNotSteerable, "run %s is a command: nothing can be said to it", s.order.RunID)
	}
	gone := fault.New(fault.RunNotLive, "the session of run %s is over", s.order.RunID)
	if s.talk == nil {
		return nil, gone
	}
	err = fault.New(fault.Internal, "the request met an internal fault")
	if !s.talk.Await(func() { result, err = do(s.talk) }) {
		return nil, gone
	}
	return result, err
}

const verbState = "state"

// toolReply answers a verb of the grant. ok is false for any other verb.
func toolReply(conn *grant.Conn, request session.Request, again func(socketReply)) (reply socketReply, ok bool) {
	if conn == nil || request.Version < 2 {
		return reply, false
	}
	later := func(r interaction.Record) { again(socketReply{Version: request.Version, ID: request.ID, Result: r}) }
	result, known, err := conn.Handle(request.Verb, request.Params, later)
	if !known {
		return reply, false
	}
	reply = socketReply{Version: request.Version, ID: request.ID, Result: result}
	if err != nil {
		reply.Result, reply.Error, reply.Reason = nil, err.Error(), string(fault.ReasonOf(err))
		if e, ok := errors.AsType[*fault.Error](err); ok {
			reply.Data = e.Data
		}
	}
	return reply, true
}
