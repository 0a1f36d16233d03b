//go:build linux

package terminal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/terminal"
)

const patience = 60 * time.Second

func draw(n int) string {
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz234567"[rand.IntN(32)] //nolint:gosec // of a test
	}
	return string(text)
}

func newHub(t *testing.T) *terminal.Hub {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := terminal.New(terminal.Options{Executable: executable, RandomText: draw})
	t.Cleanup(h.Close)
	return h
}

func spec(dir string) terminal.Spec {
	return terminal.Spec{Dir: "/ws", Shell: "/bin/sh", CWD: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "PS1=$ ", "TERM=dumb"}, Cols: 80, Rows: 24}
}

// open starts a shell.
func open(t *testing.T, h *terminal.Hub) *terminal.Terminal {
	t.Helper()
	info, err := h.Create(spec(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	term, err := h.Find("/ws", info.ID)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func typed(t *testing.T, term *terminal.Terminal, text string) {
	t.Helper()
	if n, err := term.Write(t.Context(), []byte(text), nil); err != nil || n != len(text) {
		t.Fatalf("%d %v", n, err)
	}
}

// await reads until the output after a cursor contains text. It returns the cursor after that
// text.
func await(t *testing.T, term *terminal.Terminal, from int64, text string) int64 {
	t.Helper()
	var all []byte
	for began := time.Now(); time.Since(began) < patience; {
		p, _, err := term.Read(t.Context(), from+int64(len(all)), 1<<20, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p.Bytes...)
		if i := bytes.Index(all, []byte(text)); i >= 0 {
			return from + int64(i+len(text))
		}
	}
	t.Fatalf("%q never came: %q", text, all)
	return 0
}

// over waits for the shell's exit.
func over(t *testing.T, term *terminal.Terminal) terminal.Info {
	t.Helper()
	v, _, _, _, err := term.Attach(-1)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Detach()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		p, err := v.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if p.Over {
			return p.Info
		}
	}
}

func TestShell(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	term := open(t, h)
	typed(t, term, "echo =$((6*7))=\n")
	at := await(t, term, 0, "=42=")
	if err := term.Resize(101, 37); err != nil {
		t.Fatal(err)
	}
	typed(t, term, "stty size\n")
	at = await(t, term, at, "37 101")
	typed(t, term, "sh -c 'echo sle\"\"eps; exec sleep 100'\n") // it owns the terminal by the time it prints this
	at = await(t, term, at, "sleeps")
	typed(t, term, "\x03")
	typed(t, term, "echo li''ves\n")
	await(t, term, at, "lives")
	typed(t, term, "exit 7\n")
	if info := over(t, term); info.ExitCode == nil || *info.ExitCode != 7 || info.Status != terminal.Exited || info.Signal != "" {
		t.Errorf("%+v", info)
	}
	if _, err := term.Write(t.Context(), []byte("x"), nil); !fault.Is(err, fault.TerminalExited) {
		t.Error(err)
	}
	if err := term.Resize(80, 24); !fault.Is(err, fault.TerminalExited) {
		t.Error(err)
	}
	killed := open(t, h)
	typed(t, killed, "kill -9 $$\n")
	if info := over(t, killed); info.ExitCode == nil || *info.ExitCode != 137 || info.Signal != "SIGKILL" {
		t.Errorf("%+v", info)
	}
	if _, _, _, _, err := term.Attach(1 << 40); !fault.Is(err, fault.InvalidParams) {
		t.Error(err)
	}
	if got := h.List("/other"); len(got) != 0 {
		t.Errorf("another workspace sees %v", got)
	}
}

// watched hashes everything that a viewer receives up to the end. It detaches after every again
// bytes, and attaches again at its cursor.
func watched(ctx context.Context, term *terminal.Terminal, again int, seen *atomic.Int64) (sum [32]byte, size int, err error) {
	hash := sha256.New()
	at, since := int64(0), 0
	v, _, _, _, err := term.Attach(0)
	for err == nil {
		var p terminal.Piece
		if p, err = v.Next(ctx); err != nil {
			break
		}
		if p.Cursor != at {
			err = fmt.Errorf("it jumped from %d to %d", at, p.Cursor)
			break
		}
		_, _ = hash.Write(p.Bytes)
		at, since = p.Next, since+len(p.Bytes)
		seen.Store(at)
		if p.Over {
			break
		}
		if again > 0 && since > again {
			since = 0
			v.Detach()
			v, _, _, _, err = term.Attach(at)
		}
	}
	if v != nil {
		v.Detach()
	}
	return [32]byte(hash.Sum(nil)), int(at), err
}

// TestViewersSeeTheSame prints 10 MiB, paced so that no viewer falls behind. Two viewers attach
// again and again at their cursors. One joins after 1 MiB and starts at 0.
func TestViewersSeeTheSame(t *testing.T) {
	t.Parallel()
	term := open(t, newHub(t))
	const script = "stty -opost; i=0; while [ $i -lt 40 ]; do head -c 262144 /dev/zero | tr '\\0' x; i=$((i+1)); read go; done; exit 0\n"
	typed(t, term, script)
	type seen struct {
		sum  [32]byte
		size int
		err  error
	}
	results := make(chan seen, 4)
	var places [4]atomic.Int64
	watch := func(i, again int) {
		sum, size, err := watched(t.Context(), term, again, &places[i])
		places[i].Store(math.MaxInt64)
		results <- seen{sum, size, err}
	}
	for i, again := range []int{0, 100_000, 1_000_000} {
		go watch(i, again)
	}
	at := int64(0)
	for round := range 40 {
		at = await(t, term, at, strings.Repeat("x", 262144))
		if round == 3 {
			go watch(3, 0)
		}
		for i := range places {
			if i < 3 || round > 3 {
				until(t, "all have seen it", func() bool { return places[i].Load() >= at })
			}
		}
		typed(t, term, "\n")
	}
	first := <-results
	for _, other := range []seen{<-results, <-results, <-results} {
		if first.err != nil || other != first || first.size < 10<<20 {
			t.Errorf("%d %v, %d %v", first.size, first.err, other.size, other.err)
		}
	}
}

// TestTruncated checks that of 3 MiB without a viewer exactly the last 2 MiB are kept.
func TestTruncated(t *testing.T) {
	t.Parallel()
	term := open(t, newHub(t))
	file := filepath.Join(t.TempDir(), "text")
	var text bytes.Buffer
	for n := 0; text.Len() < 3<<20; n++ {
		fmt.Fprintf(&text, "%015d\n", n)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	typed(t, term, "stty -opost -echo; exec cat "+file+"\n")
	info := over(t, term)
	v, _, start, truncated, err := term.Attach(0)
	if err != nil || !truncated || start != info.BufferStart || info.Cursor-info.BufferStart != terminal.BufferBytes {
		t.Fatalf("%+v %d %v %v", info, start, truncated, err)
	}
	defer v.Detach()
	var all []byte
	for {
		p, err := v.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, p.Bytes...); p.Over {
			break
		}
	}
	if want := text.Bytes()[text.Len()-terminal.BufferBytes:]; !bytes.Equal(all, want) {
		t.Errorf("%d bytes were replayed, ending %q, want %d, ending %q", len(all), all[max(0, len(all)-40):], len(want), want[len(want)-40:])
	}
}

// TestLimit checks that the seventeenth terminal is refused while all run. A closed or exited one
// frees its slot.
func TestLimit(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	var all []*terminal.Terminal
	for range terminal.Limit {
		all = append(all, open(t, h))
	}
	if _, err := h.Create(spec(t.TempDir())); !fault.Is(err, fault.TerminalLimit) {
		t.Errorf("the seventeenth: %v", err)
	}
	if _, err := h.CloseTerminal("/ws", all[3].Info().ID); err != nil {
		t.Fatal(err)
	}
	open(t, h)
	typed(t, all[5], "exit 1\n")
	over(t, all[5])
	open(t, h)
	if _, err := h.Find("/ws", all[5].Info().ID); !fault.Is(err, fault.TerminalNotFound) {
		t.Errorf("the exited one is still there: %v", err)
	}
}

// TestClosedDuringClose checks that closing a terminal while the hub closes does not change which
// terminals the hub ends.
func TestClosedDuringClose(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	all := []*terminal.Terminal{open(t, h), open(t, h)}
	closing := h.Shut()
	if _, err := h.CloseTerminal("/ws", all[0].Info().ID); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(closing, all) {
		t.Errorf("the close of one changed which terminals Close ends: %d of %d are left", len(slices.DeleteFunc(closing, func(t *terminal.Terminal) bool { return t == nil })), len(all))
	}
	if _, err := h.Create(spec(t.TempDir())); !fault.Is(err, fault.ShuttingDown) {
		t.Errorf("a terminal was opened in a closed hub: %v", err)
	}
}

// TestFlood runs 16 terminals that print as fast as they can, each with a viewer that never
// reads. Other viewers and the shells continue, and memory stays bounded.
func TestFlood(t *testing.T) { //nolint:paralleltest // it measures memory
	h := newHub(t)
	var all []*terminal.Terminal
	for range terminal.Limit {
		term := open(t, h)
		v, _, _, _, err := term.Attach(0)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Detach() // it never reads
		typed(t, term, "yes\n")
		all = append(all, term)
	}
	for _, term := range all {
		v, _, _, _, err := term.Attach(-1)
		if err != nil {
			t.Fatal(err)
		}
		for term.Info().Cursor < 2*terminal.BufferBytes {
			if _, err := v.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		v.Detach()
	}
	runtime.GC()
	var m runtime.MemStats
	const kept = terminal.Limit * terminal.BufferBytes // kept outside the heap
	if runtime.ReadMemStats(&m); m.HeapAlloc+kept > 40<<20 {
		t.Errorf("%d MiB are in use", (m.HeapAlloc+kept)>>20)
	}
	last := all[len(all)-1]
	typed(t, last, "\x03")
	typed(t, last, "exit 3\n")
	if info := over(t, last); *info.ExitCode != 3 {
		t.Errorf("%+v", info)
	}
}

// serve acts as a server to be killed. It has one terminal whose shell starts background
// processes, and each writes its pid to a file.
func serve() {
	executable, _ := os.Executable()
	h := terminal.New(terminal.Options{Executable: executable, RandomText: draw})
	dir := os.Getenv("TERMINAL_TEST_SERVER")
	info, err := h.Create(spec(dir))
	if err == nil {
		var term *terminal.Terminal
		if term, err = h.Find("/ws", info.ID); err == nil {
			_, err = term.Write(context.Background(), []byte("(setsid sh -c 'echo $$ >deep; exec sleep 600' &) ; nohup sh -c 'echo $$ >near; exec sleep 600' >/dev/null 2>&1 & echo $$ >shell\n"), nil)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {}
}

// TestNothingSurvives kills the server. Its shells and everything that they started must die,
// even in sessions of their own.
func TestNothingSurvives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(t.Context(), executable)
	server.Env = append(os.Environ(), "TERMINAL_TEST_SERVER="+dir)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, name := range []string{"deep", "near", "shell"} {
		until(t, name, func() bool {
			text, err := os.ReadFile(filepath.Join(dir, name))
			pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
			if err == nil && convErr == nil {
				pids = append(pids, pid)
			}
			return err == nil && convErr == nil
		})
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait() // it was killed
	for _, pid := range pids {
		until(t, fmt.Sprintf("the end of %d", pid), func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	}
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatalf("never: %s", what)
		}
	}
}
