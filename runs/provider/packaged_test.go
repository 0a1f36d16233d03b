package provider

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"ac/internal/proc/proctest"
	"ac/workspace"
)

// TestSlowProgram checks that a program that does not answer in time gets the version of its
// package. Without a package that names the program, detection fails.
func TestSlowProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the programs of this test are shell scripts")
	}
	for name, c := range map[string]struct{ manifest, version, reason string }{
		"several programs": {`{"name":"@g/cli","version":"1.2.3","bin":{"gemini":"bundle/gemini.js"}}`, "1.2.3", ""},
		"one program":      {`{"name":"@g/cli","version":"1.2.4","bin":"./bundle/gemini.js"}`, "1.2.4", ""},
		"another program":  {`{"name":"@g/cli","version":"1.2.3","bin":{"gemini":"other.js"}}`, "", "gemini --version failed or hung"},
		"no package":       {"", "", "gemini --version failed or hung"},
		"no JSON":          {"{", "", "gemini --version failed or hung"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			bundle := filepath.Join(dir, "lib", "node_modules", "@g", "cli", "bundle")
			program, bin := filepath.Join(bundle, "gemini.js"), filepath.Join(dir, "bin")
			err := errors.Join(
				os.MkdirAll(bundle, 0o750), os.MkdirAll(bin, 0o750),
				proctest.WriteProgram(program, []byte("#!/bin/sh\nexec sleep 600\n")),
				os.Symlink(program, filepath.Join(bin, "gemini")),
			)
			if c.manifest != "" {
				err = errors.Join(err, os.WriteFile(filepath.Join(filepath.Dir(bundle), "package.json"), []byte(c.manifest), 0o600))
			}
			if err != nil {
				t.Fatal(err)
			}
			k := detector{Installed: Installed{Program: "gemini"}}
			got := k.detect(t.Context(), []string{"PATH=" + bin + ":/usr/bin:/bin"}, true, patience{about: 50 * time.Millisecond})
			if got.Version != c.version || got.Reason != c.reason {
				t.Errorf("version %q, reason %q", got.Version, got.Reason)
			}
		})
	}
}

// TestKnownVersion checks that the version a program reported stays known until its file
// changes.
func TestKnownVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), filepath.Join(dir, "ws"), workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), filepath.Join(dir, "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	program := filepath.Join(dir, "codex")
	write := func(version string) { cli(t, dir, "codex", "echo codex-cli "+version) }
	write("0.45.0-beta.1")
	if got := KnownVersion(w, program); got != "" {
		t.Errorf("before it was asked: %q", got)
	}
	c := Cache{Workspace: w, Environ: []string{"PATH=/usr/bin:/bin"}}
	c.About(t.Context(), "codex", program)
	if got := KnownVersion(w, program); got != "0.45.0-beta.1" {
		t.Errorf("after it was asked: %q", got)
	}
	write("0.46.0-and-longer")
	if got := KnownVersion(w, program); got != "" {
		t.Errorf("after it was replaced: %q", got)
	}
}
