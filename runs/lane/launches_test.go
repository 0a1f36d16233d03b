package lane_test

// The lane in real launches: several processes, request order, and server shutdown.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ac/company"
	"ac/company/orchestration"
	"ac/internal/lock"
	"ac/internal/runtimetest"
	"ac/rpc"
	"ac/runs/lane"
	"ac/runs/session"
	"ac/runs/session/supervisor"
	"ac/workspace"
)

const asLauncher = "LANE_TEST_LAUNCHER"

// TestMain lets the test binary run as a session's supervisor or guard, a process of a lane, or
// a launcher.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case session.SuperviseCommand:
			exit(supervisor.Main(os.Args[0], os.Stdin, os.Stdout, nil))
		case session.GuardCommand:
			exit(session.RunGuard())
		}
	}
	if errand := os.Getenv(lane.AsProcess); errand != "" {
		exit(lane.Launches(errand, os.Stdin, os.Stdout))
	}
	if text := os.Getenv(asLauncher); text != "" {
		exit(launch(text))
	}
	os.Exit(runtimetest.With(m).Run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type order struct{ Dir, Project, Run string }

func companies() (*company.Host, error) {
	executable, err := os.Executable()
	return company.New(company.Options{Env: workspace.SystemEnv(), Executable: executable}), err
}

// launch launches one run in a lane with two slots and waits for it to end.
func launch(text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	all, err := companies()
	if err != nil {
		return err
	}
	p := orchestration.LaunchParams{Dir: company.Dir{WorkspaceDir: o.Dir}, ProjectID: o.Project, RunID: o.Run}
	p.Argv, p.WorkspaceLimit, p.ProviderLimit, p.TeamLimit = []string{"true"}, 2, 2, 2
	p.By("human", "human", "")
	launched, err := company.Do(context.Background(), all, orchestration.Operations.Launch, p)
	if err != nil {
		return err
	}
	got, err := all.CollectSession(context.Background(), company.SessionParams{
		MaybeDir: company.MaybeDir{WorkspaceDir: o.Dir}, SessionRef: launched.SessionRef,
	})
	if err == nil && got.Status != "ended" {
		err = fmt.Errorf("the session is %+v", got)
	}
	return errors.Join(err, all.Close())
}

// office returns a workspace with a project, and orders for runs that were not launched yet.
func office(t *testing.T, runs int) (w *workspace.Workspace, orders []order) {
	t.Helper()
	dir := t.TempDir()
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Lanes"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	project, err := w.NewProject(t.Context(), "Launches")
	if err != nil {
		t.Fatal(err)
	}
	all, err := companies()
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	for range runs {
		made, err := company.Do(t.Context(), all, orchestration.Operations.CreateRun, orchestration.CreateRunParams{Dir: company.Dir{WorkspaceDir: dir}, ProjectID: project, AgentID: "agent_x", Provider: "cmd"})
		if err != nil {
			t.Fatal(err)
		}
		orders = append(orders, order{dir, project, made.RunID})
	}
	return w, orders
}

// inLane counts the running and the waiting launches while it holds the lane's lock.
func inLane(t *testing.T, w *workspace.Workspace, mutex *lock.Mutex) (running, waiting int) {
	t.Helper()
	unlock, err := mutex.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entries, err := w.FS.ReadDir(".local/lanes")
	if err = errors.Join(err, unlock()); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), ".running"):
			running++
		case strings.HasSuffix(e.Name(), ".waiting"):
			waiting++
		}
	}
	return running, waiting
}

// TestTenLaunchesOverALaneOfTwo launches from ten processes at once and checks that at most two
// launches are prepared at a time and all sessions end.
func TestTenLaunchesOverALaneOfTwo(t *testing.T) {
	t.Parallel()
	w, orders := office(t, 10)
	// Keep the lane full until all launches wait in it.
	full, limits := lane.New(w), lane.Limits{Workspace: 2, Provider: 2, Team: 2}
	var before []*lane.Ticket
	for range 2 {
		ticket, err := full.Enter(t.Context(), lane.Request{Provider: "cmd", Limits: limits})
		if err != nil || !ticket.Granted() {
			t.Fatal(ticket, err)
		}
		before = append(before, ticket)
	}
	done := make(chan error, len(orders))
	for _, o := range orders {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), asLauncher+"="+string(text))
		cmd.Stderr = os.Stderr
		go func() { done <- cmd.Run() }() // awaited below
	}
	mutex := lock.NewMutex(w.FS, ".local/lanes/launch.lock")
	if err := w.Replace(".local/lanes/seen", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	looks, most, waited := 0, 0, 0
	for left := len(orders); left > 0; {
		running, waiting := inLane(t, w, mutex)
		if waiting == len(orders) {
			for _, ticket := range before {
				ticket.Leave()
			}
			before = nil
		}
		looks, most, waited = looks+1, max(most, running), max(waited, waiting)
		if running > 2 {
			t.Errorf("%d launches are being prepared at once", running)
		}
		select {
		case err := <-done:
			left--
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Millisecond): // polling interval
		}
	}
	t.Logf("looked %d times: at most %d were prepared at once, %d waited", looks, most, waited)
	if most != 2 || waited != len(orders) {
		t.Errorf("at most %d were prepared at once, %d waited", most, waited)
	}
	if running, waiting := inLane(t, w, mutex); running+waiting > 0 {
		t.Errorf("%d and %d launches are left", running, waiting)
	}
}

// server is an in-process server with a client.
type server struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	ended chan error
}

func serve(t *testing.T) *server {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := &server{t: t, in: inW, lines: make(chan string, 64), ended: make(chan error, 1)}
	go func() {
		s.ended <- rpc.Serve(context.Background(), rpc.Options{
			In: inR, Out: outW, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv(), Executable: executable, Version: "test",
		})
		outW.Close()
	}()
	go func() { // ends when the output is closed
		defer close(s.lines)
		lines := bufio.NewScanner(outR)
		for lines.Scan() {
			s.lines <- lines.Text()
		}
	}()
	return s
}

func (s *server) send(id int, method string, params any) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, err = s.in.Write(append(text, '\n'))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// answer returns the next answer, which must belong to request id.
func (s *server) answer(id int) string {
	s.t.Helper()
	select {
	case line := <-s.lines:
		if !strings.Contains(line, fmt.Sprintf(`"id":%d,`, id)) && !strings.Contains(line, fmt.Sprintf(`"id":%d}`, id)) {
			s.t.Fatalf("answered %s, want the answer to %d", line, id)
		}
		return line
	case <-time.After(20 * time.Second):
		s.t.Fatalf("no answer to %d", id)
		return ""
	}
}

func (s *server) close() {
	s.t.Helper()
	if err := s.in.Close(); err != nil {
		s.t.Error(err)
	}
	if err := <-s.ended; err != nil {
		s.t.Error(err)
	}
}

// occupy takes the lane's only slot.
func occupy(t *testing.T, w *workspace.Workspace) *lane.Ticket {
	t.Helper()
	place, err := lane.New(w).Enter(t.Context(), lane.Request{Limits: lane.Limits{Workspace: 1, Provider: 1, Team: 1}})
	if err != nil || !place.Granted() {
		t.Fatalf("the lane is not empty: %v", err)
	}
	t.Cleanup(place.Leave)
	return place
}

func (o order) params(more map[string]any) map[string]any {
	params := map[string]any{"workspace_dir": o.Dir, "project_id": o.Project, "run_id": o.Run, "argv": []string{"true"}}
	for key, value := range more {
		params[key] = value
	}
	return params
}

// TestWaitingLaunchHoldsNobodyUp checks that requests sent after a waiting launch are served,
// except those for its own session, which wait for it.
func TestWaitingLaunchHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		t.Run(fmt.Sprintf("workspace named %v", named), func(t *testing.T) {
			t.Parallel()
			w, orders := office(t, 2)
			place := occupy(t, w)
			s := serve(t)
			defer s.close()
			ref := map[string]any{"session_ref": session.LocalRef(orders[0].Run)}
			if named {
				ref["workspace_dir"] = orders[0].Dir
			}
			s.send(1, "session.launch", orders[0].params(nil))
			s.send(2, "run.create", map[string]any{"workspace_dir": w.Dir(), "project_id": orders[0].Project, "agent_id": "a", "provider": "cmd"})
			if line := s.answer(2); !strings.Contains(line, "run_id") {
				t.Fatal(line)
			}
			s.send(3, "session.poll", ref)
			s.send(4, "session.stop", map[string]any{"session_ref": "other", "workspace_dir": w.Dir()})
			if line := s.answer(4); !strings.Contains(line, "not_found") {
				t.Fatal(line)
			}
			place.Leave()
			launched, polled := "", ""
			for range 2 { // the poll and the launch may be answered in either order
				line := <-s.lines
				if strings.Contains(line, `"id":1`) {
					launched = line
				} else {
					polled = line
				}
			}
			if !strings.Contains(launched, `"session_ref"`) || !strings.Contains(polled, `"status"`) {
				t.Fatalf("launched: %s, polled: %s", launched, polled)
			}
			s.send(5, "session.collect", ref)
			if line := s.answer(5); !strings.Contains(line, `"status":"ended"`) {
				t.Fatal(line)
			}
		})
	}
}

// TestRunLaunchedMeanwhile checks that a launch repeats its checks after waiting, as its run
// may have been launched meanwhile.
func TestRunLaunchedMeanwhile(t *testing.T) {
	t.Parallel()
	w, orders := office(t, 1)
	place := occupy(t, w)
	s := serve(t)
	defer s.close()
	o := orders[0]
	s.send(1, "session.launch", o.params(map[string]any{"session_ref": "late"}))
	s.send(2, "system.ping", map[string]any{})
	s.answer(2)
	s.send(3, "session.launch", o.params(map[string]any{"lane_workspace_limit": 9, "lane_provider_limit": 9, "lane_team_limit": 9, "lane_priority": "high"}))
	if line := s.answer(3); !strings.Contains(line, `"session_ref"`) {
		t.Fatal(line)
	}
	s.send(4, "session.collect", map[string]any{"session_ref": session.LocalRef(o.Run), "workspace_dir": o.Dir})
	s.answer(4)
	place.Leave()
	if line := s.answer(1); !strings.Contains(line, `"reason":"conflict"`) {
		t.Fatal(line)
	}
}

// TestEndOfServer checks that a server that ends answers a waiting launch and a poll that waits
// for it, and launches nothing.
func TestEndOfServer(t *testing.T) {
	t.Parallel()
	w, orders := office(t, 1)
	occupy(t, w)
	s := serve(t)
	s.send(1, "session.launch", orders[0].params(nil))
	s.send(2, "session.poll", map[string]any{"session_ref": session.LocalRef(orders[0].Run), "workspace_dir": w.Dir()})
	began := time.Now()
	s.close()
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("the server took %s to end", d)
	}
	for range 2 {
		if line := <-s.lines; !strings.Contains(line, `"reason":"shutting_down"`) || !strings.Contains(line, "-32000") {
			t.Errorf("answered %s", line)
		}
	}
	if _, err := session.Read(w, session.LocalRef(orders[0].Run)); err == nil {
		t.Error("there is a session record")
	}
}
