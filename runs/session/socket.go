package session

// The private socket of a supervisor: a line of JSON asks, a line answers. It
// lies outside the workspace, since its path must be short.

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

// RequestVersion is the version of the protocol. What has no version, or the first, is
// answered as it was in that.
const RequestVersion = 2

// Verbs that a supervisor understands.
const (
	VerbStop = "stop"
	VerbWait = "wait"
)

// Request is a line of who asks a supervisor.
type Request struct {
	Version int             `json:"version"`
	Verb    string          `json:"verb"`
	ID      json.RawMessage `json:"id,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// socketDir is the directory of this user's sockets, made when missing. One
// that is not ours alone is refused.
func socketDir() (string, error) {
	dir := socketPlace()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, ourAlone(dir)
}

// longestPlace is how many bytes the path of the directory may have: macOS has room for 103 of the
// path of a socket, Linux for 107.
const longestPlace = 103 - len("/0123456789abcdef.sock")

// socketPlace is where the directory of this user's sockets lies.
func socketPlace() string {
	return placeWithin(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir(), os.Getuid())
}

// placeWithin is the first place that is short enough: temporary directories may have longer
// paths than a socket can.
func placeWithin(runtimeDir, tempDir string, user int) string {
	own := "ac-" + strconv.Itoa(user)
	if place := filepath.Join(runtimeDir, "ac"); filepath.IsAbs(runtimeDir) && len(place) <= longestPlace {
		return place
	}
	if place := filepath.Join(tempDir, own); len(place) <= longestPlace {
		return place
	}
	return filepath.Join("/tmp", own)
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
var socketName = lazyregexp.New(`^[0-9a-f]{16}$`)

func socketPath(dir, name string) (string, error) {
	if !socketName().MatchString(name) {
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
	dir := socketPlace()
	if err := ourAlone(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return socketPath(dir, record.Socket)
}

// RemoveSocket removes what a killed supervisor left.
func RemoveSocket(record doc.Session) {
	for _, of := range []func(doc.Session) (string, error){socketOf, reasonFile} {
		if file, err := of(record); err == nil {
			_ = os.Remove(file) // gone already, or of another boot
			grant.Remove(filepath.Dir(file), record.Socket)
		}
	}
}

// NewSocket makes a socket among those of this user's sessions. SocketFile finds it by its
// directory and name.
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

// errNoSocket says that the supervisor cannot be reached, which proves nothing
// about its life.
var errNoSocket = errors.New("the supervisor's socket cannot be reached")

// errUnanswered says that the supervisor had the request when its connection ended: what it
// made of it is not known.
var errUnanswered = fmt.Errorf("%w any more", errNoSocket)

// ask sends one verb of the first version to the supervisor of a record.
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

// heard is a reply as its reader has it.
type heard struct {
	Error  string          `json:"error"`
	Reason string          `json:"reason"`
	Data   json.RawMessage `json:"data"`
	Record *doc.Session    `json:"record"`
	Result json.RawMessage `json:"result"`
}

// exchange sends a request to the supervisor of a record and reads its reply.
func exchange(ctx context.Context, record doc.Session, request Request) (reply heard, err error) {
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
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends the read below
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

// SocketFile is the file of a socket by its name and by the directory that a record names
// for it: where it was made, else where it would lie now.
func SocketFile(dir, name string) (string, error) {
	return socketOf(doc.Session{Socket: name, SocketDir: dir})
}
