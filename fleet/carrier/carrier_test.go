package carrier_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/fault"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := goleak.Find(goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).startGoRoutine")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

const (
	hubID = "abcdefgh23"
	alice = "wkr_01M7WQGTR95SV6EDMA61E1XR8A"
	bob   = "wkr_01M7WQGTR95SV6EDMA61E1XR8B"
)

// world is a hub with two workers' keys.
type world struct {
	t      *testing.T
	dir    string
	hubKey fleet.Key
	keys   map[string]fleet.Key
	cert   []byte
	key    []byte
	server *carrier.Server
	hub    *carrier.Hub
	listen string

	mu    sync.Mutex
	asked []carrier.Asked
}

func newKey(t *testing.T) fleet.Key {
	t.Helper()
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), hubKey: newKey(t), keys: map[string]fleet.Key{alice: newKey(t), bob: newKey(t)}, listen: "127.0.0.1:0"}
	var err error
	if w.cert, w.key, err = carrier.NewCertificate(time.Now()); err != nil {
		t.Fatal(err)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

func (w *world) users() []carrier.User {
	return []carrier.User{{Worker: alice, PublicKey: w.keys[alice].Public()}, {Worker: bob, PublicKey: w.keys[bob].Public()}}
}

func (w *world) start() {
	w.t.Helper()
	log := slog.New(slog.DiscardHandler)
	var err error
	if w.server, err = carrier.StartServer(w.t.Context(), carrier.ServerOptions{
		HubID: hubID, HubKey: w.hubKey.Public(), Listen: []string{w.listen}, StoreDir: w.dir, Cert: w.cert, Key: w.key, Users: w.users(), Log: log,
	}); err != nil {
		w.t.Fatal(err)
	}
	w.listen = w.server.Addresses()[0]
	if w.hub, err = carrier.ConnectHub(w.t.Context(), carrier.HubOptions{
		HubID: hubID, Key: w.hubKey, Server: w.server, Log: log, Workers: func() []string { return []string{alice, bob} },
		Answer: func(_ context.Context, a carrier.Asked) []byte {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, a)
			return slices.Concat([]byte("re: "), a.Body)
		},
	}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) stop() {
	w.hub.Close()
	w.server.Close()
}

func (w *world) fingerprint() string {
	w.t.Helper()
	sum, err := carrier.Fingerprint(w.cert)
	if err != nil {
		w.t.Fatal(err)
	}
	return sum
}

func (w *world) link(id string) fleet.WorkerLink {
	return fleet.WorkerLink{
		HubID: hubID, WorkerID: id, URLs: []string{"tls://" + w.listen}, Fingerprint: w.fingerprint(), HubKey: w.hubKey.Public(), Key: w.keys[id],
		Tell: func(_ context.Context, attempt, verb string, body []byte) []byte {
			return fmt.Appendf(nil, "%s %s %s", attempt, verb, body)
		},
	}
}

func (w *world) connect(id string) fleet.WorkerCarrier {
	w.t.Helper()
	c, err := carrier.ConnectWorker(w.t.Context(), w.link(id))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	<-c.Connections()
	return c
}

// publish publishes a batch of an attempt and waits until it is stored.
func publish(ctx context.Context, c fleet.WorkerCarrier, id, body string) error {
	stored, err := c.Publish(ctx, attempt(1), id, []byte(body))
	if err != nil {
		return err
	}
	return stored(ctx)
}

func attempt(epoch int) string { return fleet.Attempt("p", "r", "s", epoch) }

func TestWordsReachTheOtherSide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	ctx := t.Context()

	answer, err := c.Ask(ctx, fleet.AskBeat, []byte("hello"))
	if err != nil || string(answer) != "re: hello" {
		t.Fatal(string(answer), err)
	}
	a := w.asked[0]
	if a.Worker != alice || a.Verb != fleet.AskBeat || !fleet.Verify(w.keys[alice].Public(), a.Subject, a.Body, a.Signature) {
		t.Errorf("%+v", a)
	}

	if err := w.hub.PublishOrder(ctx, alice, attempt(1), []byte("order")); err != nil {
		t.Fatal(err)
	}
	order, err := c.NextOrder(ctx)
	if err != nil || order.Attempt != attempt(1) || string(order.Body) != "order" {
		t.Fatal(order, err)
	}
	if err := order.Ack(ctx); err != nil {
		t.Fatal(err)
	}

	if err := publish(ctx, c, fleet.MessageID(attempt(1), 1, 1, 1), "batch"); err != nil {
		t.Fatal(err)
	}
	d := <-w.hub.Drafts()
	if d.Worker != alice || d.Attempt != attempt(1) || string(d.Body) != "batch" || !fleet.Verify(w.keys[alice].Public(), d.Subject, d.Body, d.Signature) {
		t.Errorf("%+v", d)
	}
	d.Ack()

	told, err := w.hub.Tell(ctx, alice, w.keys[alice].Public(), attempt(1), fleet.TellStop, []byte("now"))
	if err != nil || string(told) != attempt(1)+" stop now" {
		t.Error(string(told), err)
	}
	if _, err := w.hub.Tell(ctx, bob, w.keys[bob].Public(), "", fleet.TellDrain, nil); !fault.Is(err, fleet.WorkerUnreachable) {
		t.Error(err)
	}

	big := bytes.Repeat([]byte("0123456789"), 1<<16)
	if err := c.Put(ctx, "out-x", bytes.NewReader(big)); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := w.hub.Get(ctx, alice, "out-x", &got); err != nil || !bytes.Equal(got.Bytes(), big) {
		t.Error(got.Len(), err)
	}
	if err := w.hub.Put(ctx, alice, "src-x", bytes.NewReader(big)); err != nil {
		t.Fatal(err)
	}
	got.Reset()
	if err := c.Get(ctx, "src-x", &got); err != nil || !bytes.Equal(got.Bytes(), big) {
		t.Error(got.Len(), err)
	}
	for range 2 {
		if err := c.Delete(ctx, "src-x"); err != nil {
			t.Error(err)
		}
	}
	if err := c.Get(ctx, "src-x", &got); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	counts, err := w.hub.Counts(ctx)
	if err != nil || counts.Orders != 0 {
		t.Error(counts, err)
	}
}

// TestAnObjectIsPutOnce: whoever reads an object gets all of it while others put it again,
// as two sessions from one commit do.
func TestAnObjectIsPutOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.connect(alice), t.Context()
	text := bytes.Repeat([]byte("0123456789"), 1<<15)
	for i := range 10 {
		name := fmt.Sprintf("src-%d", i)
		put := func() {
			if err := w.hub.Put(ctx, alice, name, bytes.NewReader(text)); err != nil {
				t.Error(err)
			}
		}
		put()
		var all sync.WaitGroup
		for range 4 {
			all.Go(put)
			all.Go(func() {
				var got bytes.Buffer
				if err := c.Get(ctx, name, &got); err != nil || !bytes.Equal(got.Bytes(), text) {
					t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
				}
			})
		}
		all.Wait()
	}
}

// late is a writer that takes its time for the first piece.
type late struct {
	bytes.Buffer
	pause time.Duration
}

func (l *late) Write(p []byte) (int, error) {
	time.Sleep(l.pause)
	l.pause = 0
	return l.Buffer.Write(p)
}

// TestAnObjectMayTakeLong: longer than a request may, as over a slow line.
func TestAnObjectMayTakeLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, ctx := w.connect(alice), t.Context()
	text := bytes.Repeat([]byte("0123456789"), 1<<17)
	if err := w.hub.Put(ctx, alice, "src-x", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got := late{pause: 5500 * time.Millisecond}
	if err := c.Get(ctx, "src-x", &got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}

// cut ends the server, starts it again, and waits until the worker is back.
func (w *world) cut(c fleet.WorkerCarrier) {
	select {
	case <-c.Connections(): // the first one
	default:
	}
	w.stop()
	w.start()
	<-c.Connections()
}

// ahead does something before anything is written.
type ahead struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (a *ahead) Write(p []byte) (int, error) {
	a.once.Do(a.do)
	return a.Buffer.Write(p)
}

// TestAnObjectIsReadAgainAfterACut: pieces are not waited for that nobody sends any more.
func TestAnObjectIsReadAgainAfterACut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	text := bytes.Repeat([]byte("0123456789"), 1<<20)
	if err := w.hub.Put(t.Context(), alice, "in-x", bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	got := &ahead{do: func() { w.cut(c) }}
	err := c.Get(t.Context(), "in-x", got)
	if err == nil || !fault.Is(err, fleet.CarrierUnavailable) || strings.Contains(err.Error(), "nothing of it came") {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
	got.Reset()
	if err := c.Get(t.Context(), "in-x", got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}

// behind does something once all was read.
type behind struct {
	from *bytes.Reader
	once sync.Once
	do   func()
}

func (b *behind) Read(p []byte) (int, error) {
	if b.from.Len() == 0 {
		b.once.Do(b.do)
	}
	return b.from.Read(p)
}

// TestAnObjectIsPutAgainAfterACut: what was lost with a connection is not waited for.
func TestAnObjectIsPutAgainAfterACut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	text := bytes.Repeat([]byte("0123456789"), 1<<20)
	err := c.Put(t.Context(), "out-x", &behind{from: bytes.NewReader(text), do: func() { w.cut(c) }})
	if err != nil && strings.Contains(err.Error(), "nothing of it came") {
		t.Error(err)
	}
	for err != nil {
		err = c.Put(t.Context(), "out-x", bytes.NewReader(text))
	}
	var got bytes.Buffer
	if err := w.hub.Get(t.Context(), alice, "out-x", &got); err != nil || !bytes.Equal(got.Bytes(), text) {
		t.Errorf("%d of %d bytes: %v", got.Len(), len(text), err)
	}
}

// TestAnOrderThatIsTakenBackDoesNotCome: nor does one come twice that was acknowledged.
func TestAnOrderThatIsTakenBackDoesNotCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	for _, a := range []string{attempt(1), attempt(2)} {
		if err := w.hub.PublishOrder(ctx, alice, a, []byte(a)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.hub.DeleteOrder(ctx, alice, attempt(1)); err != nil {
		t.Fatal(err)
	}
	order, err := w.connect(alice).NextOrder(ctx)
	if err != nil || order.Attempt != attempt(2) {
		t.Error(order.Attempt, err)
	}
}

// TestTheCarrierMayForgetEverything: the streams are made anew, and workers connect again.
func TestTheCarrierMayForgetEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	ctx := t.Context()
	w.stop()
	w.dir = t.TempDir()
	w.start()
	<-c.Connections()
	if err := w.hub.PublishOrder(ctx, alice, attempt(1), []byte("order")); err != nil {
		t.Fatal(err)
	}
	for {
		order, err := c.NextOrder(ctx)
		if err == nil && order.Attempt == attempt(1) {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	for publish(ctx, c, "1", "batch") != nil {
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	if d := <-w.hub.Drafts(); string(d.Body) != "batch" {
		t.Error(d)
	}
}

// TestARevokedWorkerIsOut: its connection ends, and it does not come back.
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

// lockedBuffer is a buffer for several goroutines.
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

// TestARevokedWorkerSaysSoOnce: however often it tries, and again once it was let in between.
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
		time.Sleep(2 * time.Second) // of attempts
		if n := strings.Count(said.String(), "refuses this worker's key"); n != times {
			t.Errorf("said %d times, not %d:\n%s", n, times, said.String())
		}
		if err := w.server.SetUsers(known); err != nil {
			t.Fatal(err)
		}
		<-c.Connections()
	}
}

// TestAWorkerIsLetInAgain: one that the server turned away again and again comes back by
// itself once it is known.
func TestAWorkerIsLetInAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connect(alice)
	known := w.users()
	if err := w.server.SetUsers(slices.DeleteFunc(w.users(), func(u carrier.User) bool { return u.Worker == alice })); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) // of attempts
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
