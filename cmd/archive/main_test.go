package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const seconds = "1763650784" // 2025-11-20T14:59:44Z

// sources creates source files with the given time and additional mode bits.
func sources(t *testing.T, at time.Time, loose os.FileMode) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"ac": 0o700 | loose, "README.md": 0o600 | loose&^0o111, "man/b.1": 0o644, "man/a.1": 0o644} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("content of "+name), mode), os.Chtimes(file, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pack creates an archive and returns its bytes.
func pack(t *testing.T, dir, name string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	err := run([]string{seconds, file, "ac=" + filepath.Join(dir, "ac"), "README.md=" + filepath.Join(dir, "README.md"), "man/man1=" + filepath.Join(dir, "man")})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wanted returns the entries that both kinds of archives must have: name, mode, time and content.
func wanted() []string {
	var lines []string
	for _, e := range []struct{ name, mode, of string }{
		{"ac", "755", "ac"},
		{"README.md", "644", "README.md"},
		{"man/man1/a.1", "644", "man/a.1"},
		{"man/man1/b.1", "644", "man/b.1"},
	} {
		lines = append(lines, e.name+" "+e.mode+" 2025-11-20T14:59:44Z content of "+e.of)
	}
	return lines
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	one, other := sources(t, time.Unix(1e9, 0), 0), sources(t, time.Unix(1.5e9, 0), 0o055)
	for _, name := range []string{"x.tar.gz", "x.zip"} {
		if !bytes.Equal(pack(t, one, name), pack(t, other, name)) {
			t.Errorf("%s differs by when it was made, or of whose files", name)
		}
	}
}

func TestTar(t *testing.T) {
	t.Parallel()
	packed, err := gzip.NewReader(bytes.NewReader(pack(t, sources(t, time.Unix(1e9, 0), 0), "x.tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 || header.Uname != "" {
			t.Errorf("%s has an owner", header.Name)
		}
		got = append(got, fmt.Sprintf("%s %o %s %s", header.Name, header.Mode, header.ModTime.UTC().Format(time.RFC3339), content))
	}
	if !slices.Equal(got, wanted()) {
		t.Errorf("%q", got)
	}
}

func TestZip(t *testing.T) {
	t.Parallel()
	text := pack(t, sources(t, time.Unix(1e9, 0), 0), "x.zip")
	archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range archive.File {
		in, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %o %s %s", file.Name, file.Mode().Perm(), file.Modified.UTC().Format(time.RFC3339), content))
	}
	if !slices.Equal(got, wanted()) {
		t.Errorf("%q", got)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.zip")
	for _, args := range [][]string{{}, {"now", file, "a=b"}, {seconds, file, "a"}, {seconds, file, "../a=main.go"}, {seconds, file, "a=" + file + ".missing"}} {
		if err := run(args); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an archive was made of what cannot be read")
	}
}
