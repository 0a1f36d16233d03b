//go:build unix

package main

// A soak test: clients of every protocol use two servers at once, for as long as -soak says. One
// serves the control room with all dialects, the other serves stdin and stdout. Clients connect,
// work, and disconnect, often abruptly. Afterwards the servers must have no more descriptors and
// goroutines than early in the test. They must use no more memory than freshly started servers on
// the grown workspace.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ac/dialect/dialecttest"
)

var (
	soakFor  = flag.Duration("soak", 3*time.Second, "how long clients of every protocol work")
	soakPace = flag.Duration("soak-pace", 20*time.Millisecond, "the time between two rounds of a client")
)

const (
	// soakProbe is the environment variable with the file for describeAt.
	soakProbe = "AC_TEST_PROBE"
	// soakSpeaker is the argument that makes the test binary act as the agent.
	soakSpeaker = "soak-speaker"
	// soakTexts is the number of texts in a conversation before the next one starts.
	soakTexts = 50
)

// burden is the resource usage of a process.
type burden struct {
	Goroutines  int
	Heap        uint64 // bytes in use after a garbage collection
	Descriptors int
	Private     int64 // bytes of anonymous memory
}

// describeAt writes the goroutines and heap of this process to a file on each SIGUSR1.
func describeAt(file string) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	for range asked {
		debug.FreeOSMemory() // garbage is not held
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		text, err := json.Marshal(burden{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc})
		if err == nil {
			err = errors.Join(os.WriteFile(file+".new", text, 0o600), os.Rename(file+".new", file))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
}

// soaked is a server under test.
type soaked struct {
	name  string
	pid   int
	probe string
	seen  []burden
	end   func() // stops it as its parent would
}

// look reads the burden of a process once it is at rest, with the same number of descriptors and
// goroutines twice in a row.
func (p *soaked) look(t *testing.T) burden {
	t.Helper()
	var last burden
	dialecttest.Until(t, p.name+" is at rest", func() bool {
		_ = os.Remove(p.probe) // from the previous reading
		if err := syscall.Kill(p.pid, syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		var b burden
		dialecttest.Until(t, p.name+" describes itself", func() bool {
			text, err := os.ReadFile(p.probe)
			return err == nil && json.Unmarshal(text, &b) == nil
		})
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.pid))
		if err != nil {
			t.Fatal(err)
		}
		b.Descriptors, b.Private = len(open), anonymous(t, p.pid)
		same := b.Descriptors == last.Descriptors && b.Goroutines == last.Goroutines
		last = b
		return same
	})
	return last
}

// anonymous returns the resident anonymous memory of a process, in bytes.
func anonymous(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	text := dialecttest.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	if _, err := fmt.Sscan(rest, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

// soak is a company with its servers and the state of their clients.
type soak struct {
	t                          *testing.T
	dir, project               string
	sockets                    string // directory of the supervisors' sockets
	room, autonoma, comma, ace string // addresses
	servers                    []*soaked
	working                    sync.RWMutex // read-locked by each round, locked by look
	rounds                     map[string]*atomic.Int64
	stdio                      *soakPeer
	strategy                   string // path of the strategy file
	mu                         sync.Mutex
	session                    string   // the current conversation
	before                     []string // earlier conversations
	texts                      int
}

// TestSoak runs the soak test. It needs /proc to count descriptors.
func TestSoak(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("SKIPPED: descriptors are counted in /proc, which is not here")
	}
	t.Parallel()
	s := newSoak(t)
	clients := map[string]func(context.Context) error{
		"stdio": s.useStdio, "page": s.usePage, "autonoma": s.useAutonoma, "comma": s.useComma, "acecode": s.useACECode, "console": s.useConsole, "commands": s.useCommands,
	}
	ctx, cancel := context.WithTimeout(t.Context(), *soakFor)
	defer cancel()
	var busy sync.WaitGroup
	for name := range clients {
		s.rounds[name] = new(atomic.Int64)
	}
	t.Cleanup(func() { // runs before the servers end
		cancel()
		busy.Wait()
	})
	for name, round := range clients {
		busy.Go(func() { s.keep(ctx, name, round) })
	}
	for ctx.Err() == nil && !t.Failed() {
		select {
		case <-ctx.Done():
		case <-time.After(max(*soakFor/20, 200*time.Millisecond)):
			s.look()
		}
	}
	busy.Wait()
	s.look()
	for name, n := range s.rounds {
		t.Logf("%s: %d rounds", name, n.Load())
		if n.Load() == 0 {
			t.Errorf("no client of %s has done anything", name)
		}
	}
	for _, p := range s.servers {
		p.flat(t)
	}
	if !t.Failed() {
		s.afresh(clients)
	}
}

// afresh restarts the servers, runs some rounds of each client, and compares the memory of the old
// and new servers. It does not use early readings, because the workspace, and what servers cache
// of it, has grown.
func (s *soak) afresh(clients map[string]func(context.Context) error) {
	old := s.servers
	for _, p := range old {
		p.end()
	}
	s.servers, s.room, s.autonoma, s.comma, s.ace = nil, "", "", "", ""
	s.serveRoom()
	s.serveStdio()
	for range 3 {
		for name, round := range clients {
			if err := round(s.t.Context()); err != nil {
				s.t.Fatalf("afresh: %s: %v", name, err)
			}
		}
	}
	for _, id := range s.before {
		if err := s.follow(s.t.Context(), id, `"type"`); err != nil {
			s.t.Fatalf("afresh: session %s: %v", id, err)
		}
	}
	for i, p := range s.servers {
		held, fresh := old[i].seen[len(old[i].seen)-1], p.look(s.t)
		s.t.Logf("%s afresh: %d goroutines, %d descriptors, heap %d KiB, anonymous %d KiB", p.name, fresh.Goroutines, fresh.Descriptors, fresh.Heap>>10, fresh.Private>>10)
		if held.Heap > fresh.Heap+spareHeap || held.Private > fresh.Private+spareAnonymous {
			s.t.Errorf("%s held a heap of %d bytes and %d of anonymous memory, one that was just started %d and %d", p.name, held.Heap, held.Private, fresh.Heap, fresh.Private)
		}
	}
}

// Tolerances for momentary fluctuations.
const (
	spare          = 8 // goroutines or descriptors
	spareHeap      = 8 << 20
	spareAnonymous = 64 << 20
)

// flat compares the goroutines and descriptors of the last quarter of the readings with those of
// the second quarter, when the process had done everything once.
func (p *soaked) flat(t *testing.T) {
	t.Helper()
	for i, b := range p.seen {
		t.Logf("%s %3d: %d goroutines, %d descriptors, heap %d KiB, anonymous %d KiB", p.name, i, b.Goroutines, b.Descriptors, b.Heap>>10, b.Private>>10)
	}
	quarter := max(len(p.seen)/4, 1)
	early, late := p.seen[min(quarter, len(p.seen)-1):max(min(2*quarter, len(p.seen)), 1)], p.seen[len(p.seen)-quarter:]
	for _, of := range []struct {
		what  string
		value func(burden) int64
	}{
		{"goroutines", func(b burden) int64 { return int64(b.Goroutines) }},
		{"descriptors", func(b burden) int64 { return int64(b.Descriptors) }},
	} {
		if before, after := middle(early, of.value), middle(late, of.value); after > before+spare {
			t.Errorf("%s: %d %s became %d", p.name, before, of.what, after)
		}
	}
}

func middle(of []burden, value func(burden) int64) int64 {
	all := make([]int64, len(of))
	for i, b := range of {
		all[i] = value(b)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// look waits for the current rounds to end and records the burden of all servers.
func (s *soak) look() {
	s.working.Lock()
	defer s.working.Unlock()
	for _, p := range s.servers {
		p.seen = append(p.seen, p.look(s.t))
	}
}

// keep runs one round of a client after another.
func (s *soak) keep(ctx context.Context, name string, round func(context.Context) error) {
	pace := time.NewTicker(*soakPace)
	defer pace.Stop()
	for ctx.Err() == nil {
		s.working.RLock()
		// The end of the soak does not interrupt a round.
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialecttest.Patience)
		err := round(within)
		cancel()
		s.working.RUnlock()
		if err != nil {
			s.t.Errorf("%s: %v", name, err)
			return
		}
		s.rounds[name].Add(1)
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	dir, project := webWorkspace(t)
	s := &soak{t: t, dir: dir, project: project, sockets: t.TempDir(), rounds: map[string]*atomic.Int64{}}
	s.run("machine:set-agent-command", dir, "--provider", "acp_own", "--argv", os.Args[0], "--argv", soakSpeaker)
	s.run("agent:new", dir, "--name", "Speaker", "--role", "worker", "--provider", "acp_own")
	repo := filepath.Join(t.TempDir(), "repo")
	dialecttest.Write(t, filepath.Join(repo, "x"), "x\n")
	dialecttest.Git(t, repo, "init", "-q")
	dialecttest.Git(t, repo, "add", ".")
	dialecttest.Git(t, repo, "commit", "-qm", "first")
	s.run("machine:set-repo", dir, "--repo", "main", "--path", repo)
	s.run("rpc:call", "--method", "workspace.project.link_repo", "--params", fmt.Sprintf(`{"workspace_dir":%q,"project_id":%q,"repo_id":"main"}`, dir, project))
	s.strategy = filepath.Join(dir, "strategies", "one.json")
	dialecttest.Write(t, s.strategy, `{"name":"One","version":"1","agents":{"speaker":{"model":"ac/Speaker"}},"flow":{"name":"F","type":"sequential","steps":[{"agent":"speaker"}]}}`)
	s.serveRoom()
	s.serveStdio()
	t.Cleanup(func() { // runs after the clients have stopped and before the servers end
		stop := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], "session:stop", dir, "--all")
		stop.Env = append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
		if out, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return s
}

// run runs a command of the program and returns its trimmed output.
func (s *soak) run(words ...string) string {
	s.t.Helper()
	out, err := program(s.t, words...).Output()
	if err != nil {
		s.t.Fatalf("%v: %v", words, err)
	}
	return strings.TrimSpace(string(out))
}

// start starts a server that reports its burden on SIGUSR1.
func (s *soak) start(name string, words ...string) (cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) {
	s.t.Helper()
	cmd = program(s.t, words...)
	cmd.Cancel = func() error { return nil } // end stops it
	probe := filepath.Join(s.t.TempDir(), "probe")
	cmd.Env = append(cmd.Env, soakProbe+"="+probe, "XDG_RUNTIME_DIR="+s.sockets)
	in, err := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(err, outErr, cmd.Start()); err != nil {
		s.t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_, _ = in.Close(), cmd.Process.Signal(syscall.SIGTERM) // best effort: it may have ended
		_ = cmd.Wait()
	})
	s.t.Cleanup(end)
	s.servers = append(s.servers, &soaked{name: name, pid: cmd.Process.Pid, probe: probe, end: end})
	return cmd, in, bufio.NewReaderSize(stdout, 1<<20)
}

func (s *soak) serveRoom() {
	_, _, out := s.start("control room", "ui:web", s.dir, "--project", s.project, "--port", "0", "--allow-launch", "--terminals",
		"--dialect", "autonoma=127.0.0.1:0", "--dialect", "comma=127.0.0.1:0", "--dialect", "acecode=127.0.0.1:0")
	for s.room == "" || s.autonoma == "" || s.comma == "" || s.ace == "" {
		line, err := out.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		address := strings.TrimSuffix(words[len(words)-1], "/")
		switch {
		case strings.Contains(line, "Manager Web"):
			s.room = address
		case strings.Contains(line, "autonoma"):
			s.autonoma = address
		case strings.Contains(line, "comma"):
			s.comma = address
		case strings.Contains(line, "acecode"):
			s.ace = address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // drain until it ends
}
