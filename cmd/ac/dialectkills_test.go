//go:build unix

package main

// Crash tests: kill the process that serves the dialects at random moments, while clients of each
// protocol send requests. The process runs in the foreground, in the background, or as a control
// room. Everything acknowledged must survive, exactly once.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ac/dialect/dialecttest"
	"ac/internal/proc"
	"ac/workspace"
)

var (
	dialectKills = flag.Int("dialect-kills", 3, "how many processes are killed that serve dialects")
	killLanes    = flag.Int("lanes", 2, "in how many companies at once")
	killSeed     = flag.Uint64("seed", 0, "of the moments and requests; 0 draws one")
)

// served is a company whose servers are killed. It records what they acknowledged.
type served struct {
	t                  *testing.T
	r                  *rand.Rand
	env                workspace.Env
	dir, project, repo string
	temp, sockets      string // for all processes
	strategy           string // path of the strategy file
	kinds              int    // modulo 3, the kind of the last server started

	conversations *conversations
	tasks         *tasks
	flows         *flows
}

// dialectServer is a process that serves all dialects.
type dialectServer struct {
	id                   proc.Identity
	wait                 func() // waits until it is gone
	ace, autonoma, comma string // addresses
}

// latestKill is the longest time that clients run before the server is killed.
const latestKill = 1200 * time.Millisecond

// TestKilledDialects kills the servers of one company after another. After each kill it checks what
// the next server reports. At the end of a company it also checks the disk and the processes.
func TestKilledDialects(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("SKIPPED: processes are found in /proc, which is not here")
	}
	t.Parallel()
	drawn := *killSeed
	if drawn == 0 {
		drawn = uint64(time.Now().UnixNano()) //nolint:gosec // any number
	}
	t.Logf("seed %d", drawn)
	const perCompany = 6
	var left, acknowledged atomic.Int64
	left.Store(int64(*dialectKills))
	t.Run("lanes", func(t *testing.T) {
		for lane := range *killLanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(drawn, uint64(lane))) //nolint:gosec // a small number
				for !t.Failed() {
					n := int(perCompany + min(0, left.Add(-perCompany)))
					if n <= 0 {
						return
					}
					t.Run(fmt.Sprintf("%d kills", n), func(t *testing.T) {
						k := newServed(t, r)
						for range n {
							k.kill()
							if t.Failed() {
								return
							}
						}
						k.end()
						acknowledged.Add(k.acknowledged())
					})
				}
			})
		}
	})
	t.Logf("%d acknowledgements", acknowledged.Load())
}

func newServed(t *testing.T, r *rand.Rand) *served {
	t.Helper()
	dir, project := webWorkspace(t)
	k := &served{
		t: t, r: r, env: workspace.SystemEnv(), dir: dir, project: project, repo: filepath.Join(t.TempDir(), "repo"), temp: t.TempDir(), sockets: t.TempDir(), kinds: r.IntN(3),
		strategy:      filepath.Join(dir, "strategies", "one.json"),
		conversations: &conversations{by: map[string]*conversation{}}, tasks: &tasks{by: map[string]string{}}, flows: &flows{by: map[string]*flow{}},
	}
	k.env.LockPatience = dialecttest.Patience
	k.run("machine:set-agent-command", dir, "--provider", "acp_own", "--argv", os.Args[0], "--argv", soakSpeaker)
	k.run("agent:new", dir, "--name", "Speaker", "--role", "worker", "--provider", "acp_own")
	dialecttest.Write(t, filepath.Join(k.repo, "x"), "x\n")
	k.run("rpc:call", "--method", "workspace.repo_root.set", "--params", fmt.Sprintf(`{"workspace_dir":%q,"repo_id":"main","repo_path":%q,"require_git":false}`, dir, k.repo))
	k.run("rpc:call", "--method", "workspace.project.link_repo", "--params", fmt.Sprintf(`{"workspace_dir":%q,"project_id":%q,"repo_id":"main"}`, dir, project))
	dialecttest.Write(t, k.strategy, `{"name":"One","version":"1","agents":{"speaker":{"model":"ac/Speaker","tools":["run_command"]}},"flow":{"name":"F","type":"sequential","steps":[{"agent":"speaker"}]}}`)
	t.Cleanup(k.stopAll)
	return k
}

// stopAll stops the processes that a failed test left running.
func (k *served) stopAll() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.t.Context()), dialecttest.Patience)
	defer cancel()
	for _, words := range [][]string{{"dialect:stop", "acecode", k.dir, "--project", k.project}, {"session:stop", k.dir, "--all"}} {
		cmd := exec.CommandContext(ctx, os.Args[0], words...) //nolint:gosec // it runs this test binary
		cmd.Env = append(os.Environ(), asProgram+"=1", "XDG_RUNTIME_DIR="+k.sockets)
		_ = cmd.Run() // best effort: nothing may be running
	}
}

// command returns the program as a command, with this company's environment.
func (k *served) command(words ...string) *exec.Cmd {
	k.t.Helper()
	cmd := program(k.t, words...)
	cmd.Env = append(cmd.Env, "TMPDIR="+k.temp, "XDG_RUNTIME_DIR="+k.sockets)
	return cmd
}

func (k *served) run(words ...string) string {
	k.t.Helper()
	out, err := k.command(words...).Output()
	if err != nil {
		k.t.Fatalf("%v: %v", words, err)
	}
	return strings.TrimSpace(string(out))
}

// free returns a loopback address that is not in use and not in taken. Its port is below the
// ephemeral range, so that no outgoing connection takes it before the server listens.
func (k *served) free(taken map[string]string) (address string) {
	k.t.Helper()
	dialecttest.Until(k.t, "there is a free port", func() bool {
		address = fmt.Sprintf("127.0.0.1:%d", 10_000+k.r.IntN(20_000))
		for _, other := range taken {
			if other == address {
				return false
			}
		}
		l, err := (&net.ListenConfig{}).Listen(k.t.Context(), "tcp", address)
		if err != nil {
			return false
		}
		return l.Close() == nil
	})
	return address
}

// serve starts a server of the next kind.
func (k *served) serve() *dialectServer {
	k.t.Helper()
	at := map[string]string{}
	var listen, beside []string
	for _, name := range []string{"acecode", "autonoma", "comma"} {
		at[name] = k.free(at)
		listen, beside = append(listen, "--listen", name+"="+at[name]), append(beside, "--dialect", name+"="+at[name])
	}
	s := &dialectServer{ace: "http://" + at["acecode"], autonoma: "ws://" + at["autonoma"] + "/ws", comma: "ws://" + at["comma"] + "/ws"}
	k.kinds++
	switch names := "acecode,autonoma,comma"; k.kinds % 3 {
	case 0:
		k.inBackground(s, append([]string{"dialect:start", names, k.dir, "--project", k.project}, listen...))
	case 1:
		k.inForeground(s, append([]string{"dialect:serve", names, k.dir, "--project", k.project}, listen...))
	case 2:
		k.inForeground(s, append([]string{"ui:web", k.dir, "--project", k.project, "--port", "0"}, beside...))
	}
	return s
}

func (k *served) inForeground(s *dialectServer, words []string) {
	k.t.Helper()
	cmd := k.command(words...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		k.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for line := ""; !strings.HasPrefix(line, "Stop it"); {
		if line, err = lines.ReadString('\n'); err != nil {
			k.t.Fatalf("%v does not come up: %v: %s", words, errors.Join(err, cmd.Wait()), said.Bytes())
		}
	}
	s.id = identity(k.t, cmd.Process.Pid)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, lines) // drain until it ends
		_ = cmd.Wait()                    // fails: it was killed
	}()
	s.wait = func() { <-ended }
}

func (k *served) inBackground(s *dialectServer, words []string) {
	k.t.Helper()
	k.run(words...)
	text, err := os.ReadFile(filepath.Join(k.runtimeDir(), "daemon.pid"))
	pid, numberErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err := errors.Join(err, numberErr); err != nil {
		k.t.Fatal(err)
	}
	s.id = identity(k.t, pid)
	s.wait = func() { dialecttest.Until(k.t, "the server is gone", func() bool { return !s.id.Alive() }) }
}

func identity(t *testing.T, pid int) proc.Identity {
	t.Helper()
	id, ok := proc.Lookup(pid)
	if !ok {
		t.Fatalf("process %d is gone", pid)
	}
	return id
}

func (k *served) runtimeDir() string {
	return filepath.Join(k.dir, filepath.FromSlash(workspace.DialectsDir), "acecode", k.project, "run")
}

// kill starts a server, checks what it knows, and kills it while its clients send requests.
func (k *served) kill() {
	k.t.Helper()
	s := k.serve()
	k.knows(s)
	k.saysAgain(s)
	var group sync.WaitGroup
	for _, client := range []func(context.Context, *rand.Rand, *dialectServer){k.converse, k.decide, k.task, k.applyFiles, k.flow, k.follow} {
		r := rand.New(rand.NewPCG(k.r.Uint64(), 5))
		group.Go(func() { client(k.t.Context(), r, s) })
	}
	time.Sleep(time.Duration(k.r.Int64N(int64(latestKill)))) // a random moment
	if err := s.id.Signal(syscall.SIGKILL); err != nil {
		k.t.Errorf("it was gone before it was killed: %v", err)
	}
	s.wait()
	group.Wait()
	old := time.Now().Add(-3 * time.Minute) // makes the lock of a killed writer stale
	if err := os.Chtimes(filepath.Join(k.dir, ".local/locks/workspace.write.lock"), old, old); err != nil && !os.IsNotExist(err) {
		k.t.Error(err)
	}
	if out, err := k.command("dialect:status", "acecode", k.dir, "--project", k.project).Output(); err == nil || string(out) != "not running\n" {
		k.t.Errorf("it was killed, and is %q", out)
	}
}

// call sends a request to the ACECode daemon. It returns false if the server is gone or the status
// is not want.
func (k *served) call(ctx context.Context, want int, method, url, body string, into any) bool {
	code, text, err := fetch(ctx, method, url, body, 64<<20)
	if err != nil {
		return false
	}
	if code != want {
		k.t.Errorf("%s %s %s: %d %.500s", method, url, body, code, text)
		return false
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			k.t.Errorf("%s %s: %v: %.500s", method, url, err, text)
		}
	}
	return true
}

func (k *served) acknowledged() (n int64) {
	for _, c := range k.conversations.by {
		n += 1 + int64(len(c.decided))
		for _, acknowledged := range c.said {
			if acknowledged {
				n++
			}
		}
	}
	for _, f := range k.flows.by {
		n += int64(f.heard)
	}
	return n + int64(len(k.tasks.by)+k.tasks.cancelled+k.tasks.applied)
}
