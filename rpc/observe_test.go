package rpc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/internal/clock"
	"ac/workspace"
)

// TestRefusedRequestsObserve checks that a workspace ticks even if only refused
// requests named it.
func TestRefusedRequestsObserve(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"unknown method": `{"jsonrpc":"2.0","id":1,"method":"no.such","params":{"workspace_dir":%s}}`,
		"bad params":     `{"jsonrpc":"2.0","id":1,"method":"heartbeat.tick","params":{"workspace_dir":%s,"dry_run":7}}`,
		"a bad job":      `{"jsonrpc":"2.0","id":1,"method":"job.submit","params":{"job":{"workspace_dir":%s}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "ws")
			if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
				t.Fatal(err)
			}
			state := filepath.Join(dir, ".local/heartbeat/state.yaml")
			write(t, state, []byte("next_tick_at: "+clock.Stamp(time.Now().Add(2*time.Second))+"\n"))
			quoted, err := json.Marshal(dir)
			if err != nil {
				t.Fatal(err)
			}
			p := newPeer(t)
			p.send(fmt.Sprintf(request, quoted) + "\n")
			// The server makes up for a missed tick within a minute.
			deadline := time.Now().Add(2 * time.Minute)
			for {
				if text, err := os.ReadFile(state); err == nil && strings.Contains(string(text), "ticks_total: 1") {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("the workspace does not tick")
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}

// TestNamedIn checks which workspace namedIn finds in arbitrary params.
func TestNamedIn(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"workspace_dir":"a","job":{"workspace_dir":"b"}}`: "a", `{"workspace_dir":7,"job":{"workspace_dir":"b"}}`: "b",
		`{"job":{"workspace_dir":["b"]}}`: "", `{"job":"b"}`: "", `[]`: "", ``: "", `null`: "", `{}`: "",
	} {
		if got := namedIn([]byte(raw)); got != want {
			t.Errorf("%s: %q", raw, got)
		}
	}
}
