//go:build linux

package terminal_test

// Tests of what is refused or ended at a bound.

import (
	"bytes"
	"strconv"
	"syscall"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/terminal"
)

// TestViewersAreBounded checks that one viewer too many is refused until another detaches.
func TestViewersAreBounded(t *testing.T) {
	t.Parallel()
	term := open(t, newHub(t))
	var all []*terminal.Viewer
	for range terminal.MaxViewers {
		v, _, _, _, err := term.Attach(0)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Detach()
		all = append(all, v)
	}
	if _, _, _, _, err := term.Attach(0); !fault.Is(err, fault.TerminalViewers) {
		t.Errorf("one too many: %v", err)
	}
	all[7].Detach()
	all[7].Detach() // counts only once
	v, _, _, _, err := term.Attach(0)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Detach()
	if _, _, _, _, err := term.Attach(0); !fault.Is(err, fault.TerminalViewers) {
		t.Errorf("one too many again: %v", err)
	}
}

// TestEndOfTheServer checks that Close ends all terminals concurrently and quickly, although
// their shells and background processes ignore SIGHUP.
func TestEndOfTheServer(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	var pids []int
	for range terminal.Limit {
		term := open(t, h)
		typed(t, term, "trap '' HUP; nohup sleep 600 >/dev/null 2>&1 & echo away=$!.\n")
		pids = append(pids, term.Info().PID, numberBehind(t, term, "away="))
	}
	began := time.Now()
	h.Close()
	// One after the other, they would take 300 ms each, or five seconds.
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the end took %s", took)
	}
	for _, pid := range pids {
		until(t, "the end of "+strconv.Itoa(pid), func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	}
	if _, err := h.Create(spec(t.TempDir())); !fault.Is(err, fault.ShuttingDown) {
		t.Errorf("a terminal of a server that is over: %v", err)
	}
}

// numberBehind returns the number printed after a text.
func numberBehind(t *testing.T, term *terminal.Terminal, text string) int {
	t.Helper()
	number := 0
	until(t, text, func() bool {
		p, _, err := term.Read(t.Context(), 0, 1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range bytes.Split(p.Bytes, []byte(text))[1:] {
			digits, _, whole := bytes.Cut(part, []byte("."))
			if n, err := strconv.Atoi(string(digits)); whole && err == nil {
				number = n
			}
		}
		return number > 0
	})
	return number
}
