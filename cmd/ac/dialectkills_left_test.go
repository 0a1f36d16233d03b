//go:build unix

package main

// Checks of what killed servers left behind: what the next server reports, and finally what is on
// disk.

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"ac/dialect/dialecttest"
	"ac/events"
	"ac/internal/proc"
	"ac/runs"
	"ac/workspace"
)

// knows checks that a server lists everything that earlier servers acknowledged.
func (k *served) knows(s *dialectServer) {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(k.t.Context(), dialecttest.Patience)
	defer cancel()
	var list struct{ Sessions []struct{ ID string } }
	if !k.call(ctx, 200, "GET", s.ace+"/api/sessions", "", &list) {
		k.t.Fatal("the next server lists no sessions")
	}
	there := map[string]bool{}
	for _, one := range list.Sessions {
		there[one.ID] = true
	}
	conn := dialed(ctx, s.autonoma)
	if conn == nil {
		k.t.Fatal("the next server does not serve Autonoma")
	}
	defer func() { _ = conn.CloseNow() }()
	var rows []struct{ ID string }
	k.autonomaAsk(ctx, conn, "background.list", nil, &rows)
	for _, row := range rows {
		there[row.ID] = true
	}
	other := dialed(ctx, s.comma)
	if other == nil {
		k.t.Fatal("the next server does not serve comma")
	}
	defer func() { _ = other.CloseNow() }()
	for id, f := range k.flows.by {
		if status, ok := k.statusOf(ctx, other, id); ok && status != "" {
			there[id] = true
			if f.end != "" && status != f.end {
				k.t.Errorf("%s ended as %s, and is %s", id, f.end, status)
			}
		} else if f.started {
			k.t.Errorf("lost: %s", id)
		}
	}
	for _, id := range slices.Concat(slices.Collect(maps.Keys(k.conversations.by)), slices.Collect(maps.Keys(k.tasks.by))) {
		if !there[id] {
			k.t.Errorf("lost: %s", id)
		}
	}
	k.filesAreWhole()
}

// filesAreWhole checks that the files converge to a single version: the last one acknowledged or
// the last one requested.
func (k *served) filesAreWhole() {
	k.t.Helper()
	dialecttest.Until(k.t, "the files are of one version", func() bool {
		got := map[string]string{}
		err := filepath.WalkDir(filepath.Join(k.repo, "many"), func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			text, err := os.ReadFile(name)
			got["many/"+e.Name()] = string(text)
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			k.t.Fatal(err)
		}
		return maps.Equal(got, k.tasks.before) || maps.Equal(got, k.tasks.files)
	})
	k.tasks.before, k.tasks.files = nil, nil
	if _, err := os.Stat(filepath.Join(k.repo, "many")); err == nil {
		k.tasks.before = map[string]string{}
		for i := range 8 {
			name := "many/f" + string(rune('0'+i)) + ".txt"
			k.tasks.before[name] = string(dialecttest.Must(os.ReadFile(filepath.Join(k.repo, name))))
		}
	}
	k.tasks.files = k.tasks.before
}

// saysAgain resends unacknowledged texts to the next server.
func (k *served) saysAgain(s *dialectServer) {
	k.t.Helper()
	for id, c := range k.conversations.by {
		for text, acknowledged := range maps.Clone(c.said) {
			if !acknowledged && !k.say(k.t.Context(), s, id, text) {
				k.t.Fatal("the next server takes no text")
			}
		}
	}
}

// end lets a last server finish all work, stops it, and checks the disk and the processes.
func (k *served) end() {
	k.t.Helper()
	s := k.serve()
	k.knows(s)
	k.saysAgain(s)
	ctx, cancel := context.WithTimeout(k.t.Context(), 3*dialecttest.Patience)
	defer cancel()
	var deciding sync.WaitGroup
	answering, stop := context.WithCancel(ctx)
	for id := range k.conversations.by {
		r := rand.New(rand.NewPCG(k.r.Uint64(), 6))
		deciding.Go(func() { k.decideIn(answering, r, s, id, 1<<30) })
	}
	for id, c := range k.conversations.by {
		k.heardAll(ctx, s, id, c)
	}
	stop()
	deciding.Wait()
	for id, f := range k.flows.by {
		for f.end == "" && ctx.Err() == nil && !k.t.Failed() {
			within, cancel := context.WithTimeout(ctx, 2*time.Second) // the run may end between listing and subscribing
			k.flowTo(within, k.r, s, id, f)
			cancel()
		}
	}
	k.tasksEnd(ctx, s)
	k.stop(s)
	k.run("session:stop", k.dir, "--all")
	k.onDisk()
	dialecttest.Until(k.t, "no process is left", func() bool { return len(k.living()) == 0 })
}

// heardAll waits until a conversation is idle. It checks that each text occurs once and that the
// agent repeated each text once, except permission requests.
func (k *served) heardAll(ctx context.Context, s *dialectServer, id string, c *conversation) {
	k.t.Helper()
	var got struct {
		Busy     bool
		Messages []struct{ Role, Content string }
	}
	dialecttest.Until(k.t, id+" is at rest", func() bool {
		got.Messages = nil
		if !k.call(ctx, 200, "GET", s.ace+"/api/sessions/"+id+"/messages", "", &got) {
			k.t.Fatal("the last server is gone")
		}
		said := 0
		for _, m := range got.Messages {
			if m.Role == "user" {
				said++
			}
		}
		return !got.Busy && said >= len(c.said)
	})
	for text := range c.said {
		said, heard := 0, 0
		for _, m := range got.Messages {
			if m.Role == "user" && m.Content == text {
				said++
			}
			if m.Role == "assistant" && strings.HasSuffix(strings.TrimSpace(m.Content), text) {
				heard++
			}
		}
		if asks := strings.HasPrefix(text, "ask "); said != 1 || !asks && heard != 1 {
			k.t.Errorf("%s: %q was said %d times and heard %d times: %+v", id, text, said, heard, got.Messages)
		}
	}
}

// tasksEnd waits until all tasks have ended, and checks that none is listed twice.
func (k *served) tasksEnd(ctx context.Context, s *dialectServer) {
	k.t.Helper()
	conn := dialed(ctx, s.autonoma)
	if conn == nil {
		k.t.Fatal("the last server is gone")
	}
	defer func() { _ = conn.CloseNow() }()
	dialecttest.Until(k.t, "all tasks are over", func() bool {
		var rows []struct{ ID, Task, Status string }
		if !k.autonomaAsk(ctx, conn, "background.list", nil, &rows) {
			k.t.Fatal("the last server lists no tasks")
		}
		times := map[string]int{}
		for _, row := range rows {
			if row.Status != "completed" && row.Status != "failed" && row.Status != "cancelled" {
				return false
			}
			times[row.Task]++
		}
		for _, what := range k.tasks.asked {
			if times[what] > 1 {
				k.t.Errorf("%s is done %d times", what, times[what])
			}
		}
		return true
	})
}

// stop stops a server with SIGTERM. It checks that only lock and log remain of its runtime files.
func (k *served) stop(s *dialectServer) {
	k.t.Helper()
	if err := s.id.Signal(syscall.SIGTERM); err != nil {
		k.t.Error(err)
	}
	s.wait()
	left, err := os.ReadDir(k.runtimeDir())
	if err != nil {
		k.t.Error(err)
	}
	for _, e := range left {
		if name := e.Name(); name != "lock" && name != "daemon.log" {
			k.t.Errorf("left: %s", name)
		}
	}
}

// onDisk checks that each log is sound, ends each interaction once, and has each text once.
func (k *served) onDisk() {
	k.t.Helper()
	w := dialecttest.Must(workspace.Open(k.env, k.dir))
	defer func() { _ = w.Close() }()
	if err := w.Recover(k.t.Context()); err != nil {
		k.t.Error(err)
	}
	texts := map[string][]string{}
	for _, id := range dialecttest.Must(workspace.Dirs(w.FS, workspace.RunsDir(k.project))) {
		report, err := runs.VerifyLog(w, k.project, id)
		if err != nil || !report.Sound() {
			k.t.Errorf("%s: %+v (%v)", id, report, err)
		}
		open, ends, started := map[string]bool{}, map[string]string{}, 0
		for line := range strings.Lines(string(dialecttest.Must(os.ReadFile(filepath.Join(k.dir, workspace.LogFile(k.project, id)))))) {
			var e struct {
				Type    string
				Payload struct {
					ID    string `json:"interaction_id"`
					State string
					Text  string
				}
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				k.t.Errorf("%s: %v: %s", id, err, line)
			}
			switch e.Type {
			case events.InteractionRequested:
				open[e.Payload.ID] = true
			case events.InteractionResolved:
				if ends[e.Payload.ID] != "" {
					k.t.Errorf("%s has two ends", e.Payload.ID)
				}
				ends[e.Payload.ID] = e.Payload.State
				delete(open, e.Payload.ID)
			case events.SteerQueued:
				texts[id+" "+e.Payload.Text] = append(texts[id+" "+e.Payload.Text], line)
			case events.WorkflowStarted:
				started++
			}
		}
		if len(open) > 0 || k.flows.by[id] != nil && started != 1 {
			k.t.Errorf("%s: open are %v; started %d times", id, open, started)
		}
		k.asDecided(id, ends)
	}
	for text, lines := range texts {
		if len(lines) > 1 {
			k.t.Errorf("%s stands %d times:\n%s", text, len(lines), strings.Join(lines, ""))
		}
	}
}

// asDecided checks that interactions ended as the server had confirmed to the client.
func (k *served) asDecided(id string, ends map[string]string) {
	k.t.Helper()
	c := k.conversations.by[id]
	if c == nil {
		return
	}
	for request, choice := range c.decided {
		if state := ends[request]; !strings.HasPrefix(state, strings.TrimSuffix(choice, "y")) && state != "cancelled" && state != "expired" {
			k.t.Errorf("%s: %s was told to be %s, and is %q", id, request, choice, state)
		}
	}
}

// living returns the pids of this company's processes.
func (k *served) living() (pids []int) {
	k.t.Helper()
	environs := dialecttest.Must(filepath.Glob("/proc/[0-9]*/environ"))
	for _, file := range environs {
		environ, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environ), "TMPDIR="+k.temp) {
			continue
		}
		var pid int
		for _, digit := range filepath.Base(filepath.Dir(file)) {
			pid = 10*pid + int(digit-'0')
		}
		if _, alive := proc.Lookup(pid); alive {
			pids = append(pids, pid)
		}
	}
	return pids
}
