package company_test

// A day without work, in a process with an open company, a heartbeat and a subscribed client. A
// manual clock simulates the day. Everything else is as in a server.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/company"
	"ac/feed"
	"ac/internal/clock"
	"ac/internal/ulid"
	"ac/rpc"
	"ac/workspace"
)

// day is a manual clock with timers.
type day struct {
	mu     sync.Mutex
	now    time.Time
	timers []*dayTimer
	fired  int
}

type dayTimer struct {
	day *day
	at  time.Time
	do  func()
}

func (d *day) Now() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

func (d *day) after(wait time.Duration, do func()) clock.Timer {
	d.mu.Lock()
	defer d.mu.Unlock()
	timer := &dayTimer{d, d.now.Add(wait), do}
	d.timers = append(d.timers, timer)
	return timer
}

// Stop implements clock.Timer.
func (t *dayTimer) Stop() bool {
	t.day.mu.Lock()
	defer t.day.mu.Unlock()
	i := slices.Index(t.day.timers, t)
	if i < 0 {
		return false
	}
	t.day.timers = slices.Delete(t.day.timers, i, i+1)
	return true
}

// next removes the first timer due by until and returns it, or nil if there is none. It sets the
// clock to that timer's time.
func (d *day) next(until time.Time) *dayTimer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var first *dayTimer
	for _, t := range d.timers {
		if !t.at.After(until) && (first == nil || t.at.Before(first.at)) {
			first = t
		}
	}
	if first != nil {
		i := slices.Index(d.timers, first)
		d.timers, d.now, d.fired = slices.Delete(d.timers, i, i+1), first.at, d.fired+1
	}
	return first
}

// pass advances the clock and runs the due timers one after another. It returns the wake-ups.
func (d *day) pass(long time.Duration) (wakeups int) {
	until := d.Now().Add(long)
	for t := d.next(until); t != nil; t = d.next(until) {
		t.do()
		wakeups++
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now = until
	return wakeups
}

// listener counts the notifications of a client.
type listener struct{ n atomic.Int64 }

// Notify implements feed.Sink.
func (l *listener) Notify(context.Context, []byte) error {
	l.n.Add(1)
	return nil
}

// sleeper is a company without work, in a process with a listener. A fake program replaces ac and
// every agent, and records its starts.
type sleeper struct {
	bystander
	*day

	heard   *listener
	agent   string // a worker
	started string // file with the recorded starts
}

// newSleeper creates a company, with or without departments, that has a task planned for next year.
func newSleeper(t *testing.T, departments bool) *sleeper {
	t.Helper()
	bin := t.TempDir()
	s := &sleeper{day: &day{now: time.Date(2036, 11, 20, 12, 0, 0, 0, time.UTC)}, heard: &listener{}, started: filepath.Join(bin, "started")}
	program := filepath.Join(bin, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$@\" >>"+s.started+"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	env := workspace.SystemEnv()
	env.Clock, env.IDs = clock.New(s.Now, 0).WithTimers(s.after), ulid.NewSource(s.Now)
	hub := feed.NewHub(s.heard, env.Clock, env.IDs.New)
	s.bystander = bystander{t: t, dir: filepath.Join(t.TempDir(), "ws"), table: rpc.NewTable("test")}
	s.all = company.New(company.Options{Env: env, Executable: program, Hub: hub, Stderr: io.Discard})
	t.Cleanup(func() {
		hub.Close()
		if err := s.all.Close(); err != nil {
			t.Error(err)
		}
	})
	if departments {
		s.must("workspace.bootstrap.enterprise", `{"workspace_dir":"DIR","departments":["qa"]}`)
	} else {
		s.must("workspace.init", `{"workspace_dir":"DIR"}`)
	}
	var made struct {
		ProjectID string `json:"project_id"`
		TaskID    string `json:"task_id"`
	}
	s.read(s.must("workspace.project.create_with_defaults", `{"workspace_dir":"DIR","name":"P"}`), &made)
	s.project = made.ProjectID
	s.agent = s.worker(env, program)
	s.read(s.must("task.create", `{"workspace_dir":"DIR","project_id":"PROJECT","title":"T","assignee_agent_id":"`+s.agent+`"}`), &made)
	s.must("task.update_plan", `{"workspace_dir":"DIR","project_id":"PROJECT","task_id":"`+made.TaskID+`","schedule":{"planned_start":"2037-03-01","planned_end":"2037-03-02"}}`)
	s.must("heartbeat.config.set", `{"workspace_dir":"DIR","enabled":true}`)
	return s
}

// worker adds an agent and configures its program.
func (s *sleeper) worker(env workspace.Env, program string) (id string) {
	s.t.Helper()
	w, err := workspace.Open(env, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	id, err = w.NewAgent(s.t.Context(), workspace.AgentSpec{Name: "A", Role: "worker", Provider: "codex"})
	file := filepath.Join(s.dir, workspace.MachineFile)
	text, readErr := os.ReadFile(file) //nolint:gosec // our own
	machine := strings.Replace(string(text), "provider_bins: {}\n", "provider_bins: {codex: "+program+"}\n", 1)
	if machine == string(text) {
		s.t.Errorf("no place for a program in %s", text)
	}
	if err := errors.Join(err, readErr, os.WriteFile(file, []byte(machine), 0o600)); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// listen subscribes a client to all events and syncs the index.
func (s *sleeper) listen() {
	s.t.Helper()
	_, err := s.all.Subscribe(s.t.Context(), company.SubscribeParams{MaybeDir: company.MaybeDir{WorkspaceDir: s.dir}})
	if err == nil {
		_, err = s.all.FlushSyncWorker(s.t.Context(), company.NoParams{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// ticked returns the number of ticks and of woken workers.
func (s *sleeper) ticked() (n, woken int64) {
	s.t.Helper()
	var status struct {
		State struct {
			Stats struct {
				Ticks int64 `json:"ticks_total"`
				Woken int64 `json:"workers_woken_total"`
			} `json:"stats"`
		} `json:"state"`
		Runtime struct {
			LastError string `json:"last_error"`
		} `json:"runtime"`
	}
	s.read(s.must("heartbeat.status", `{"workspace_dir":"DIR"}`), &status)
	if status.Runtime.LastError != "" {
		s.t.Error(status.Runtime.LastError)
	}
	return status.State.Stats.Ticks, status.State.Stats.Woken
}

// tree returns the mode, size, time and content hash of every file in the workspace.
func (s *sleeper) tree() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(s.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.dir, name)
		all[rel] = fmt.Sprint(st.Mode(), st.Size(), st.ModTime())
		if st.Mode().IsRegular() {
			text, err := os.ReadFile(name) //nolint:gosec // our own
			all[rel] += fmt.Sprintf(" %x", sha256.Sum256(text))
			return err
		}
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// changed returns the names that were added, removed or changed.
func changed(before, after map[string]string) (names []string) {
	for name := range before {
		if before[name] != after[name] {
			names = append(names, name)
		}
	}
	for name := range after {
		if _, old := before[name]; !old {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestADayOfIdleness checks a day in which no tick is due or every tick finds nothing to do. The
// process starts no program, sends no notification, and writes only the state of its ticks.
func TestADayOfIdleness(t *testing.T) {
	t.Parallel()
	// A tick writes its own time and the next one to its state, signs its lock, and syncs the
	// index, which records when. All of these files are local to this machine.
	ticked := []string{
		".local/heartbeat", ".local/heartbeat/state.yaml", ".local/heartbeat/tick.lock", ".local/index.sqlite-synced", ".local/locks",
	}
	for _, c := range []struct {
		name        string
		departments bool
		every       int // minutes
		wakeups     int
		writes      []string
	}{
		{name: "nothing is due", every: 1440},
		{name: "ticks find nothing", every: 20, wakeups: 71, writes: ticked},
		{name: "departments", departments: true, every: 20, wakeups: 71, writes: ticked},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSleeper(t, c.departments)
			s.must("heartbeat.config.set", fmt.Sprintf(`{"workspace_dir":"DIR","tick_interval_minutes":%d,"jitter_max_seconds":0}`, c.every))
			s.must("heartbeat.tick", `{"workspace_dir":"DIR"}`) // handles the events of the setup
			s.listen()
			ticks, _ := s.ticked()
			before, heard := s.tree(), s.heard.n.Load()
			wakeups := s.pass(24*time.Hour - time.Second)
			got := changed(before, s.tree())
			if left := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return slices.Contains(c.writes, name) }); len(left) > 0 || wakeups != c.wakeups {
				t.Errorf("%d wake-ups; changed: %q", wakeups, left)
			}
			if (len(got) > 0) != (c.wakeups > 0) {
				t.Errorf("%d wake-ups, and changed: %q", wakeups, got)
			}
			if got, woken := s.ticked(); got-ticks != int64(c.wakeups) || woken != 0 {
				t.Errorf("%d ticks, %d workers were woken", got-ticks, woken)
			}
			if text, err := os.ReadFile(s.started); err == nil {
				t.Errorf("started: %s", text)
			}
			// The client's first notification is of the new run. The next tick acts on the run.
			s.must("run.create", `{"workspace_dir":"DIR","project_id":"PROJECT","agent_id":"`+s.agent+`","provider":"codex"}`)
			waitFor(t, "the client hears of a run", func() bool { return s.heard.n.Load() > heard })
			if got := s.heard.n.Load() - heard; got != 1 {
				t.Errorf("%d notifications", got)
			}
			s.pass(20 * time.Minute)
			text, err := os.ReadFile(s.started)
			if _, woken := s.ticked(); err != nil || woken != 1 {
				t.Errorf("%d workers were woken; started: %s, %v", woken, text, err)
			}
		})
	}
}

func waitFor(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("never: %s", what)
		}
	}
}
