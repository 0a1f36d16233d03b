//go:build linux

package terminal_test

// Tests of input that the program does not read at once.

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/internal/fault"
)

// TestStalled checks that typing into a program that does not read its input ends after five
// seconds, or when the context is canceled.
func TestStalled(t *testing.T) {
	t.Parallel()
	term := open(t, newHub(t))
	typed(t, term, "stty raw -echo; echo wait''ing; sleep 600\n")
	await(t, term, 0, "waiting")
	flood := []byte(strings.Repeat("x", 256<<10))
	held, began := 0, time.Now()
	if n, err := term.Write(context.Background(), flood, func() { held++ }); !fault.Is(err, fault.TerminalStalled) || n >= len(flood) || held != 1 {
		t.Errorf("%d %v, held %d times", n, err, held)
	}
	// The bytes accepted at first must not delay the error by another five seconds.
	if took := time.Since(began); took < 5*time.Second || took > 9*time.Second {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := term.Write(ctx, flood, nil)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTypedInOrder checks that texts are typed in the order of the calls, even while they wait
// for one that the program does not read.
func TestTypedInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	term := open(t, newHub(t))
	typed(t, term, "stty raw -echo; echo wait''ing; while ! test -e "+dir+"/go; do sleep 0.01; done; dd bs=1 count=65541 2>/dev/null | tail -c 5; echo =end\n")
	await(t, term, 0, "waiting")
	texts := make(chan error, 6)
	say := func(text string) {
		waits := make(chan struct{})
		go func() {
			_, err := term.Write(context.Background(), []byte(text), func() { close(waits) })
			texts <- err
		}()
		<-waits
	}
	say(strings.Repeat("x", 65536))
	for _, letter := range "abcde" {
		say(string(letter))
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		if err := <-texts; err != nil {
			t.Fatal(err)
		}
	}
	await(t, term, 0, "abcde=end")
}
