package session

// The private socket of a supervisor: a line of JSON asks, a line answers. It
// lies outside the workspace, since its path must be short.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/proc"
	"ac/workspace/doc"
)

// socketVersion is the version of the protocol.
const socketVersion = 1

// Verbs that a supervisor understands.
const (
	verbState = "state"
	verbStop  = "stop"
	verbWait  = "wait"
)

type socketRequest struct {
	Version int    `json:"version"`
	Verb    string `json:"verb"`
}

type socketReply struct {
	Version int          `json:"version"`
	Error   string       `json:"error,omitempty"`
	Record  *doc.Session `json:"record,omitempty"`
}

// socketDir is the directory of this user's sockets, made when missing. One
// that is not ours alone is refused.
func socketDir() (string, error) {
	dir := filepath.Join(os.TempDir(), "ac-"+strconv.Itoa(os.Getuid()))
	if runtimeDir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtimeDir) {
		dir = filepath.Join(runtimeDir, "ac")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, ourAlone(dir)
}

// ourAlone refuses a directory that others may enter.
func ourAlone(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || !proc.OwnedByUs(st) {
		return fault.New(fault.Denied, "%s must be a directory that only this user may enter", dir)
	}
	return nil
}

// socketName is what a supervisor names its socket. Records say the name, and a
// record may come from anywhere.
var socketName = regexp.MustCompile(`^[0-9a-f]{16}$`)

func socketPath(dir, name string) (string, error) {
	if !socketName.MatchString(name) {
		return "", fault.New(fault.InvalidFile, "%q is not the name of a socket", name)
	}
	return filepath.Join(dir, name+".sock"), nil
}

// socketOf is the socket of a record: where its supervisor made it, which may have
// been launched from another login than this one, else where it would lie now.
func socketOf(record doc.Session) (string, error) {
	if dir := record.SocketDir; filepath.IsAbs(dir) && filepath.Base(dir) != "" {
		if err := ourAlone(dir); err == nil {
			return socketPath(dir, record.Socket)
		}
	}
	dir, err := socketDir()
	if err != nil {
		return "", err
	}
	return socketPath(dir, record.Socket)
}

// removeSocket removes what a killed supervisor left.
func removeSocket(record doc.Session) {
	for _, of := range []func(doc.Session) (string, error){socketOf, reasonFile} {
		if file, err := of(record); err == nil {
			_ = os.Remove(file) // gone already, or of another boot
		}
	}
}

// socketServer answers for one session.
type socketServer struct {
	dir      string
	name     string
	listener net.Listener
	wg       sync.WaitGroup
	mu       sync.Mutex
	conns    map[net.Conn]struct{}
}

func listen(ctx context.Context, random func(bytes int) string) (*socketServer, error) {
	name := random(8)
	dir, err := socketDir()
	if err != nil {
		return nil, err
	}
	file, err := socketPath(dir, name)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", file)
	if err != nil {
		return nil, err
	}
	return &socketServer{dir: dir, name: name, listener: listener, conns: map[net.Conn]struct{}{}}, nil
}

func (s *socketServer) serve(session *supervisor) {
	s.wg.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[conn] = struct{}{}
			s.mu.Unlock()
			s.wg.Go(func() { s.answer(conn, session) })
		}
	})
}

// maxRequest bounds a request line.
const maxRequest = 4 << 10

func (s *socketServer) answer(conn net.Conn, session *supervisor) {
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
		_ = conn.Close() // it was answered, or is gone
	}()
	lines := bufio.NewReaderSize(conn, maxRequest)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		var request socketRequest
		reply := socketReply{Version: socketVersion}
		switch err := json.Unmarshal(line, &request); {
		case err != nil || request.Version > socketVersion:
			reply.Error = "request not understood"
		case request.Verb == verbWait:
			<-session.ended
		case request.Verb == verbStop:
			session.requestStop(true)
		case request.Verb != verbState:
			reply.Error = "unknown verb " + request.Verb
		}
		reply.Record = new(session.snapshot())
		text, err := json.Marshal(reply)
		if err != nil || durable.WriteAll(conn, append(text, '\n')) != nil {
			return
		}
	}
}

// lingering is how long answers to waiting callers may take at the end.
const lingering = 500 * time.Millisecond

// close ends the socket. Callers that wait for the end of the session get their
// answer first.
func (s *socketServer) close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		err = errors.Join(err, conn.SetDeadline(time.Now().Add(lingering)))
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// errNoSocket says that the supervisor cannot be reached, which proves nothing
// about its life.
var errNoSocket = errors.New("the supervisor's socket cannot be reached")

// ask sends one verb to the supervisor of a record.
func ask(ctx context.Context, record doc.Session, verb string) (doc.Session, error) {
	var none doc.Session
	file, err := socketOf(record)
	if err != nil {
		return none, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || ctx.Err() == nil {
			return none, errNoSocket
		}
		return none, context.Cause(ctx)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends the read below
	defer stop()
	text, err := json.Marshal(socketRequest{Version: socketVersion, Verb: verb})
	if err != nil {
		return none, err
	}
	if err := durable.WriteAll(conn, append(text, '\n')); err != nil {
		return none, errNoSocket
	}
	var reply socketReply
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		if ctx.Err() != nil {
			return none, context.Cause(ctx)
		}
		return none, errNoSocket
	}
	if reply.Error != "" || reply.Record == nil {
		return none, fmt.Errorf("the supervisor answered: %s", reply.Error)
	}
	return *reply.Record, nil
}
