package top

// Tests of the program around the screen: start, resize and quit, ten thousand events at full
// speed, and silence while nothing happens.

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"ac/internal/terminal"
)

// glass is the terminal that a program draws on. It counts the bytes written and keeps the last
// 64 KiB.
type glass struct {
	mu      sync.Mutex
	written int
	recent  []byte
	grew    chan struct{} // closed at the next write
}

func newGlass() *glass { return &glass{grew: make(chan struct{})} }

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written += len(p)
	g.recent = append(g.recent, p...)
	g.recent = g.recent[max(0, len(g.recent)-1<<16):]
	close(g.grew)
	g.grew = make(chan struct{})
	return len(p), nil
}

// shows waits until the program has drawn a text since the last match.
func (g *glass) shows(t *testing.T, text string) {
	t.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		g.mu.Lock()
		at, grew := bytes.Index(g.recent, []byte(text)), g.grew
		if at >= 0 {
			g.recent = g.recent[at+len(text):]
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		select {
		case <-grew:
		case <-limit.C:
			t.Fatalf("%q is not shown; last was %q", text, g.recent[max(0, len(g.recent)-600):])
		}
	}
}

func (g *glass) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written
}

// flood is a company whose events the test sends through channels.
type flood struct {
	*company
	rooms <-chan Room
	lines <-chan []Line
}

func (f *flood) Follow(ctx context.Context, send func(Room)) error {
	return forward(ctx, f.rooms, send)
}

func (f *flood) Watch(ctx context.Context, _ string, send func([]Line)) error {
	return forward(ctx, f.lines, send)
}

func forward[T any](ctx context.Context, from <-chan T, send func(T)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case v := <-from:
			send(v)
		}
	}
}

// started runs a screen on a terminal of 100 columns and 30 lines.
func started(t *testing.T, source Source) (program *tea.Program, g *glass, ended <-chan error) {
	t.Helper()
	g = newGlass()
	ctx, cancel := context.WithCancel(t.Context())
	in, keys := io.Pipe()
	var p *tea.Program
	m := New(ctx, source, Options{Now: func() time.Time { return noon }, Unicode: true}, func(msg tea.Msg) { p.Send(msg) })
	m.after = func(time.Duration, func(time.Time) tea.Msg) tea.Cmd { return nil }
	p = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(g), tea.WithEnvironment([]string{"TERM=xterm"}),
		tea.WithFPS(framesPerSecond), tea.WithWindowSize(100, 30), tea.WithoutSignalHandler())
	done := make(chan error, 1)
	go func() {
		_, err := p.Run()
		done <- err
		close(done)
	}()
	t.Cleanup(func() {
		cancel()
		_ = keys.Close() // never fails for a pipe
		<-done           //nolint:errcheck // the test looks at it
		m.calls.Wait()
	})
	return p, g, done
}

func TestProgramStartsResizesAndQuits(t *testing.T) {
	t.Parallel()
	program, g, ended := started(t, &company{room: acme(0)})
	g.shows(t, "[1 Now]")
	g.shows(t, "client/retry_test.go")
	program.Send(tea.WindowSizeMsg{Width: 28, Height: 6})
	g.shows(t, "too small: 28x6")
	program.Send(tea.WindowSizeMsg{Width: 80, Height: 24})
	g.shows(t, "[1 Now]")
	program.Send(keyNamed("q"))
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestIdleProgramDrawsNothing checks that nothing is written while nothing happens. Observing that
// takes real time.
func TestIdleProgramDrawsNothing(t *testing.T) {
	t.Parallel()
	quiet := acme(0)
	quiet.Running, quiet.Needs = 0, nil
	program, g, _ := started(t, &company{room: quiet})
	g.shows(t, "client/retry_test.go")
	program.Send(keyNamed("?"))
	program.Send(keyNamed("?"))
	// A busy machine may still draw frames. Eventually a second must pass without any.
	for deadline := time.Now().Add(time.Minute); ; {
		before := g.size()
		time.Sleep(time.Second) // the second to observe
		if g.size() == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it goes on drawing though nothing happens")
		}
	}
}

// TestTenThousandEvents sends ten thousand changes of the room and of the selected run as fast as
// possible. It checks that keys are handled in between and that memory stays bounded.
func TestTenThousandEvents(t *testing.T) { //nolint:paralleltest // it measures time and memory
	const events, mostHeap = 10_000, 60 << 20
	rooms, lines, over := make(chan Room), make(chan []Line), make(chan struct{})
	program, g, _ := started(t, &flood{company: &company{}, rooms: rooms, lines: lines})
	rooms <- acme(100)
	g.shows(t, "[1 Now]")
	ctx, begun := t.Context(), time.Now()
	go func() {
		defer close(over)
		first, other := acme(100), acme(100)
		other.Runs[1].What = "Write them again"
		for i := range events / 2 {
			shown := first
			if i%2 == 1 {
				shown = other
			}
			line := Line{fmt.Sprintf("line %d of what the run says %s", i, strings.Repeat("x", 60)), terminal.None}
			for rooms, lines := rooms, lines; rooms != nil || lines != nil; { // nobody receives lines while the run is not shown
				select {
				case <-ctx.Done():
					return
				case rooms <- shown:
					rooms, lines = nil, nil
				case lines <- []Line{line}:
					lines = nil
				}
			}
		}
	}()
	var slowest time.Duration
	var most uint64
	served := 0
	press := func(key, shown string) {
		pressed := time.Now()
		program.Send(keyNamed(key))
		g.shows(t, shown)
		slowest = max(slowest, time.Since(pressed))
		served++
	}
	for flowing := true; flowing; {
		press("2", "[2 Needs")
		press("1", "[1 Now]")
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		most = max(most, mem.HeapInuse+mem.StackInuse)
		select {
		case <-over:
			flowing = false
		default:
		}
	}
	t.Logf("%d events in %v; %d keys served, the slowest in %v; %d MB in use at most", events, time.Since(begun), served, slowest, most>>20)
	if served < 4 || most > mostHeap {
		t.Errorf("%d keys were served, and %d MB are in use", served, most>>20)
	}
}
