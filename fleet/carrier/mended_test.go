package carrier_test

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ac/fleet"
)

// TestClientsCauseNoProbes checks that misbehaving clients at the port never make the hub write to
// a stream.
func TestClientsCauseNoProbes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := fleet.Subjects{Hub: hubID}
	var writes atomic.Int64
	hub := w.raw(w.hubKey, "_INBOX")
	for _, subject := range []string{s.All("order"), s.All("draft"), "$O.>", "$JS.API.STREAM.>"} {
		if _, err := hub.Subscribe(subject, func(m *nats.Msg) {
			writes.Add(1)
			t.Log(m.Subject)
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := hub.FlushTimeout(5 * time.Second); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", w.listen)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = conn.Write([]byte("no TLS at all\r\n\r\n")) // the server refuses it
	_ = conn.Close()                                   // the server refused it
	stranger := newKey(t)
	if c, err := nats.Connect("tls://"+w.listen, nats.Secure(&tls.Config{InsecureSkipVerify: true}), nats.MaxReconnects(0),
		nats.Nkey(stranger.Public(), func(nonce []byte) ([]byte, error) { return stranger.Raw(nonce), nil })); err == nil {
		c.Close()
		t.Error("a stranger was let in")
	}
	worker := w.raw(w.keys[alice], fleet.Inbox(alice))
	if !refused(t, worker, func() error { return worker.Publish(s.Draft(bob, attempt(1)), nil) }) {
		t.Error("a worker wrote for another")
	}
	time.Sleep(2500 * time.Millisecond) // longer than the hub waits before it probes
	if n := writes.Load(); n != 0 {
		t.Errorf("the hub wrote %d times", n)
	}
}

// TestAMissingStreamIsMadeAgain checks that a suspected stream that is missing is created again.
func TestAMissingStreamIsMadeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	js, err := jetstream.New(w.raw(w.hubKey, "_INBOX"))
	if err != nil {
		t.Fatal(err)
	}
	stream := "OBJ_" + fleet.Subjects{Hub: hubID}.Bucket(bob)
	if err := js.DeleteStream(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	w.server.Suspect(stream)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := js.Stream(t.Context(), stream); err == nil {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatal("it is still missing")
		}
	}
}
