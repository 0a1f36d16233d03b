package carrier_test

// Messages and orders between a hub and two workers, over a real server.

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

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
	asked []carrier.Request
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
		Answer: func(_ context.Context, a carrier.Request) []byte {
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

// TestAnOrderThatIsTakenBackDoesNotCome checks that a deleted order is not delivered.
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

// TestTheCarrierMayForgetEverything checks that the hub recreates the streams after the carrier
// lost its store. Workers reconnect.
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
