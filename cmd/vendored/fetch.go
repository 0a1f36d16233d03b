package main

// Downloading libraries from the registry.

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"ac/internal/vendored"
)

// fetch downloads libraries from the registry. It gets only the wanted one, at its given version,
// or all at their pinned versions. vendor.json lists the files of each.
func fetch(ctx context.Context, wanted string) error {
	list, err := vendored.Read(os.DirFS(folder))
	if err != nil {
		return err
	}
	name, version := cutVersion(wanted)
	found := wanted == ""
	for i := range list {
		l := &list[i]
		if wanted != "" && l.Name != name {
			continue
		}
		found = true
		before := l.Folder()
		if version != "" {
			l.Version = version
		}
		if err := take(ctx, l); err != nil {
			return fmt.Errorf("%s: %w", l.Folder(), err)
		}
		if before != l.Folder() {
			if err := os.RemoveAll(filepath.Join(folder, before)); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf("%s is not in vendor.json: enter it there, with the paths of its files", name)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, vendored.Index), append(text, '\n'), 0o644) //nolint:gosec // source text
}

// cutVersion splits name@version. The name of a scoped package begins with @.
func cutVersion(text string) (name, version string) {
	if i := strings.LastIndex(text, "@"); i > 0 {
		return text[:i], text[i+1:]
	}
	return text, ""
}

// take downloads a library, replaces its files, and updates the hashes in its entry.
func take(ctx context.Context, l *vendored.Library) error {
	l.From = "npm:" + l.Folder()
	integrity, err := npm(ctx, ".", "view", l.Folder(), "dist.integrity")
	if err != nil {
		return err
	}
	l.Integrity = strings.TrimSpace(string(integrity))
	archive, err := pack(ctx, l.Folder())
	if err != nil {
		return err
	}
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != l.Integrity {
		return fmt.Errorf("the archive has %s, the registry says %s", got, l.Integrity)
	}
	content, err := unpack(archive)
	if err != nil {
		return err
	}
	for i := range l.Files {
		name := l.Files[i].Path
		text, ok := content[name]
		if !ok {
			return fmt.Errorf("the archive has no %s", name)
		}
		l.Files[i] = vendored.NewFile(name, text)
		if err := put(filepath.Join(folder, l.Folder(), filepath.FromSlash(name)), text, name != vendored.License); err != nil {
			return err
		}
	}
	return nil
}

// pack downloads the archive of a package.
func pack(ctx context.Context, name string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "vendored-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // best effort: the system clears its temporary folder
	if _, err := npm(ctx, dir, "pack", "--silent", name); err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(found) != 1 {
		return nil, errors.Join(errors.New("npm pack left no archive"), err)
	}
	return os.ReadFile(found[0])
}

// unpack returns the files of an archive by their paths in the package.
func unpack(archive []byte) (map[string][]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(plain); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if _, name, ok := strings.Cut(head.Name, "/"); ok && head.Typeflag == tar.TypeReg {
			if files[name], err = io.ReadAll(r); err != nil {
				return nil, err
			}
		}
	}
}

// put writes a file and, if packed, a gzip copy beside it.
func put(file string, text []byte, packed bool) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // source text
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil || !packed { //nolint:gosec // as above
		return err
	}
	var small bytes.Buffer
	w, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file+vendored.Packed, small.Bytes(), 0o644) //nolint:gosec // as above
}

// npm runs npm in a folder and returns its output.
func npm(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("npm %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return out, nil
}
