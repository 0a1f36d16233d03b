package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ac/fleet"
	"ac/workspace"
)

// called runs one command line with the given stdin.
func called(t *testing.T, input string, args ...string) (code int, out, said string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(input), stdout: &stdout, stderr: &stderr, version: "test", environ: os.Environ(), env: workspace.SystemEnv(), speaks: fleet.Speaks()}
	code = a.run(context.Background(), args)
	return code, stdout.String(), stderr.String()
}

func TestWrongUseOfWorkerCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no token":          {[]string{"worker:join"}, "error: "},
		"a damaged token":   {[]string{"worker:join", "acw1_x", "--dir", dir}, "ERROR: the token is damaged"},
		"a bad option":      {[]string{"worker:start", "--nothing"}, "error: "},
		"a bad exit":        {[]string{"worker:start", "--dir", dir, "--on-exit", "go"}, "error: --on-exit"},
		"no worker there":   {[]string{"worker:status", "--dir", dir}, "ERROR: there is no worker.yaml"},
		"nothing to start":  {[]string{"worker:status", "--dir", filepath.Join(dir, "missing")}, "ERROR: "},
		"a bad free amount": {[]string{"worker:start", "--dir", dir, "--min-free", "-1"}, "error: --min-free"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, out, said := called(t, "", c.args...); code != exitFailure || !strings.HasPrefix(said, c.want) || out != "" {
				t.Errorf("%d, %q, %q", code, out, said)
			}
		})
	}
}

func TestTokenFromStdin(t *testing.T) {
	t.Parallel()
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	token := fleet.Token{Hub: "abcdefghij", Worker: "wkr_01ARZ3NDEKTSV4RRFFQ69G5FAV", URLs: []string{"tls://127.0.0.1:1"}, HubKey: key.Public(), Seed: key.Seed()}
	dir := filepath.Join(t.TempDir(), "worker")
	code, _, said := called(t, token.String()+"\n", "worker:join", "-", "--dir", dir)
	if code != exitFailure || !strings.HasPrefix(said, "ERROR: connect to the hub") || strings.Contains(said, key.Seed()) {
		t.Errorf("%d, %q", code, said)
	}
	if code, _, said := called(t, "", "worker:start", "--dir", dir, "--on-exit", "stop"); code != exitFailure || said == "" {
		t.Errorf("a worker that has not joined: %d, %q", code, said)
	}
}
