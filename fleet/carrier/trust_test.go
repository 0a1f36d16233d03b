package carrier_test

// Authentication: whom the server admits, and which hub a worker trusts.

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/fault"
)

// TestARevokedWorkerIsOut checks that a revoked worker's connection ends and it cannot reconnect.
func TestARevokedWorkerIsOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	other := w.connect(bob)
	if err := w.server.SetUsers(w.users()[1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), fleet.AskBeat, nil); err == nil {
		t.Error("it was answered")
	}
	if _, err := carrier.ConnectWorker(t.Context(), w.link(alice)); !fault.Is(err, fleet.CarrierUnavailable) {
		t.Error(err)
	}
	if _, err := other.Ask(t.Context(), fleet.AskBeat, nil); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheHubOfTheInvitationIsBelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := w.link(alice)
	link.Fingerprint = fmt.Sprintf("%064d", 1)
	if _, err := carrier.ConnectWorker(t.Context(), link); err == nil {
		t.Error("another certificate was taken")
	}
	link = w.link(alice)
	link.HubKey = newKey(t).Public()
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Ask(t.Context(), fleet.AskBeat, nil); err == nil {
		t.Error("an answer of somebody else was taken")
	}
	anonymous, err := nats.Connect("tls://"+w.listen, nats.Secure(), nats.MaxReconnects(0))
	if err == nil {
		anonymous.Close()
		t.Error("somebody without a key was let in")
	}
}

// lockedBuffer is a buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestARevokedWorkerSaysSoOnce checks that a worker logs a refusal once, however often it retries,
// and once more if it was admitted in between.
func TestARevokedWorkerSaysSoOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var said lockedBuffer
	link := w.link(alice)
	link.Log = slog.New(slog.NewTextHandler(&said, nil))
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	<-c.Connections()
	known := w.users()
	for times := 1; times <= 2; times++ {
		if err := w.server.SetUsers(known[1:]); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); strings.Count(said.String(), "refuses this worker's key") < times; time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatal(said.String())
			}
		}
		time.Sleep(2 * time.Second) // of retries
		if n := strings.Count(said.String(), "refuses this worker's key"); n != times {
			t.Errorf("said %d times, not %d:\n%s", n, times, said.String())
		}
		if err := w.server.SetUsers(known); err != nil {
			t.Fatal(err)
		}
		<-c.Connections()
	}
}

// TestAWorkerIsLetInAgain checks that a worker that was refused repeatedly reconnects by itself
// once the server knows it.
func TestAWorkerIsLetInAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	known := w.users()
	if err := w.server.SetUsers(slices.DeleteFunc(w.users(), func(u carrier.User) bool { return u.Worker == alice })); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // of retries
	if err := w.server.SetUsers(known); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Connections():
	case <-time.After(time.Minute):
		t.Fatal("it does not come back")
	}
	if answer, err := c.Ask(t.Context(), fleet.AskBeat, []byte("hello")); err != nil || string(answer) != "re: hello" {
		t.Error(string(answer), err)
	}
}
