package web

import (
	"os"
	"slices"
	"strings"
	"testing"

	"ac/rpc"
)

// TestCallableIsDocumented checks that docs/web.md names every method that the page may call.
func TestCallableIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range callable() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/web.md does not name %s", name)
		}
	}
}

// TestCallable checks the callable methods against the RPC table. They include every method that
// reads a workspace, except those for outside files, machines and agent equipment. None streams,
// and none lets a client claim another identity.
func TestCallable(t *testing.T) {
	t.Parallel()
	table := rpc.NewTable("")
	outside := []string{"sharepack.replay", "mcp.server.list", "model.profile.list", "terminal.shells", "terminal.read", "skill.list", "skill.read", "hub.status", "worker.list"}
	list := callable()
	for _, m := range table.Methods() {
		reads := m.Access == rpc.Read && slices.Contains(table.Params(m.Name), "workspace_dir")
		if reads && !slices.Contains(list, m.Name) && !slices.Contains(outside, m.Name) {
			t.Errorf("%s reads a workspace and cannot be called", m.Name)
		}
		if slices.Contains(list, m.Name) && m.Streams {
			t.Errorf("%s streams", m.Name)
		}
	}
	s := &Server{opts: options("/ws")}
	for _, name := range list {
		params := table.Params(name)
		if params == nil && !strings.HasPrefix(name, "heartbeat.") && name != "index.sync_worker_status" {
			t.Errorf("there is no method %s", name)
		}
		for _, param := range params {
			if who := strings.HasSuffix(param, "_by") || strings.HasPrefix(param, "actor_") || strings.HasPrefix(param, "manager_") || strings.HasPrefix(param, "author_"); !who {
				continue
			}
			given := map[string]jsonRaw{param: jsonRaw(`"somebody"`)}
			if err := s.claim(given, params); err != nil || string(given[param]) == `"somebody"` {
				t.Errorf("%s: %s may be claimed", name, param)
			}
		}
	}
}
