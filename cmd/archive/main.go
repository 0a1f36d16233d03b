// Command archive packs files into a reproducible archive. Entries have the order of the arguments,
// one time, and one owner.
//
//	archive TIME FILE.tar.gz|FILE.zip NAME=PATH...
//
// TIME is in seconds since 1970. NAME is a path in the archive. PATH is a file or a folder. The
// files of a folder are sorted by name. A file is executable by all if its owner may execute it.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "ERROR: %v\n", err)
		os.Exit(1)
	}
}

// entry is a file of an archive.
type entry struct {
	name    string // path in the archive, with slashes
	content []byte
	mode    fs.FileMode
}

func run(args []string) (err error) {
	if len(args) < 3 {
		return errors.New("usage: archive TIME FILE.tar.gz|FILE.zip NAME=PATH {NAME=PATH}")
	}
	seconds, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return fmt.Errorf("the time must be a number of seconds: %w", err)
	}
	at := time.Unix(seconds, 0).UTC()
	entries, err := read(args[2:])
	if err != nil {
		return err
	}
	write := writeTar
	if strings.HasSuffix(args[1], ".zip") {
		write = writeZip
	}
	file, err := os.Create(args[1])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return write(file, entries, at)
}

// read reads the files that NAME=PATH arguments name, in their order.
func read(named []string) (entries []entry, err error) {
	for _, given := range named {
		name, from, ok := strings.Cut(given, "=")
		if !ok || !fs.ValidPath(name) {
			return nil, fmt.Errorf("%q is no NAME=PATH", given)
		}
		err := filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			below, err := filepath.Rel(from, at)
			if err != nil {
				return err
			}
			content, err := os.ReadFile(at)
			if err != nil {
				return err
			}
			status, err := os.Stat(at)
			if err != nil {
				return err
			}
			mode := fs.FileMode(0o644)
			if status.Mode()&0o100 != 0 {
				mode = 0o755
			}
			entries = append(entries, entry{path.Join(name, filepath.ToSlash(below)), content, mode})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

func writeTar(to io.Writer, entries []entry, at time.Time) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	for _, e := range entries {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content)), Mode: int64(e.mode), ModTime: at, Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(e.content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close())
}

func writeZip(to io.Writer, entries []entry, at time.Time) error {
	archive := zip.NewWriter(to)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(e.mode)
		file, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := file.Write(e.content); err != nil {
			return err
		}
	}
	return archive.Close()
}
