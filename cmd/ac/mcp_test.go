package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"ac/runs/grant"
	"ac/runs/grant/granttest"
	"ac/workspace"
)

// granted starts the supervisor of a session without an agent. It returns the path of its grant.
func granted(t *testing.T) (supervisor *granttest.Supervisor, file string) {
	t.Helper()
	dir, projects := foreignCompany(t)
	supervisor = &granttest.Supervisor{Now: time.Now, Who: grant.Identity{
		WorkspaceDir: dir, ProjectID: projects[0], RunID: "run_a", AgentID: workspace.SecretaryID(projects[0]), WorkingDir: dir, PermissionLevel: "patch", Mode: "default",
	}}
	sockets, err := os.MkdirTemp("", "ac-c") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	return supervisor, supervisor.Serve(t, sockets)
}

// mcpServe returns `ac mcp:serve` as an agent starts it: with a minimal environment.
func mcpServe(file string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "mcp:serve", "--grant", file)
	cmd.Env = []string{asProgram + "=1", "GORACE=atexit_sleep_ms=0", "HOME=" + os.Getenv("HOME"), "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	return cmd
}

// TestMCPServe uses the tools of a session with the client of the official SDK.
func TestMCPServe(t *testing.T) {
	t.Parallel()
	supervisor, file := granted(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: mcpServe(file)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 8 {
		t.Fatalf("%+v %v", list, err)
	}
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "who_am_i"})
	if err != nil || result.IsError {
		t.Fatalf("%+v %v", result, err)
	}
	me, _ := result.StructuredContent.(map[string]any)
	if me["run_id"] != "run_a" || me["company"] != "Acme" {
		t.Errorf("%v", me)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	supervisor.End()
}

// TestMCPServeSurvivesMalformedLines also checks that the server ends with its session even if its
// stdin stays open.
func TestMCPServeSurvivesMalformedLines(t *testing.T) {
	t.Parallel()
	supervisor, file := granted(t)
	cmd := mcpServe(file)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"{not json", "[]", `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`} {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := bufio.NewScanner(out)
	for _, want := range []string{`"code":-32700`, `"code":-32600`, `"code":-32601`, `"id":2,"result":{}`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Errorf("%s, want %s", lines.Text(), want)
		}
	}
	began := time.Now()
	supervisor.End()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if took := time.Since(began); took > 10*time.Second { // about one second on an idle machine
		t.Errorf("it ended after %s", took)
	}
}

// TestMCPServeWithoutAGrant checks that the server serves no tools without a valid grant.
func TestMCPServeWithoutAGrant(t *testing.T) {
	t.Parallel()
	supervisor, file := granted(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(file), "fedcba9876543210.grant")
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(what, file, says string) {
		t.Helper()
		cmd := mcpServe(file)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok || ended.ExitCode() != 1 || stdout.Len() > 0 || !strings.HasPrefix(stderr.String(), "ERROR: ") || !strings.Contains(stderr.String(), says) {
			t.Errorf("%s: %v\n%s%s", what, err, &stdout, &stderr)
		}
	}
	refused("a copy", copied, "copy of another session")
	refused("no file", file+"x", "does not exist")
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"token":"0123`), []byte(`"token":"ffff`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("a wrong token", file, "not for this session")
	supervisor.End()
	refused("a session that is over", file, "is over")
}
