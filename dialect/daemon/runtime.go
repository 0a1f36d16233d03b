// Package daemon manages a background server: its runtime files, the lock that only the running
// server holds, and exit statuses for process supervisors. Other processes use it to find, start
// and stop the server.
package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/lock"
	"ac/internal/proc"
	"ac/internal/ulid"
)

// Exit statuses of a server and of the commands that control one.
const (
	ExitFailed      = 1 // any other failure, or no server runs
	ExitRefused     = 2 // the address or the token file is not allowed
	ExitListen      = 3 // the address is in use, or serving failed
	ExitRuntime     = 4 // a runtime file could not be written
	ExitOptions     = 5 // an option or a setting of the machine is invalid
	ExitRunning     = 6 // another server runs on the data directory
	ExitSpawn       = 7 // the server could not be started
	ExitNotStarted  = 8 // it did not come up in time
	ExitNotStopping = 9 // it did not stop in time
)

// Error is a failure with an exit status.
type Error struct {
	Status int
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *Error) Unwrap() error { return e.Err }

// Failed adds an exit status to an error. It returns nil for nil.
func Failed(status int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{status, err}
}

// The runtime files.
const (
	pidFile   = "daemon.pid"
	portFile  = "daemon.port"
	guidFile  = "daemon.guid"
	beatFile  = "heartbeat"
	tokenFile = "token"
	lockFile  = "lock"
	logFile   = "daemon.log"
	oldLog    = "daemon.log.1"
)

const (
	beatPause = 2 * time.Second
	maxLog    = 10 << 20 // bytes
)

// Runtime manages the runtime files of a running server. It holds their lock.
type Runtime struct {
	dir   *durable.Root
	held  *lock.Hold
	namer durable.Namer
	clock *clock.Clock
	guid  string
	token string
	wrote []string
}

// runDir returns the folder with the runtime files of a data directory.
func runDir(dataDir string) string { return filepath.Join(dataDir, "run") }

// Claim locks the data directory for a server with this guid. Clients of the server need this
// token, "" for none. If another server runs on the directory, the error has status ExitRunning.
// Claim takes over from a dead server; Write then replaces its files.
func Claim(dataDir, guid, token string) (*Runtime, error) {
	return claim(dataDir, guid, token, func(tries int) bool {
		time.Sleep(inheritedPause)
		return tries < inheritedTries
	})
}

// Retry interval and limit for a lock whose owner has died.
const (
	inheritedPause = 20 * time.Millisecond
	inheritedTries = 100
)

// claim is Claim with wait as the pause between two attempts to take the lock of a dead server. A
// child process that the server had just forked inherits the lock and holds it until it executes
// its program.
func claim(dataDir, guid, token string, wait func(tries int) bool) (*Runtime, error) {
	run := runDir(dataDir)
	if err := errors.Join(os.MkdirAll(run, 0o700), os.Chmod(run, 0o700)); err != nil { //nolint:gosec // a directory
		return nil, Failed(ExitRuntime, err)
	}
	dir, err := durable.OpenRoot(run)
	if err != nil {
		return nil, Failed(ExitRuntime, err)
	}
	held, err := lock.Try(dir, lockFile)
	for tries := 1; errors.Is(err, lock.ErrBusy) && !owned(dir) && wait(tries); tries++ {
		held, err = lock.Try(dir, lockFile)
	}
	if err != nil {
		err = errors.Join(err, dir.Close())
		if errors.Is(err, lock.ErrBusy) {
			return nil, Failed(ExitRunning, fmt.Errorf("another server runs on %s", dataDir))
		}
		return nil, Failed(ExitRuntime, err)
	}
	c := clock.System()
	ids := ulid.NewSource(c.Now)
	return &Runtime{
		dir: dir, held: held, clock: c, guid: guid, token: token,
		namer: durable.Namer{PID: os.Getpid(), UnixMS: func() int64 { return c.Now().UnixMilli() }, Random: ids.Hex},
	}, nil
}

// owned reports whether the last writer of the lock file is alive.
func owned(dir *durable.Root) bool {
	var who owner
	text, err := durable.ReadFile(dir, lockFile, 64<<10)
	return err == nil && json.Unmarshal(text, &who) == nil && who.process().Alive()
}

// owner is the content of the lock file: the holder of the lock.
type owner struct {
	PID       int    `json:"pid"`
	Start     string `json:"start"`
	Address   string `json:"address"`
	StartedMS int64  `json:"started_at_ms"`
}

func (o owner) process() proc.Identity { return proc.Identity{PID: o.PID, Start: o.Start} }

// heartbeat is the content of the file of that name.
type heartbeat struct {
	PID  int    `json:"pid"`
	GUID string `json:"guid"`
	AtMS int64  `json:"timestamp_ms"`
}

// Write writes the runtime files of a server that listens on an address. They are durable on
// return.
func (r *Runtime) Write(address string, port int) error {
	self := proc.Self()
	who, err := json.Marshal(owner{self.PID, self.Start, address, r.clock.Now().UnixMilli()})
	if err != nil {
		return Failed(ExitRuntime, err)
	}
	// In place, not by renaming: the lock is on the file itself.
	if err := os.WriteFile(filepath.Join(r.dir.Path(), lockFile), append(who, '\n'), 0o600); err != nil {
		return Failed(ExitRuntime, err)
	}
	files := []struct{ name, text string }{
		{portFile, strconv.Itoa(port)}, {guidFile, r.guid}, {tokenFile, r.token}, {pidFile, strconv.Itoa(self.PID)},
	}
	if err := r.beat(); err != nil {
		return err
	}
	for _, f := range files {
		if f.text == "" {
			continue
		}
		mode := fs.FileMode(0o644)
		if f.name == tokenFile {
			mode = 0o600
		}
		if err := r.namer.Write(r.dir, f.name, []byte(f.text+"\n"), mode); err != nil {
			return Failed(ExitRuntime, err)
		}
		r.wrote = append(r.wrote, f.name)
	}
	return nil
}

func (r *Runtime) beat() error {
	text, err := json.Marshal(heartbeat{os.Getpid(), r.guid, r.clock.Now().UnixMilli()})
	if err == nil {
		err = r.namer.WriteUnsynced(r.dir, beatFile, append(text, '\n'), 0o644)
	}
	return Failed(ExitRuntime, err)
}

// Beat updates the heartbeat and bounds the log until ctx is done. If writes fail, the heartbeat
// becomes stale, which its readers notice.
func (r *Runtime) Beat(ctx context.Context) {
	for tick := time.NewTicker(beatPause); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			_ = r.beat()
			_ = r.turnLog()
		}
	}
}

// turnLog rotates the log of a background server if it exceeds maxLog. It copies the content to the
// old log and truncates the file, because the server has it open for appending.
func (r *Runtime) turnLog() error {
	st, err := r.dir.Stat(logFile)
	if err != nil || st.Size() <= maxLog {
		return err
	}
	content, err := durable.ReadFile(r.dir, logFile, 2*maxLog)
	if err != nil {
		return err
	}
	if err := r.namer.WriteUnsynced(r.dir, oldLog, content, 0o600); err != nil {
		return err
	}
	return os.Truncate(filepath.Join(r.dir.Path(), logFile), 0)
}

// Remove removes the runtime files and unlocks the data directory.
func (r *Runtime) Remove() error {
	var failed error
	for _, name := range append(r.wrote, beatFile) {
		if err := r.dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, r.held.Release(), r.dir.Close())
}
