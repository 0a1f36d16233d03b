package autonoma

// Tests of the daemon's bounds, with a fake clock where time matters.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ac/dialect/dialecttest"

	"ac/company"
	"ac/dialect"
	"ac/dialect/ws"
	"ac/internal/clock"
	"ac/workspace"
	"ac/workspace/doc"
)

// bare starts a server without a company, for tests that need none. Its clock stands still until
// the test advances it. change runs before the server starts.
func bare(t *testing.T, change func(*server)) (s *server, url string, pass func(time.Duration)) {
	t.Helper()
	var now atomic.Int64
	at := clock.New(func() time.Time { return time.UnixMilli(now.Load()) }, 0)
	s = newServer(&dialect.Company{Clock: at, Log: slog.New(slog.DiscardHandler)}, Options{AnswerWithin: time.Second}, nil)
	change(s)
	listener := dialecttest.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp4", "127.0.0.1:0"))
	server := &http.Server{ConnContext: ws.ConnContext, ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(s.connect)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(ws.Patient(listener, 20*time.Second)) // closed below
	}()
	t.Cleanup(func() {
		s.connections.Shut((*connection).leave)
		s.cancelWork()
		_ = server.Close()
		<-ended
		s.connections.Wait()
	})
	return s, "ws://" + listener.Addr().String(), func(d time.Duration) { now.Add(d.Milliseconds()) }
}

// TestAnswerTooLarge checks that an oversized answer becomes an error that says so, and that the
// connection stays open.
func TestAnswerTooLarge(t *testing.T) {
	t.Parallel()
	_, url, _ := bare(t, func(s *server) {
		for name, size := range map[string]int{"most": maxAnswer, "more": maxAnswer + 1} {
			frame := len(`{"id":1,"result":""}`)
			text := strings.Repeat("x", size-frame)
			s.methods[name] = on(readAccess, func(context.Context, *call, noParams) (any, error) { return text, nil })
		}
	})
	c := dial(t, url)
	c.Send(`{"id":1,"method":"more"}`)
	if got := c.answer("1"); got.raw != `{"id":1,"error":"the answer is too large (16777217 bytes)"}` {
		t.Errorf("%.200s", got.raw)
	}
	c.Send(`{"id":1,"method":"most"}`)
	if got := c.answer("1"); len(got.raw) != maxAnswer || got.Error != nil {
		t.Errorf("%d bytes, %.200s", len(got.raw), got.raw)
	}
}

// TestPanic checks that a panic fails only its own request.
func TestPanic(t *testing.T) {
	t.Parallel()
	_, url, _ := bare(t, func(s *server) {
		s.methods["falls"] = on(writeAccess, func(context.Context, *call, noParams) (any, error) { panic("on purpose") })
		s.methods["stands"] = on(writeAccess, func(context.Context, *call, noParams) (any, error) { return nil, nil })
	})
	c := dial(t, url)
	c.Send(`{"id":1,"method":"falls"}`)
	c.Send(`{"id":2,"method":"stands"}`)
	if got := c.answer("1"); got.raw != `{"id":1,"error":"internal error; see the daemon's log"}` {
		t.Error(got.raw)
	}
	if got := c.answer("2"); got.raw != `{"id":2,"result":null}` {
		t.Error(got.raw)
	}
}

// TestRoom checks the bound on active tasks of clients. Other tasks do not count.
func TestRoom(t *testing.T) {
	t.Parallel()
	of := func(kind string) doc.Job {
		return doc.Job{Status: doc.JobQueued, Order: &doc.JobOrder{Origin: &doc.JobOrigin{Kind: kind}}}
	}
	active := []doc.Job{{}, {Order: &doc.JobOrder{}}, of("workflow"), of("comma")}
	for range maxActive - 1 {
		active = append(active, of(origin))
	}
	if err := roomBeside(active); err != nil {
		t.Errorf("199 active: %v", err)
	}
	if err := roomBeside(append(active, of(origin))); err == nil || err.Error() != "too many tasks are active (200)" {
		t.Errorf("200 active: %v", err)
	}
}

// TestPace checks how often clients receive an execution's progress: at most four times a second,
// and always the newest state. Changes of status are sent at once.
func TestPace(t *testing.T) {
	t.Parallel()
	s, url, pass := bare(t, func(*server) {})
	follower := dial(t, url)
	// barrier returns what a client received before the answer to a new request.
	n := 0
	barrier := func(c *client) (progress []int, statuses []string) {
		n++
		c.Send(fmt.Sprintf(`{"id":%d,"method":"none"}`, n))
		c.answer(strconv.Itoa(n))
		for _, f := range c.Kept {
			var u phaseUpdate
			if err := json.Unmarshal(f.Data, &u); err != nil {
				t.Fatal(err)
			}
			progress = append(progress, u.Progress)
			statuses = append(statuses, strings.Join(strings.Fields(f.Type+" "+u.Phase+" "+u.Status), " "))
		}
		c.Kept = nil
		return progress, statuses
	}
	barrier(follower)
	s.connections.All()[0].follow("job_a", [phaseCount]phase{})
	other := dial(t, url)
	barrier(other)
	at := func(progress int) execution {
		w := newPhaseWalk("")
		w.raise(progress)
		return execution{id: "job_a", phases: w.phases}
	}
	told := map[*client][]time.Duration{}
	for now := time.Duration(0); now < 3*time.Second; now += 10 * time.Millisecond {
		rest := s.watch.tell(t.Context(), s.connections.All(), at(int(now/(40*time.Millisecond))))
		if due := now % pace; due == 0 != (rest == 0) || rest > pace || rest != 0 && due+rest != pace {
			t.Errorf("after %v the next look is due in %v", now, rest)
		}
		for _, c := range []*client{follower, other} {
			if progress, _ := barrier(c); len(progress) > 0 {
				told[c] = append(told[c], now)
			}
		}
		pass(10 * time.Millisecond)
	}
	for c, times := range told {
		if len(times) != 12 {
			t.Errorf("%d times in 3 s: %v", len(times), times)
		}
		for i := range times[min(4, len(times)):] {
			if span := times[i+4] - times[i]; span < time.Second {
				t.Errorf("client %p heard five times in %v", c, span)
			}
		}
	}
	// A change of status is sent at once, although no progress is due yet.
	s.watch.tell(t.Context(), s.connections.All(), at(76))
	barrier(follower)
	w := newPhaseWalk("")
	w.raise(80)
	w.enter(inspect, "")
	s.watch.tell(t.Context(), s.connections.All(), execution{id: "job_a", phases: w.phases})
	_, statuses := barrier(follower)
	if got := strings.Join(statuses, ", "); got != "phase.update research completed, phase.update inspect running, task.update running" {
		t.Error(got)
	}
}

// TestRefusedByPolicy checks that a task that the policy refuses returns an error and creates no
// task.
func TestRefusedByPolicy(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	w := dialecttest.Must(workspace.Open(workspace.SystemEnv(), s.Dir))
	team := dialecttest.Must(w.NewTeam(t.Context(), "Core"))
	dialecttest.Must(w.NewAgent(t.Context(), workspace.AgentSpec{Name: "Insider", Role: "worker", Provider: "cmd", TeamID: team}))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s.End()
	s.Actor = company.ActorParams{ActorID: "agent_outsider", ActorRole: "worker", ActorTeamID: "team_other"}
	s.open()
	c := s.dial()
	for method, params := range map[string]object{
		"agents.invoke": {"agentType": "Insider", "task": "x"}, "background.launch": {"agentType": "Insider", "task": "x"}, "fleet.command": {"target": "Insider", "command": "x"},
	} {
		if why := c.refused(method, params); why != "not allowed: vis.team.mismatch (team_mismatch)" {
			t.Errorf("%s: %s", method, why)
		}
	}
	var rows []backgroundTask
	if c.do("background.list", nil, &rows); len(rows) != 0 {
		t.Errorf("%+v", rows)
	}
}

// switches returns the number of context switches of all threads of a process so far. A process
// whose number stays the same never woke up.
func switches(t *testing.T, pid int) (sum int) {
	t.Helper()
	for _, name := range dialecttest.Must(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))) {
		for line := range strings.Lines(string(dialecttest.Must(os.ReadFile(name)))) {
			if key, value, _ := strings.Cut(line, ":"); strings.HasSuffix(key, "voluntary_ctxt_switches") {
				sum += dialecttest.Must(strconv.Atoi(strings.TrimSpace(value)))
			}
		}
	}
	return sum
}

// watches reports whether a process watches files through inotify. Other tests may have used up
// the user's inotify instances.
func watches(pid int) bool {
	for _, file := range dialecttest.Must(filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))) {
		if to, err := os.Readlink(file); err == nil && to == "anon_inode:inotify" {
			return true
		}
	}
	return false
}

// TestIdle checks that an idle daemon sleeps, even with clients connected and one of them
// following a waiting task.
func TestIdle(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: this system has no table of context switches")
	}
	release := filepath.Join(t.TempDir(), "release")
	s := newStage(t)
	s.End() // the test measures the other daemon
	url, pid, _ := s.daemonProcess()
	c, other := dial(t, url), dial(t, url)
	other.do("agents.list", nil, nil)
	var made executionStarted
	c.do("agents.invoke", object{"agentType": "Coder", "task": "hold " + release}, &made)
	c.Await("the agent is at work", func(f frame) bool { return f.Type == "phase.update" && strings.Contains(f.raw, `"inspect"`) })
	least := -1
	for deadline := time.Now().Add(dialecttest.Patience); least != 0 && time.Now().Before(deadline); {
		before := switches(t, pid)
		time.Sleep(3 * time.Second) // the test measures a time span
		if woken := switches(t, pid) - before; least < 0 || woken < least {
			least = woken
		}
	}
	switch {
	case least == 0:
	case !watches(pid):
		t.Logf("SKIPPED: the daemon looks every second, %d context switches in 3 s: this user has no inotify instance left (fs.inotify.max_user_instances)", least)
	default:
		t.Errorf("%d context switches in 3 s of idleness at best", least)
	}
	dialecttest.Write(t, release, "")
	c.over(made.ExecutionID)
}
