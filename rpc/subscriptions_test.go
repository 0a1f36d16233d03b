package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ac/workspace"
)

// TestSubscriptionsOverTheWire subscribes as a client does. The answer comes before
// the first notification, and live events follow the backfill. Notifications name the
// workspace as the client did. Nothing follows the answer to unsubscribe.
func TestSubscriptionsOverTheWire(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(context.Background(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, workspace.LogFile("proj_a", "run_1"))
	appendEvents(t, log, 1, 3)

	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.Background(), Options{In: fromClient, Out: toClient, Log: slog.New(slog.DiscardHandler), Env: workspace.SystemEnv()})
		_ = toClient.Close() // it never fails
	}()
	said := make(chan wireMessage, 100)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(fromServer); lines.Scan(); {
			var m wireMessage
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
				t.Errorf("%v: %s", err, lines.Bytes())
			}
			said <- m
		}
	}()
	given := dir + "/"
	ask := func(id int, method, params string) {
		if _, err := fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params); err != nil {
			t.Error(err)
		}
	}
	expect := func(what string) {
		t.Helper()
		select {
		case m := <-said:
			if got := m.String(); got != what {
				t.Errorf("the server said %s, not %s", got, what)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("the server did not say %s", what)
		}
	}
	ask(1, "events.subscribe", fmt.Sprintf(`{"subscription_id":"s","workspace_dir":%q,"backfill_limit":2}`, given))
	expect("answer 1")
	expect("proj_a 2 " + given)
	expect("proj_a 3 " + given)
	appendEvents(t, log, 4, 4)
	expect("proj_a 4 " + given)
	ask(2, "events.ack", `{"subscription_id":"s","last_ack_ts_monotonic_ms":5}`)
	expect("answer 2")
	ask(3, "events.unsubscribe", `{"subscription_id":"s"}`)
	expect("answer 3")
	appendEvents(t, log, 5, 6)
	ask(4, "events.ack", `{"subscription_id":"s"}`)
	expect("refusal 4")
	ask(5, "events.subscribe", fmt.Sprintf(`{"subscription_id":"s","workspace_dir":%q,"run_id":"run_1","since_seq":5}`, given))
	expect("answer 5")
	expect("proj_a 6 " + given)
	if err := toServer.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for m := range said {
		t.Errorf("the server said %s at the end", m)
	}
}

type wireMessage struct {
	ID     *int            `json:"id"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Project string `json:"project_id"`
		Dir     string `json:"workspace_dir"`
		Seq     int    `json:"seq"`
	} `json:"params"`
}

func (m wireMessage) String() string {
	switch {
	case m.ID == nil:
		return fmt.Sprintf("%s %d %s", m.Params.Project, m.Params.Seq, m.Params.Dir)
	case m.Error != nil:
		return fmt.Sprintf("refusal %d", *m.ID)
	}
	return fmt.Sprintf("answer %d", *m.ID)
}

// appendEvents appends events to a log as another program would.
func appendEvents(t *testing.T, log string, from, to int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for n := from; n <= to && err == nil; n++ {
		_, err = fmt.Fprintf(f, `{"type":"note","run_id":"run_1","n":%d}`+"\n", n)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.Fatal(err)
	}
}
