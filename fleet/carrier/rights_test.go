package carrier_test

import (
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ac/fleet"
	"ac/fleet/carrier"
)

// raw connects with a plain NATS client and the given key, without this package's conventions.
func (w *world) raw(key fleet.Key, inbox string) *nats.Conn {
	w.t.Helper()
	conn, err := nats.Connect("tls://"+w.listen, nats.Secure(&tls.Config{InsecureSkipVerify: true}),
		nats.Nkey(key.Public(), func(nonce []byte) ([]byte, error) { return key.Raw(nonce), nil }), nats.CustomInboxPrefix(inbox),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), nats.NoReconnect())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(conn.Close)
	return conn
}

// refused reports whether the server refuses the operation do.
func refused(t *testing.T, conn *nats.Conn, do func() error) bool {
	t.Helper()
	if err := do(); err != nil {
		return true
	}
	if err := conn.FlushTimeout(5 * time.Second); err != nil {
		return true
	}
	err := conn.LastError()
	return err != nil && errors.Is(err, nats.ErrPermissionViolation) || err != nil && strings.Contains(strings.ToLower(err.Error()), "permissions violation")
}

func TestAWorkerReachesNothingOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := fleet.Subjects{Hub: hubID}
	publish := []string{
		s.Draft(bob, attempt(1)), s.Ask(bob, fleet.AskClaim), s.Order(alice, attempt(1)), s.Order(bob, attempt(1)),
		s.Tell(bob, "", fleet.TellDrain), s.Tell(alice, "", fleet.TellDrain), s.Alive(), fleet.Inbox(bob) + ".x", "_INBOX.x",
		"$JS.API.CONSUMER.MSG.NEXT." + s.OrdersStream() + "." + bob, "$JS.API.CONSUMER.CREATE." + s.OrdersStream() + ".x",
		"$JS.API.CONSUMER.MSG.NEXT." + s.DraftsStream() + ".ingest", "$JS.API.STREAM.MSG.GET." + s.OrdersStream(),
		"$JS.API.STREAM.MSG.GET." + s.DraftsStream(), "$JS.API.STREAM.PURGE." + s.DraftsStream(), "$JS.API.STREAM.DELETE." + s.DraftsStream(),
		"$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE." + s.OrdersStream(), "$JS.API.STREAM.LIST", "$JS.API.INFO",
		"$JS.API.STREAM.INFO.OBJ_" + s.Bucket(bob), "$JS.API.STREAM.MSG.GET.OBJ_" + s.Bucket(bob), "$JS.API.DIRECT.GET.OBJ_" + s.Bucket(bob),
		"$JS.API.STREAM.PURGE.OBJ_" + s.Bucket(bob), "$JS.API.CONSUMER.CREATE.OBJ_" + s.Bucket(bob) + ".x",
		"$O." + s.Bucket(bob) + ".C.x", "$O." + s.Bucket(bob) + ".M.x", "$JS.ACK." + s.OrdersStream() + "." + bob + ".1.1.1.1.1",
		"$JS.ACK." + s.DraftsStream() + ".ingest.1.1.1.1.1", "$SYS.REQ.SERVER.PING",
	}
	subscribe := []string{
		">", s.All("order"), s.All("draft"), s.All("ask"), s.Of("tell", bob), s.All("tell"), fleet.Inbox(bob) + ".>", "_INBOX.>", "$JS.>", "$SYS.>",
		"$O." + s.Bucket(bob) + ".>", s.Of("ask", alice),
	}
	for _, subject := range publish {
		conn := w.raw(w.keys[alice], fleet.Inbox(alice))
		if !refused(t, conn, func() error { return conn.Publish(subject, []byte("{}")) }) {
			t.Errorf("it may publish to %s", subject)
		}
	}
	for _, subject := range subscribe {
		conn := w.raw(w.keys[alice], fleet.Inbox(alice))
		if !refused(t, conn, func() error { _, err := conn.SubscribeSync(subject); return err }) {
			t.Errorf("it may read %s", subject)
		}
	}
}

func TestAnInvitedWorkerMayOnlyJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	invite := newKey(t)
	const guest = "wkr_01M7WQGTR95SV6EDMA61E1XR8C"
	if err := w.server.SetUsers(append(w.users(), carrier.User{Worker: guest, PublicKey: invite.Public(), Invited: true})); err != nil {
		t.Fatal(err)
	}
	s := fleet.Subjects{Hub: hubID}
	for _, subject := range []string{s.Ask(guest, fleet.AskHello), s.Ask(guest, fleet.AskClaim), s.Draft(guest, attempt(1)), s.Ask(alice, fleet.AskJoin)} {
		conn := w.raw(invite, fleet.Inbox(guest))
		if !refused(t, conn, func() error { return conn.Publish(subject, nil) }) {
			t.Errorf("it may publish to %s", subject)
		}
	}
	link := w.link(guest)
	link.Key, link.Tell = invite, nil
	c, err := carrier.ConnectWorker(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if answer, err := c.Ask(t.Context(), fleet.AskJoin, []byte("x")); err != nil || string(answer) != "re: x" {
		t.Error(string(answer), err)
	}
}

// TestAReplySubjectIsNoSignature checks that forged drafts are not signed. The server does not
// check reply subjects, so a worker can make it store a reply as another worker's draft.
func TestAReplySubjectIsNoSignature(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := fleet.Subjects{Hub: hubID}
	conn := w.raw(w.keys[alice], fleet.Inbox(alice))
	forged := s.Draft(bob, attempt(1))
	if err := conn.PublishRequest("$JS.API.STREAM.INFO.OBJ_"+s.Bucket(alice), forged, nil); err != nil {
		t.Fatal(err)
	}
	d := <-w.hub.Drafts()
	if d.Worker != bob {
		t.Fatalf("%+v", d)
	}
	if fleet.Verify(w.keys[bob].Public(), d.Subject, d.Body, d.Signature) {
		t.Error("it passes for the other's")
	}
	d.Ack()
	// A request's answer goes only to the inbox of its sender.
	if err := conn.PublishRequest(s.Ask(alice, fleet.AskBeat), forged, []byte("words of its choice")); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	c := w.connect(alice)
	if _, err := c.Ask(t.Context(), fleet.AskBeat, []byte("after")); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != 1 || string(w.asked[0].Body) != "after" {
		t.Errorf("%d requests were answered", len(w.asked))
	}
}
