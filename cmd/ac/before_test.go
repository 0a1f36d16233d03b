package main

// Compatibility: this version reads a workspace of the previous version as that version did.

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkspaceOfTheVersionBefore runs read commands on a workspace written by the previous
// version. It compares their output with that version's: text must be equal. JSON must have the
// same members and may have more.
func TestWorkspaceOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	unpack(t, filepath.Join("testdata", "before", "workspace.tar.gz"), w.dir)
	for _, name := range []string{"reads.sh", "reads.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", "before", name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(w.dir, name), text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	said, err := w.shell(t, "", "sh reads.sh")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "before", "answers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	before := readsOf(strings.ReplaceAll(string(text), "$DIR", w.dir))
	now := readsOf(said)
	if len(now) != len(before) || len(before) < 40 {
		t.Fatalf("%d reads before, %d now", len(before), len(now))
	}
	for i, was := range before {
		if is := now[i]; is.command != was.command || !holds(is.prints, was.prints) {
			t.Errorf("%s\nsaid:\n%s\n%s\nsays:\n%s", was.command, was.prints, is.command, is.prints)
		}
	}
}

// readsOf parses the output of reads.sh. Each command ends with its exit status.
func readsOf(said string) (reads []step) {
	for part := range strings.SplitSeq("\n"+said, "\n== ") {
		if command, prints, ok := strings.Cut(part, "\n"); ok {
			reads = append(reads, step{command, strings.TrimSpace(prints)})
		}
	}
	return reads
}

// holds reports whether is contains everything in was, the output of the previous version.
func holds(is, was string) bool {
	var now, before any
	if json.Unmarshal([]byte(was), &before) != nil || json.Unmarshal([]byte(is), &now) != nil {
		return is == was
	}
	return holdsJSON(now, before)
}

func holdsJSON(is, was any) bool {
	switch was := was.(type) {
	case map[string]any:
		now, ok := is.(map[string]any)
		for name, value := range was {
			if name == "generated_at" {
				continue // the time of the read
			}
			member, there := now[name]
			ok = ok && there && holdsJSON(member, value)
		}
		return ok
	case []any:
		now, ok := is.([]any)
		ok = ok && len(now) == len(was)
		for i := 0; ok && i < len(was); i++ {
			ok = holdsJSON(now[i], was[i])
		}
		return ok
	}
	return is == was
}

// unpack unpacks an archive of regular files and folders into dir.
func unpack(t *testing.T, archive, dir string) {
	t.Helper()
	file, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(entry.Name))
		if entry.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else {
			var content []byte
			content, err = io.ReadAll(entries)
			err = errors.Join(err, os.WriteFile(to, content, entry.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
