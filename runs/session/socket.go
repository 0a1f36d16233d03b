package session

// The private socket of a supervisor: each request and each reply is a line of JSON. The socket
// is outside the workspace, because its path must be short.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/lazyregexp"
	"ac/internal/pipe"
	"ac/internal/proc"
	"ac/runs/grant"
	"ac/workspace/doc"
)

// RequestVersion is the version of the protocol. Requests without a version, or with version 1,
// get replies in version 1.
const RequestVersion = 2

// Verbs of version 1.
const (
	VerbStop = "stop"
	VerbWait = "wait"
)

// Request is one line from a client to a supervisor.
type Request struct {
	Version int             `json:"version"`
	Verb    string          `json:"verb"`
	ID      json.RawMessage `json:"id,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// socketDir returns the directory of this user's sockets and creates it if missing. It fails if
// anybody else may enter the directory.
func socketDir() (string, error) {
	dir := socketDirPath()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, checkPrivate(dir)
}

// maxSocketDir is the longest directory path, in bytes. macOS allows 103 bytes for the path of a
// socket, Linux 107.
const maxSocketDir = 103 - len("/0123456789abcdef.sock")

// socketDirPath returns the directory of this user's sockets.
func socketDirPath() string {
	return socketDirFor(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), os.Getuid())
}

// socketDirFor returns the first candidate directory that is short enough. Some temporary
// directories have paths too long for a socket.
func socketDirFor(runtimeDir, tempDir string, user int) string {
	own := "ac-" + strconv.Itoa(user)
	if place := filepath.Join(runtimeDir, "ac"); filepath.IsAbs(runtimeDir) && len(place) <= maxSocketDir {
		return place
	}
	if place := filepath.Join(tempDir, own); len(place) <= maxSocketDir {
		return place
	}
	return filepath.Join("/tmp", own)
}

// checkPrivate returns an error if others may enter the directory.
func checkPrivate(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() || st.Mode().Perm()&0o077 != 0 || !proc.OwnedByUs(st) {
		return fault.New(fault.Denied, "%s must be a directory that only this user may enter", dir)
	}
	return nil
}

// socketName matches the names of sockets. Names are checked because a record may come from
// anywhere.
var socketName = lazyregexp.New(`^[0-9a-f]{16}$`)

func socketPath(dir, name string) (string, error) {
	if !socketName().MatchString(name) {
		return "", fault.New(fault.InvalidFile, "%q is not the name of a socket", name)
	}
	return filepath.Join(dir, name+".sock"), nil
}

// socketOf returns the path of a record's socket. It is in the directory where the supervisor
// created it, possibly under another login, or else in the current directory of sockets.
func socketOf(record doc.Session) (string, error) {
	if dir := record.SocketDir; filepath.IsAbs(dir) && filepath.Base(dir) != "" {
		if err := checkPrivate(dir); err == nil {
			return socketPath(dir, record.Socket)
		}
	}
	dir := socketDirPath()
	if err := checkPrivate(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return socketPath(dir, record.Socket)
}

// RemoveSocket removes the socket, the reason file and the grants of a killed supervisor.
func RemoveSocket(record doc.Session) {
	for _, of := range []func(doc.Session) (string, error){socketOf, reasonFile} {
		if file, err := of(record); err == nil {
			_ = os.Remove(file) // may be gone already, or from another boot
			grant.Remove(filepath.Dir(file), record.Socket)
		}
	}
}

// NewSocket creates a socket in this user's socket directory. SocketFile resolves its directory
// and name to a path.
func NewSocket(ctx context.Context, random func(bytes int) string) (listener net.Listener, dir, name string, err error) {
	name = random(8)
	if dir, err = socketDir(); err != nil {
		return nil, "", "", err
	}
	file, err := socketPath(dir, name)
	if err != nil {
		return nil, "", "", err
	}
	listener, err = pipe.Listen(ctx, file)
	return listener, dir, name, err
}

// errNoSocket means that the supervisor is unreachable, which does not prove it dead.
var errNoSocket = errors.New("the supervisor's socket cannot be reached")

// errUnanswered means that the connection ended after the request was sent: the outcome is
// unknown.
var errUnanswered = fmt.Errorf("%w any more", errNoSocket)

// ask sends a version 1 verb to a record's supervisor.
func ask(ctx context.Context, record doc.Session, verb string) (doc.Session, error) {
	reply, err := exchange(ctx, record, Request{Version: 1, Verb: verb})
	if err == nil && (reply.Error != "" || reply.Record == nil) {
		err = fmt.Errorf("the supervisor answered: %s", reply.Error)
	}
	if err != nil {
		return doc.Session{}, err
	}
	return *reply.Record, nil
}

// socketReply is a reply as its reader decodes it.
type socketReply struct {
	Error  string          `json:"error"`
	Reason string          `json:"reason"`
	Data   json.RawMessage `json:"data"`
	Record *doc.Session    `json:"record"`
	Result json.RawMessage `json:"result"`
}

// exchange sends a request to the supervisor of a record and reads its reply.
func exchange(ctx context.Context, record doc.Session, request Request) (reply socketReply, err error) {
	file, err := socketOf(record)
	if err != nil {
		return reply, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", file)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || ctx.Err() == nil {
			return reply, errNoSocket
		}
		return reply, context.Cause(ctx)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // interrupts the read below
	defer stop()
	text, err := json.Marshal(request)
	if err != nil {
		return reply, err
	}
	if err := durable.WriteAll(conn, append(text, '\n')); err != nil {
		return reply, errNoSocket
	}
	if err := json.NewDecoder(conn).Decode(&reply); err != nil {
		if ctx.Err() != nil {
			return reply, context.Cause(ctx)
		}
		return reply, errUnanswered
	}
	return reply, nil
}

// SocketFile returns the path of a socket, by its name and the directory in its record. It falls
// back to the current directory of this user's sockets.
func SocketFile(dir, name string) (string, error) {
	return socketOf(doc.Session{Socket: name, SocketDir: dir})
}
