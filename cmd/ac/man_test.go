//go:build man

package main

// Tests of what a release needs: go test -tags man ./cmd/ac -run TestRelease

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ac/cmd/ac/cli"
)

// TestReleasePages checks the man pages of help:man: one for each command that is not hidden, and
// reproducible. It also checks some of their contents.
func TestReleasePages(t *testing.T) {
	t.Parallel()
	pages := func() map[string]string {
		dir, written := filepath.Join(t.TempDir(), "man1"), map[string]string{}
		a := &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
		if err := writeManPages(newRoot(a), dir, time.Unix(1763650784, 0).UTC()); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			written[f.Name()] = string(text)
		}
		return written
	}
	first, second := pages(), pages()
	a := &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}
	for _, cmd := range newRoot(a).Commands() {
		name := "ac-" + strings.ReplaceAll(cmd.Name(), ":", "-") + ".1"
		if page := first[name]; cmd.Hidden != (page == "") {
			t.Errorf("%s: hidden %v, page of %d bytes", name, cmd.Hidden, len(page))
		}
	}
	for name, page := range first {
		if page != second[name] {
			t.Errorf("%s differs from one call to the next", name)
		}
		if strings.Contains(name, ":") || !strings.Contains(page, `"Nov 2025"`) || strings.Contains(page, "spf13") {
			t.Errorf("%s:\n%.200s", name, page)
		}
	}
	for name, want := range map[string]string{
		"ac.1":               `ac-dialect-serve(1)`,
		"ac-dialect-serve.1": "ac dialect:serve <names> <dir>",
		"ac-top.1":           "AC_REDUCED_MOTION=1 draws",
		"ac-agents-add.1":    "ac-agents(1)",
	} {
		if !strings.Contains(first[name], want) {
			t.Errorf("%s lacks %q:\n%.900s", name, want, first[name])
		}
	}
}

// TestReleaseBill checks that help:sbom reads the bill of materials of this test binary, and
// rejects a file that is not a program.
func TestReleaseBill(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	a := &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}
	if code := run(t.Context(), a, []string{"help:sbom", self}); code != 0 {
		t.Fatalf("%d %s", code, errs.String())
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.SpecVersion != "1.6" || len(b.Components) < 20 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if code := run(t.Context(), a, []string{"help:sbom", "man_test.go"}); code != 1 {
		t.Errorf("a file that is no program: %d", code)
	}
}
