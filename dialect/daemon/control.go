package daemon

// Starting, stopping and finding a background server.

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ac/internal/durable"
	"ac/internal/lock"
	"ac/internal/proc"
)

// How long a server may take to start and to stop, and the polling interval meanwhile.
const (
	startWithin = 5 * time.Second
	stopWithin  = 10 * time.Second
	pollPause   = 20 * time.Millisecond
)

// Running is a running server.
type Running struct {
	Process proc.Identity
	GUID    string
	Address string
	Since   time.Time
}

// Find finds the server of a data directory by the holder of its lock. ok is false if no server
// runs or it does not listen yet.
func Find(dataDir string) (r Running, ok bool, err error) {
	dir, err := durable.OpenRoot(runDir(dataDir))
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	defer func() { _ = dir.Close() }() // opened only for reading
	busy, err := lock.Busy(dir, lockFile)
	if err != nil || !busy {
		return r, false, err
	}
	text, err := durable.ReadFile(dir, lockFile, 64<<10)
	if err != nil {
		return r, false, err
	}
	var who owner
	if json.Unmarshal(text, &who) != nil {
		return r, false, nil // it is being written
	}
	r.Process, r.Address, r.Since = who.process(), who.Address, time.UnixMilli(who.StartedMS)
	if !r.Process.Alive() {
		return r, false, nil // the text is from an earlier holder: the current one does not listen yet
	}
	guid, err := durable.ReadFile(dir, guidFile, 64<<10)
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	r.GUID = strings.TrimSpace(string(guid))
	_, pidErr := dir.Stat(pidFile)
	return r, pidErr == nil, err
}

// Start describes how to start a background server.
type Start struct {
	DataDir string
	Argv    []string // program and arguments
	Dir     string
	// Answers returns nil if the server at r accepts requests and has the guid of r.
	Answers func(ctx context.Context, r Running) error

	within time.Duration // 0 for startWithin
}

// Run starts the server in its own session and returns once it accepts requests. The server's
// stderr goes to the log in the data directory. line is the first line of its stdout.
func (s Start) Run(ctx context.Context) (line string, err error) {
	if _, running, err := Find(s.DataDir); err != nil || running {
		if err == nil {
			err = Failed(ExitRunning, fmt.Errorf("another server runs on %s", s.DataDir))
		}
		return "", err
	}
	run := runDir(s.DataDir)
	if err := os.MkdirAll(run, 0o700); err != nil {
		return "", Failed(ExitRuntime, err)
	}
	log, err := os.OpenFile(filepath.Join(run, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", Failed(ExitRuntime, err)
	}
	defer func() { _ = log.Close() }() // the server has its own descriptor
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return "", Failed(ExitRuntime, err)
	}
	cmd := exec.Command(s.Argv[0], s.Argv[1:]...) //nolint:gosec,noctx // this program; it outlives the command
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = s.Dir, log, proc.NewSession()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", Failed(ExitSpawn, fmt.Errorf("the server could not be started: %w", err))
	}
	return s.await(ctx, cmd, out, func() string { return logged(log.Name(), begin) })
}

// await waits until a started server answers or exits. It kills a server that does neither in time.
func (s Start) await(ctx context.Context, cmd *exec.Cmd, out io.Reader, said func() string) (string, error) {
	within := cmp.Or(s.within, startWithin)
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	first := make(chan string, 1)
	go func() { // ends with the server's output, or with this process
		line, _ := bufio.NewReader(out).ReadString('\n')
		first <- strings.TrimSuffix(line, "\n")
	}()
	late := func() error {
		_ = cmd.Process.Kill() // it may have exited by now
		_ = cmd.Wait()         // it was killed, so its status means nothing
		return Failed(ExitNotStarted, fmt.Errorf("the server did not come up within %v; see its log %s", within, filepath.Join(runDir(s.DataDir), logFile)))
	}
	select {
	case line := <-first:
		if line == "" {
			return "", ended(cmd.Wait(), said())
		}
		for {
			r, ok, err := Find(s.DataDir)
			if err == nil && ok {
				if err = s.Answers(ctx, r); err == nil {
					return line, cmd.Process.Release()
				}
			}
			if !pause(ctx) {
				return "", late()
			}
		}
	case <-ctx.Done():
		return "", late()
	}
}

// ended returns the error of a server that exited before it listened, with the server's exit status
// and its log output.
func ended(err error, said string) error {
	status := ExitSpawn
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		status = exit.ExitCode()
	}
	return Failed(status, errors.New(cmp.Or(complaint(said), "the server ended before it listened")))
}

// complaint returns the last error message in a program's output, without its "error: " prefix. If
// there is none, it returns the whole output.
func complaint(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range slices.Backward(lines) {
		for _, word := range []string{"ERROR: ", "error: "} {
			if why, ok := strings.CutPrefix(line, word); ok {
				return why
			}
		}
	}
	return strings.Join(lines, "\n")
}

// logged returns what a log contains after an offset, at most the last 4 KiB.
func logged(name string, from int64) string {
	f, err := os.Open(name) //nolint:gosec // our own log
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened only for reading
	if st, err := f.Stat(); err == nil {
		from = max(from, st.Size()-4<<10)
	}
	text, _ := io.ReadAll(io.NewSectionReader(f, from, 4<<10)) // best effort: a part is better than nothing
	return string(text)
}

// Stop stops the server of a data directory and waits at most 10 seconds for it to exit.
func Stop(ctx context.Context, dataDir string) error { return stop(ctx, dataDir, stopWithin) }

func stop(ctx context.Context, dataDir string, within time.Duration) error {
	r, ok, err := Find(dataDir)
	if err != nil {
		return err
	}
	if !ok {
		return Failed(ExitFailed, errors.New("not running"))
	}
	if err := r.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for r.Process.Alive() {
		if !pause(ctx) {
			return Failed(ExitNotStopping, fmt.Errorf("process %d did not end within %v", r.Process.PID, within))
		}
	}
	return nil
}

func pause(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(pollPause):
		return true
	}
}
