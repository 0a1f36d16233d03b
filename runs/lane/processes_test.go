package lane

// Many processes in one lane. The test binary also runs as those processes.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/workspace"
)

// asProcess is the environment variable that makes the test binary one process of a lane.
const asProcess = "LANE_TEST_PROCESS"

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// errand describes the work of one process: a number of launches, each holding its slot for a
// while.
type errand struct {
	Dir      string
	Log      string
	Request  Request
	Launches int
	Hold     time.Duration
	Forever  bool // hold the first slot until killed
}

// launches runs an errand once the parent signals on stdin. While it holds a slot, it logs each
// grant and each return on one line.
func launches(text string, in io.Reader, out io.Writer) error {
	var e errand
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return err
	}
	w, err := workspace.Open(workspace.SystemEnv(), e.Dir)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(e.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	l := New(w)
	fmt.Fprintln(out, "ready")
	if _, err := bufio.NewReader(in).ReadString('\n'); err != nil {
		return err
	}
	for range e.Launches {
		place, err := l.Enter(context.Background(), e.Request)
		if err != nil {
			return err
		}
		if err := place.Await(context.Background()); err != nil {
			return err
		}
		note := func(sign string) error {
			line, err := json.Marshal(e.Request)
			if err == nil {
				_, err = fmt.Fprintf(log, "%s %d %s\n", sign, time.Now().UnixNano(), line)
			}
			return err
		}
		if err := note("+"); err != nil {
			return err
		}
		if e.Forever {
			fmt.Fprintln(out, "held")
			_, err := io.Copy(io.Discard, in) // until killed
			return err
		}
		time.Sleep(e.Hold) // stands for the work done in the slot
		if err := note("-"); err != nil {
			return err
		}
		place.Leave()
	}
	return errors.Join(log.Close(), w.Close())
}

// process is a process of a lane.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, e errand) process {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProcess+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // usually ended already
	p := process{cmd, in, bufio.NewReader(out)}
	p.expect(t, "ready")
	return p
}

func (p process) expect(t *testing.T, want string) {
	t.Helper()
	if line, err := p.out.ReadString('\n'); strings.TrimSpace(line) != want {
		t.Fatalf("a process said %q, %v, want %q", line, err, want)
	}
}

func (p process) begin(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

func (p process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("a process of the lane: %v", err)
	}
}

// held replays a lane's log. It fails if more launches went on at once than the limits allow.
// It returns the number of grants, and the times between a return and the next grant.
func held(t *testing.T, log string) (grants int, gaps []time.Duration) {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var running []Request
	returned := int64(0)
	for line := range strings.Lines(string(text)) {
		var sign string
		var at int64
		if _, err := fmt.Sscanf(line, "%s %d", &sign, &at); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(line, "{")
		var r Request
		if err := json.Unmarshal([]byte("{"+rest), &r); err != nil {
			t.Fatal(err)
		}
		if sign == "-" {
			running = slices.Delete(running, slices.Index(running, r), slices.Index(running, r)+1)
			returned = at
			continue
		}
		count := func(same func(Request) bool) (n int) {
			for _, other := range running {
				if same(other) {
					n++
				}
			}
			return n
		}
		providers := count(func(o Request) bool { return o.Provider == r.Provider })
		teams := count(func(o Request) bool { return o.Team == r.Team })
		if len(running) >= r.Limits.Workspace || providers >= r.Limits.Provider || teams >= r.Limits.Team {
			t.Fatalf("granted beyond its limits: %+v beside %+v", r, running)
		}
		running = append(running, r)
		grants++
		if returned > 0 {
			gaps = append(gaps, time.Duration(at-returned))
		}
	}
	if len(running) > 0 {
		t.Errorf("never returned: %+v", running)
	}
	return grants, gaps
}

// TestManyProcesses checks that twelve processes of several providers and teams never exceed
// the limits, and that all their launches are admitted.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	var all []process
	for i := range 12 {
		all = append(all, start(t, errand{Dir: w.Dir(), Log: log, Launches: 8, Hold: time.Millisecond, Request: Request{
			Priority: []string{High, Normal, Low}[i%3], Provider: []string{"a", "b", ""}[i/3%3], Team: []string{"", "x"}[i%2],
			Limits: Limits{3, 2, 2},
		}}))
	}
	for _, p := range all {
		p.begin(t)
	}
	for _, p := range all {
		p.end(t)
	}
	if grants, _ := held(t, log); grants != 12*8 {
		t.Errorf("%d launches went on, want %d", grants, 12*8)
	}
	if left := leftovers(t, New(w)); len(left) > 0 {
		t.Errorf("tickets are left: %v", left)
	}
}

// TestHandOverTime measures how long a slot stays free between launches of forty processes.
func TestHandOverTime(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED: starts forty processes")
	}
	w := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	var all []process
	for range 40 {
		all = append(all, start(t, errand{Dir: w.Dir(), Log: log, Launches: 3, Hold: time.Millisecond, Request: request(1)}))
	}
	for _, p := range all {
		p.begin(t)
	}
	for _, p := range all {
		p.end(t)
	}
	grants, gaps := held(t, log)
	if grants != 120 {
		t.Errorf("%d launches went on, want 120", grants)
	}
	slices.Sort(gaps)
	t.Logf("hand-over among 40 processes: median %s, 90%% %s, longest %s", gaps[len(gaps)/2], gaps[len(gaps)*9/10], gaps[len(gaps)-1])
}

// TestDeadProcess checks that a killed process frees its slot, and that the ticket of a process
// killed while waiting blocks nobody.
func TestDeadProcess(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	log := filepath.Join(t.TempDir(), "log")
	holder := start(t, errand{Dir: w.Dir(), Log: log, Launches: 1, Forever: true, Request: request(1)})
	holder.begin(t)
	holder.expect(t, "held")
	waiter := start(t, errand{Dir: w.Dir(), Log: log, Launches: 1, Request: request(1)})
	waiter.begin(t)
	l := New(w)
	deadline := time.Now().Add(20 * time.Second)
	for len(leftovers(t, l)) < 2 {
		if time.Now().After(deadline) {
			t.Fatal("the second process does not wait")
		}
		time.Sleep(time.Millisecond)
	}
	ours := enter(t, l, request(1))
	for _, p := range []process{waiter, holder} {
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // killed
	}
	await(t, ours)
	ours.Leave()
	if left := leftovers(t, l); len(left) > 0 {
		t.Errorf("tickets are left: %v", left)
	}
}
