package rpc

// Misbehaving clients against a server in its own process.

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/internal/lateness"
)

const (
	// memoryLimit bounds the server's peak memory, in KiB.
	memoryLimit = 100 << 10
	// endsWithin bounds a shutdown: two seconds, plus slack for a busy machine.
	endsWithin = 2500 * time.Millisecond
)

// process is a server with its three streams.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     *os.File
	out    *os.File
	err    *os.File
	exited chan error
}

func newProcess(t *testing.T, env ...string) *process {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(executable), exited: make(chan error, 1)}
	p.cmd.Env = append(append(os.Environ(), serveVariable+"=1", "GORACE=atexit_sleep_ms=0"), env...)
	var theirs [3]*os.File
	pipe := func(read, write **os.File) {
		if *read, *write, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	pipe(&theirs[0], &p.in)
	pipe(&p.out, &theirs[1])
	pipe(&p.err, &theirs[2])
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		f.Close()
	}
	go func() { p.exited <- p.cmd.Wait() }() // ends with the process, which the clean-up kills
	t.Cleanup(func() {
		for _, f := range []*os.File{p.in, p.out, p.err} {
			f.Close()
		}
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill() // it may have ended
		}
	})
	return p
}

// ending starts to time the shutdown. The function it returns waits for the process to end, and
// checks that it ended cleanly and in time.
func (p *process) ending() (ended func()) {
	since, sum := time.Now(), lateness.Measure()
	return func() { p.t.Helper(); p.ended(since, sum) }
}

func (p *process) ended(since time.Time, sum func() time.Duration) {
	p.t.Helper()
	select {
	case err := <-p.exited:
		if err != nil {
			p.t.Errorf("exit: %v", err)
		}
		took, late := time.Since(since), sum()
		p.t.Logf("ended after %v, on a machine that was %v late", took.Round(time.Millisecond), late.Round(time.Millisecond))
		if took > endsWithin+late {
			p.t.Errorf("the end took %v", took)
		}
	case <-time.After(patience):
		p.t.Error("the server did not end")
		_ = p.cmd.Process.Kill() // it may have ended just now
		<-p.exited               //nolint:errcheck // it was killed
		sum()
	}
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak checks the peak memory of the process. It checks nothing where the system does
// not report it.
func (p *process) peak(limit int) {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if errors.Is(err, os.ErrNotExist) {
		p.t.Logf("the system reports no peak of memory: %v", err)
		return
	}
	found := peakMemory.FindSubmatch(status)
	if err != nil || found == nil {
		p.t.Fatalf("peak of memory: %v\n%s", err, status)
	}
	kib, err := strconv.Atoi(string(found[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Logf("peak %d KiB", kib)
	if !raced && kib > limit {
		p.t.Errorf("the server had %d KiB", kib)
	}
}

func (p *process) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, text); err != nil {
		p.t.Fatal(err)
	}
}

// lines reads n lines, or with n < 0 all.
func (p *process) lines(r *bufio.Reader, n int) (lines []string) {
	p.t.Helper()
	if err := p.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	for n < 0 || len(lines) < n {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) && n < 0 {
			return lines
		}
		if err != nil {
			p.t.Fatalf("after %d lines: %v", len(lines), err)
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines
}

// flood writes pings until the server stops reading, and returns the number of whole
// lines that it accepted.
func (p *process) flood() (taken int) {
	p.t.Helper()
	block := strings.Repeat(pingLine("1")+"\n", 1000)
	taken = 0
	for {
		if err := p.in.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			p.t.Fatal(err)
		}
		n, err := io.WriteString(p.in, block)
		taken += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return taken / (len(block) / 1000)
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

func TestReaderThatStops(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	taken := p.flood()
	t.Logf("took %d requests", taken)
	p.peak(memoryLimit)
	ended := p.ending()
	p.in.Close()
	ended()
}

// TestReaderThatPauses checks that a client that pauses still gets every answer. On
// a busy machine the client itself may read too late, so the test retries.
func TestReaderThatPauses(t *testing.T) {
	t.Parallel()
	for attempt := 1; ; attempt++ {
		answers, requests, slowest := pausing(t)
		if answers == requests {
			return
		}
		if t.Failed() || slowest < unread || attempt == 5 {
			t.Fatalf("%d answers to %d requests; the client took %v for a piece", answers, requests, slowest)
		}
		t.Logf("%d answers to %d requests: the client took %v for a piece", answers, requests, slowest)
	}
}

// pausing floods a server, pauses, and reads everything. It returns the numbers of
// answers and requests, and the longest time that it took to read one piece.
func pausing(t *testing.T) (answers, requests int, slowest time.Duration) {
	p := newProcess(t)
	requests = p.flood()
	p.in.Close()
	last := time.Now()
	select { // for longer than the server needs to notice the end of its input
	case err := <-p.exited:
		t.Fatalf("ended while the client was away: %v", err)
	case <-time.After(3 * hangupEvery):
	}
	if err := p.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	r, taken, line := bufio.NewReader(p.out), 0, ""
	for {
		next, err := r.ReadString('\n')
		if taken += len(next); taken >= pieceBytes || err != nil {
			slowest = max(slowest, time.Since(last))
			last, taken = time.Now(), 0
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("after %d answers: %v", answers, err)
		}
		line = strings.TrimSuffix(next, "\n")
		answers++
	}
	p.ending()()
	if line == notJSON() || answers == requests+1 { // the answer to the torn last line
		answers--
	}
	return answers, requests, slowest
}

func TestManyPipelined(t *testing.T) {
	t.Parallel()
	const n = 100_000
	p := newProcess(t)
	sent := make(chan error, 1)
	began := time.Now()
	go func() { // ends when everything is sent, or with the pipe
		w := bufio.NewWriter(p.in)
		for i := range n {
			fmt.Fprintln(w, pingLine(strconv.Itoa(i)))
		}
		sent <- errors.Join(w.Flush(), p.in.Close())
	}()
	for i, line := range p.lines(bufio.NewReader(p.out), n) {
		if line != pong(strconv.Itoa(i)) {
			t.Fatalf("answer %d: %s", i, line)
		}
	}
	t.Logf("%.0f requests/s", n/time.Since(began).Seconds())
	if err := <-sent; err != nil {
		t.Error(err)
	}
	p.ending()()
}

func TestByteByByte(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	r := bufio.NewReader(p.out)
	for i := range 20 {
		for _, c := range []byte(pingLine(strconv.Itoa(i)) + "\n") {
			p.send(string([]byte{c}))
		}
		if got := p.lines(r, 1)[0]; got != pong(strconv.Itoa(i)) {
			t.Errorf("got %s", got)
		}
	}
	ended := p.ending()
	p.in.Close()
	ended()
}

func TestCloseInMidLine(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.send(pingLine("1") + "\n" + `{"jsonrpc":"2.0","id":2,"meth`)
	ended := p.ending()
	p.in.Close()
	if got := p.lines(bufio.NewReader(p.out), -1); len(got) != 2 || got[0] != pong("1") || got[1] != notJSON() {
		t.Errorf("got %q", got)
	}
	ended()
}

// TestOutputClosed checks that the server ends once its output is closed, even if
// input still arrives and requests still wait.
func TestOutputClosed(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	r := bufio.NewReader(p.out)
	in := object{"workspace_dir": filepath.Join(t.TempDir(), "ws")}
	p.send(requestLine(1, "workspace.init", in) + "\n")
	p.lines(r, 1)
	p.out.Close()
	ended := p.ending()
	flooded := make(chan struct{})
	go func() { // ends with the server
		defer close(flooded)
		block := []byte(strings.Repeat(pingLine("1")+"\n"+requestLine(2, "workspace.open", in)+"\n", 100))
		for {
			if _, err := p.in.Write(block); err != nil {
				return
			}
		}
	}()
	ended()
	<-flooded
}

func TestStderrNeverDrained(t *testing.T) {
	t.Parallel()
	p := newProcess(t, chatterVariable+"=20000")
	p.send(pingLine("1") + "\n")
	if got := p.lines(bufio.NewReader(p.out), 1)[0]; got != pong("1") {
		t.Errorf("got %s", got)
	}
	p.peak(memoryLimit)
	ended := p.ending()
	p.in.Close()
	ended()
	p.err.Close()
}

// TestLongLinesInTurn sends a body of escapes and then a line far beyond the cap. The memory
// for the first must not add to that for the second.
func TestLongLinesInTurn(t *testing.T) {
	t.Parallel()
	size, far := 57_000_000, 300_000_000
	if raced {
		size, far = 1<<20, 2*MaxLine
	}
	p := newProcess(t)
	out := bufio.NewReader(p.out)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"comment.add","params":{"workspace_dir":"` + t.TempDir() + `","body":"` + strings.Repeat(`\u0041`, size/6) + `"}}` + "\n")
	if got := p.lines(out, 1)[0]; !strings.Contains(got, `"code":-32602`) {
		t.Errorf("got %.300s", got)
	}
	block := strings.Repeat("y", 1<<20)
	p.send(`{"jsonrpc":"2.0","id":2,"method":"system.ping","params":{"x":"`)
	for sent := 0; sent < far; sent += len(block) {
		p.send(block)
	}
	p.send(`"}}` + "\n" + pingLine(`"then"`) + "\n")
	if got := p.lines(out, 2); !strings.Contains(got[0], `"code":-32600`) || got[1] != pong(`"then"`) {
		t.Errorf("got %.300s", got)
	}
	p.peak(memoryLimit + MaxLine>>10)
}

// TestLineAtTheCap sends lines of the maximum length, whose values would take many
// times that memory if all were kept. The memory limit allows for one line.
func TestLineAtTheCap(t *testing.T) {
	t.Parallel()
	size := MaxLine
	if raced { // memory is not checked with the race detector, so a short line suffices
		size = 1 << 20
	}
	const tooLarge = `"code":"too_big"`
	for _, c := range []struct{ name, before, unit, after, want string }{
		{"unknown param", `{"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"x":[0`, ",0", "]}}", pong("1")},
		{"long text", `{"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"x":"`, "yy", `"}}`, pong("1")},
		{"bad items", `{"jsonrpc":"2.0","id":1,"method":"session.launch","params":{"argv":[0`, ",0", "]}}", tooLarge},
		{"unknown keys", `{"jsonrpc":"2.0","id":1,"method":"session.launch","params":{"budget":{"a":0`, `,"a":0`, "}}}", tooLarge},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProcess(t)
			room := size - len(c.before) - len(c.after)
			began := time.Now()
			p.send(c.before + strings.Repeat(c.unit, room/len(c.unit)) + c.after + "\n" + pingLine(`"then"`) + "\n")
			got := p.lines(bufio.NewReader(p.out), 2)
			if !strings.Contains(got[0], c.want) || got[1] != pong(`"then"`) {
				t.Errorf("got %.300s, %.300s", got[0], got[1])
			}
			t.Logf("took %v, answer of %d bytes: %.100s", time.Since(began).Round(time.Millisecond), len(got[0]), got[0])
			p.peak(memoryLimit + MaxLine>>10)
		})
	}
}
