// Package demo demonstrates ac in half a minute with real processes, events, a killed server, and
// verified logs. It checks everything that it claims and fails if a claim does not hold.
package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options configures a demo.
type Options struct {
	Executable string
	Out        io.Writer
	Remove     bool // remove the folder at the end
}

// stage holds the company of the demo.
type stage struct {
	opts    Options
	dir     string // the workspace
	project string
	cast    []*actor
	board   *board
}

// actor is an agent with its run.
type actor struct {
	name    string
	team    string
	script  string
	agentID string
	runID   string
}

// The scripts of the three agents. The last agent must be stopped: it ignores SIGTERM and leaves a
// grandchild process.
const (
	buildScript  = `for step in plan code test review; do echo "build: $step"; sleep 0.4; done`
	reportScript = `for page in 1 2 3 4 5; do echo "report: page $page"; sleep 0.35; done; echo "report: done" >&2`
	watchScript  = `trap "" TERM; sleep 300 & while :; do echo "watch: all quiet"; sleep 0.5; done`
)

// Run runs the demo.
func Run(ctx context.Context, opts Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, program := range []string{"sh", "sleep"} { // the agents are shell scripts
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("the agents of the demo need %s: %w", program, err)
		}
	}
	top, err := os.MkdirTemp("", "ac-demo-")
	if err != nil {
		return err
	}
	if opts.Remove {
		defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	}
	s := &stage{opts: opts, dir: filepath.Join(top, "acme"), cast: []*actor{
		{name: "Ann", team: "Engineering", script: buildScript},
		{name: "Ben", team: "Product", script: reportScript},
		{name: "Cleo", team: "Operations", script: watchScript},
	}}
	s.board = newBoard(opts.Out)
	if err := s.found(ctx); err != nil {
		return fmt.Errorf("create the company: %w", err)
	}
	if err := s.work(ctx); err != nil {
		return err
	}
	if err := s.audit(ctx); err != nil {
		return err
	}
	s.close()
	return nil
}

func (s *stage) say(format string, args ...any) { s.board.say(format, args...) }

// ac runs one command of the program and returns its trimmed output.
func (s *stage) ac(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.opts.Executable, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("ac %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

// found creates the company with ordinary commands.
func (s *stage) found(ctx context.Context) error {
	s.say("A company in %s", s.dir)
	if _, err := s.ac(ctx, "workspace:init", s.dir, "--name", "Acme"); err != nil {
		return err
	}
	for _, a := range s.cast {
		team, err := s.ac(ctx, "team:new", s.dir, "--name", a.team)
		if err != nil {
			return err
		}
		if a.agentID, err = s.ac(ctx, "agent:new", s.dir, "--name", a.name, "--role", "worker", "--provider", "cmd", "--team", team); err != nil {
			return err
		}
		s.say("  %-12s %s", a.team, a.name)
	}
	return nil
}

// work runs the main part: launch, watch, kill the server, resume, stop.
func (s *stage) work(ctx context.Context) error {
	server, err := s.spawn(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = server.kill() }() // no-op if it has already ended
	if err := s.launchAll(ctx, server); err != nil {
		return err
	}
	if err := s.board.wait(ctx, 12); err != nil {
		return err
	}
	if err := server.kill(); err != nil {
		return err
	}
	before := s.board.lastSeqs() // everything that the server sent has been read
	s.say("The server is killed with SIGKILL after %d events. The runs go on.", s.board.count())
	if err := s.awaitGrowth(ctx, before); err != nil {
		return err
	}
	again, err := s.spawn(ctx, before)
	if err != nil {
		return err
	}
	s.say("Another server takes over and sends the missed events.")
	if err := s.finish(ctx, again); err != nil {
		return err
	}
	return again.end()
}

// launchAll creates the project and the runs, and launches their sessions.
func (s *stage) launchAll(ctx context.Context, server *server) error {
	var project struct {
		ProjectID string `json:"project_id"`
	}
	err := server.call(ctx, "workspace.project.create_with_defaults", params{"workspace_dir": s.dir, "name": "Launch"}, &project)
	if err != nil {
		return err
	}
	s.project = project.ProjectID
	for _, a := range s.cast {
		var run struct {
			RunID string `json:"run_id"`
		}
		p := params{"workspace_dir": s.dir, "project_id": s.project, "agent_id": a.agentID, "provider": "cmd"}
		if err := server.call(ctx, "run.create", p, &run); err != nil {
			return err
		}
		a.runID = run.RunID
		s.board.introduce(a.runID, a.name)
	}
	s.say("Three agents start, each in a process of its own:")
	for _, a := range s.cast {
		p := params{"workspace_dir": s.dir, "project_id": s.project, "run_id": a.runID, "argv": []string{"sh", "-c", a.script}}
		if err := server.call(ctx, "session.launch", p, nil); err != nil {
			return err
		}
	}
	return nil
}

// awaitGrowth waits, without a server, until a log has more lines than were seen. This shows that
// the runs are alive.
func (s *stage) awaitGrowth(ctx context.Context, seen map[string]int64) error {
	for {
		more := 0
		for _, a := range s.cast[1:] {
			text, err := os.ReadFile(s.log(a))
			if err != nil {
				return err
			}
			if int64(bytes.Count(text, []byte("\n"))) > seen[a.runID] {
				more++
			}
		}
		if more > 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("the runs did not go on without the server")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *stage) log(a *actor) string {
	return filepath.Join(s.dir, "work", "projects", s.project, "runs", a.runID, "events.jsonl")
}

// finish waits for the agents that end by themselves, and stops the remaining one.
func (s *stage) finish(ctx context.Context, server *server) error {
	for _, a := range s.cast[:2] {
		if err := s.collect(ctx, server, a, "ended"); err != nil {
			return err
		}
	}
	stubborn := s.cast[2]
	s.say("%s does not end by itself and ignores SIGTERM. It is stopped:", stubborn.name)
	p := params{"workspace_dir": s.dir, "session_ref": "local_" + stubborn.runID}
	if err := server.call(ctx, "session.stop", p, nil); err != nil {
		return err
	}
	if err := s.collect(ctx, server, stubborn, "stopped"); err != nil {
		return err
	}
	return s.board.waitTerminal(ctx, len(s.cast))
}

func (s *stage) collect(ctx context.Context, server *server, a *actor, want string) error {
	var end struct {
		Status string `json:"status"`
	}
	p := params{"workspace_dir": s.dir, "session_ref": "local_" + a.runID}
	if err := server.call(ctx, "session.collect", p, &end); err != nil {
		return err
	}
	if end.Status != want {
		return fmt.Errorf("the run of %s is %s, not %s", a.name, end.Status, want)
	}
	return nil
}

// audit verifies the logs, and shows that log:verify detects a changed byte.
func (s *stage) audit(ctx context.Context) error {
	if err := s.board.gapless(); err != nil {
		return err
	}
	s.say("Every event arrived once and in order, across both servers: %d in all.", s.board.count())
	sound, err := s.ac(ctx, "log:verify", s.dir)
	if err != nil {
		return err
	}
	s.say("  ac log:verify   %s", sound)
	log := s.log(s.cast[0])
	whole, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	tampered := bytes.Replace(whole, []byte("build: test"), []byte("build: best"), 1)
	if err := os.WriteFile(log, tampered, 0o600); err != nil {
		return err
	}
	found, err := s.ac(ctx, "log:verify", s.dir)
	if err == nil {
		return errors.New("a tampered byte was not found")
	}
	s.say("One byte of %s's log is changed. It is found:", s.cast[0].name)
	for line := range strings.Lines(found) {
		s.say("  %s", strings.ReplaceAll(strings.TrimSpace(line), s.dir, "acme"))
	}
	return os.WriteFile(log, whole, 0o600)
}

// close prints a summary and the next steps.
func (s *stage) close() {
	dir := s.dir
	s.say("")
	s.say("What you saw:")
	s.say("  - a company as a folder of plain files: %s", dir)
	s.say("  - three concurrent runs, %d events streamed as they happened", s.board.count())
	s.say("  - a server killed midway: no run lost, no event missing or duplicated")
	s.say("  - a process that ignores SIGTERM stopped, with all its descendants")
	s.say("  - every log sealed by a hash chain; one changed byte found, with its position")
	if s.opts.Remove {
		return
	}
	s.say("Look next (from a clone, go run ./cmd/ac stands for ac):")
	s.say("  ac run:list %s", dir)
	s.say("  ac run:replay %s --project %s --run %s --mode verified", dir, s.project, s.cast[1].runID)
	s.say("  ac log:verify %s", dir)
	s.say("  ac server:start          (JSON-RPC over stdio; ac protocol:schema describes it)")
}
