package supervisor_test

// MCP servers and model profiles of the workspace, as agents receive them.

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/mcpserver"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// serve adds MCP servers to the workspace of a stage.
func (s *stage) serve(servers map[string]doc.MCPServer) {
	s.t.Helper()
	err := s.w.Update(s.ctx, func(u *workspace.Unit) error {
		return u.UpdateEquipment(func(m *doc.Machine, secrets *doc.Secrets) error {
			for id, server := range servers {
				server.TimeoutSeconds, server.Enabled = 7, true
				mcpserver.Put(m, secrets, id, server)
			}
			return nil
		})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestAgentsAreToldOfServers checks that each driver passes the workspace's servers to the
// agent, with their secret values. Neither the log nor the run's record has these values.
func TestAgentsAreToldOfServers(t *testing.T) {
	t.Parallel()
	for driver, want := range map[string]string{
		session.DriverCodex: `{"tool":{"command":"/bin/tool","args":["-v"],"env":{"KEY":"key-of-tool-1"},"startup_timeout_sec":7,"tool_timeout_sec":7},` +
			`"web":{"url":"https://h/mcp","http_headers":{"Authorization":"Bearer token-of-web-2"},"startup_timeout_sec":7,"tool_timeout_sec":7}}`,
		session.DriverClaude: `{"mcpServers":{"events":{"type":"sse","url":"https://h/sse","timeout":7000},` +
			`"tool":{"command":"/bin/tool","args":["-v"],"env":{"KEY":"key-of-tool-1"},"timeout":7000},` +
			`"web":{"type":"http","url":"https://h/mcp","headers":{"Authorization":"Bearer token-of-web-2"},"timeout":7000}}}`,
		session.DriverACP: `[{"name":"tool","command":"/bin/tool","args":["-v"],"env":[{"name":"KEY","value":"key-of-tool-1"}]},` +
			`{"type":"http","name":"web","url":"https://h/mcp","headers":[{"name":"Authorization","value":"Bearer token-of-web-2"}]}]`,
	} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.serve(map[string]doc.MCPServer{
				"tool":   {Transport: "stdio", Command: "/bin/tool", Args: []string{"-v"}, Env: map[string]string{"KEY": "key-of-tool-1"}},
				"web":    {Transport: "http", URL: "https://h/mcp", AuthToken: "{env:WEB_TOKEN}"},
				"events": {Transport: "sse", URL: "https://h/sse"},
			})
			file := filepath.Join(t.TempDir(), "servers")
			order := s.turnOf(driver, "servers;say done")
			order.Env = map[string]string{"SERVERS_FILE": file, "WEB_TOKEN": "token-of-web-2"}
			s.launch(order)
			k := talk{s, order}
			k.await(events.TurnEnded, nil)
			record := k.end()
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("it was told %s %v, want %s", got, err, want)
			}
			log := strings.Join(k.log(order), "")
			run, err := os.ReadFile(filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.RunFile(s.project, order.RunID))))
			if err != nil {
				t.Fatal(err)
			}
			for _, secret := range []string{"key-of-tool-1", "token-of-web-2"} {
				if strings.Contains(log, secret) || strings.Contains(string(run), secret) {
					t.Errorf("%s was recorded", secret)
				}
			}
			k.leaveNoGrant(record)
		})
	}
}

// TestMissingVariable checks that a launch is refused, and nothing recorded, if a server needs
// an environment variable that is not set.
func TestMissingVariable(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.serve(map[string]doc.MCPServer{"web": {Transport: "http", URL: "https://h/mcp", AuthToken: "{env:AC_TEST_UNSET_TOKEN}"}})
	order := s.turnOf(session.DriverCodex, "say hi")
	err := s.launcher.Launch(s.ctx, order)
	if !fault.Is(err, fault.EnvMissing) || !strings.Contains(err.Error(), "AC_TEST_UNSET_TOKEN") {
		t.Error(err)
	}
	if _, err := session.Current(s.ctx, s.w, order.SessionRef); !fault.Is(err, fault.NotFound) {
		t.Errorf("a session was recorded: %v", err)
	}
}

// TestModelProfiles checks that an agent starts with the address and the key of a model
// profile. The secrets are neither in its command line nor in the files of the run.
func TestModelProfiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	err := s.w.Update(s.ctx, func(u *workspace.Unit) error {
		return u.UpdateEquipment(func(m *doc.Machine, secrets *doc.Secrets) error {
			modelprofile.Put(m, secrets, "fast", doc.ModelProfile{
				Provider: "own", Model: "m", BaseURL: "http://127.0.0.1:9/v1", APIKey: "key-of-profile-1",
				RequestHeaders: map[string]string{"X-Token": "{env:PROFILE_TOKEN}"},
			})
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "environ")
	order := s.order("sh", "-c", "env > "+file+"; env")
	order.ModelProfile, order.Env = "Fast", map[string]string{"PROFILE_TOKEN": "token-of-profile-2"}
	s.launch(order)
	k := talk{s, order}
	if record := k.end(); record.ModelProfile != "Fast" {
		t.Errorf("%+v", record)
	}
	environ, err := os.ReadFile(file)
	for _, entry := range []string{"AC_MODEL=m", "AC_MODEL_BASE_URL=http://127.0.0.1:9/v1", "AC_MODEL_API_KEY=key-of-profile-1", "AC_MODEL_HEADERS=X-Token: token-of-profile-2"} {
		if err != nil || !strings.Contains(string(environ), entry+"\n") {
			t.Errorf("%s is not in its environment (%v)", entry, err)
		}
	}
	dir := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.RunDir(s.project, order.RunID)))
	err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "key-of-profile-1") || strings.Contains(string(text), "token-of-profile-2") {
			t.Errorf("%s has a secret of the profile", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	live := s.turnOf(session.DriverCodex, "say hi")
	live.ModelProfile, live.Env = "fast", order.Env
	s.launch(live)
	k = talk{s, live}
	k.end()
	log := strings.Join(k.log(live), "")
	if !strings.Contains(log, `model_providers.ac_profile.env_key=\"AC_MODEL_API_KEY\"`) || strings.Contains(log, "key-of-profile-1") {
		t.Errorf("the command line of codex: %s", k.log(live)[1])
	}
}
