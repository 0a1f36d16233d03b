package carrier_test

// Confused-deputy attacks. The server itself sends messages on a worker's behalf: replies to the
// reply subject of a request, and stored messages to the delivery subject of a consumer.

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ac/fleet"
	"ac/internal/fault"
)

// thief has the key of one worker and asks the server for another worker's data.
type thief struct {
	*world
	conn *nats.Conn
	mine string // the stream of its own object store
}

// consumer returns a request to the server's API that creates a consumer.
func (f thief) consumer(stream, name, deliver, filter string) []byte {
	f.t.Helper()
	config := map[string]any{
		"name": name, "deliver_subject": deliver, "deliver_policy": "all", "ack_policy": "none", "inactive_threshold": int64(time.Minute),
	}
	if filter != "" {
		config["filter_subject"] = filter
	}
	text, err := json.Marshal(map[string]any{"stream_name": stream, "config": config})
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// TestNothingIsReadByDetours puts an API request for another's stream into a worker's own object
// store, and has the server send it from there to the API. Nothing may be read that way.
func TestNothingIsReadByDetours(t *testing.T) {
	t.Parallel()
	s := fleet.Subjects{Hub: hubID}
	stored := "$O." + s.Bucket(alice) + ".C.request"
	ways := map[string]func(f thief, target string){
		"direct read": func(f thief, target string) {
			body := []byte(`{"last_by_subj": "` + stored + `"}`)
			if err := f.conn.PublishRequest("$JS.API.DIRECT.GET."+f.mine, target, body); err != nil {
				f.t.Fatal(err)
			}
		},
		"direct read of a subject": func(f thief, target string) {
			if err := f.conn.PublishRequest("$JS.API.DIRECT.GET."+f.mine+"."+stored, target, nil); err != nil {
				f.t.Fatal(err)
			}
		},
		"consumer": func(f thief, target string) {
			_, _ = f.conn.Request("$JS.API.CONSUMER.CREATE."+f.mine+".way."+stored, f.consumer(f.mine, "way", target, stored), 5*time.Second) // may be refused
		},
		"read": func(f thief, target string) {
			if err := f.conn.PublishRequest("$JS.API.STREAM.MSG.GET."+f.mine, target, []byte(`{"last_by_subj": "`+stored+`"}`)); err != nil {
				f.t.Fatal(err)
			}
		},
	}
	for name, way := range ways {
		for _, stream := range []string{"OBJ_" + s.Bucket(bob), s.DraftsStream()} {
			t.Run(name+" "+stream, func(t *testing.T) {
				t.Parallel()
				steal(t, stream, stored, way)
			})
		}
	}
}

func steal(t *testing.T, stream, stored string, way func(f thief, target string)) {
	w := newWorld(t)
	s := fleet.Subjects{Hub: hubID}
	if err := w.connect(bob).Put(t.Context(), "out-x", bytes.NewReader([]byte("his"))); err != nil {
		t.Fatal(err)
	}
	f := thief{world: w, conn: w.raw(w.keys[alice], fleet.Inbox(alice)), mine: "OBJ_" + s.Bucket(alice)}
	loot, err := f.conn.SubscribeSync(fleet.Inbox(alice) + ".loot")
	if err != nil {
		t.Fatal(err)
	}
	request := f.consumer(stream, "loot", fleet.Inbox(alice)+".loot", "")
	if _, err := f.conn.Request(stored, request, 5*time.Second); err != nil { // this stores the request
		t.Fatal(err)
	}
	way(f, "$JS.API.CONSUMER.CREATE."+stream+".loot")
	if err := w.connect(alice).Put(t.Context(), "out-y", bytes.NewReader([]byte("behind it"))); err != nil {
		t.Fatal(err)
	}
	if m, err := loot.NextMsg(500 * time.Millisecond); err == nil {
		t.Errorf("it reads %s: %q", m.Subject, m.Data)
	}
	js, err := w.raw(w.hubKey, "_INBOX").JetStream()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := js.ConsumerInfo(stream, "loot"); err == nil {
		t.Errorf("it has a consumer of %s", info.Stream)
	}
}

// TestALinkIsNoObject checks that neither hub nor worker follows a link from one worker's store to
// another's. The hub's rights would allow it.
func TestALinkIsNoObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := fleet.Subjects{Hub: hubID}
	a := w.connect(alice)
	if err := w.connect(bob).Put(t.Context(), "out-x", bytes.NewReader([]byte("his"))); err != nil {
		t.Fatal(err)
	}
	conn := w.raw(w.keys[alice], fleet.Inbox(alice))
	meta, err := json.Marshal(map[string]any{
		"name": "out-x", "bucket": s.Bucket(alice), "nuid": "x", "options": map[string]any{"link": map[string]any{"bucket": s.Bucket(bob), "name": "out-x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Request("$O."+s.Bucket(alice)+".M.b3V0LXg=", meta, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for name, get := range map[string]func(*bytes.Buffer) error{
		"hub":    func(to *bytes.Buffer) error { return w.hub.Get(t.Context(), alice, "out-x", to) },
		"worker": func(to *bytes.Buffer) error { return a.Get(t.Context(), "out-x", to) },
	} {
		var got bytes.Buffer
		if err := get(&got); !fault.Is(err, fault.Denied) || got.Len() > 0 {
			t.Errorf("%s: %q, %v", name, got.String(), err)
		}
	}
}
