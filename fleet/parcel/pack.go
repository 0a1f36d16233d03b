package parcel

// Packing the files that a provider left into an archive.

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"ac/internal/durable"
	"ac/internal/redact"
	"ac/runs/policy"
)

// Source is a directory and a selection of its files for an archive. Names in the archive are
// relative to Dir.
type Source struct {
	FS  durable.FS
	Dir string // path in FS, "." for all of it
	// Globs selects files; nil selects all. A pattern that matches a directory selects everything
	// below it.
	Globs []string
	// Skip excludes a file or directory by its name; nil excludes nothing. Exclusions do not
	// count as skipped.
	Skip func(name string) bool
}

// PackResult describes a written archive.
type PackResult struct {
	Files   int
	Bytes   int64
	Skipped int // entries left out: neither file nor directory, unreadable, or beyond the limits
}

// Pack writes an archive of files and directories to w. If two sources have the same name, the
// first one wins. It masks secrets in the contents; nil masks nothing. Files must not change
// meanwhile: Pack fails if it notices a change.
func Pack(ctx context.Context, w io.Writer, sources []Source, limits Limits, secrets *redact.Values) (PackResult, error) {
	p := &packer{ctx: ctx, out: tar.NewWriter(w), limits: limits, secrets: secrets, seen: map[string]kind{}}
	for _, source := range sources {
		p.source = source
		if err := p.dir("", source.Globs == nil); err != nil {
			return p.packed, fmt.Errorf("pack %s: %w", source.Dir, err)
		}
	}
	return p.packed, p.out.Close()
}

// packer is the state of one archive.
type packer struct {
	ctx     context.Context //nolint:containedctx // of one call
	out     *tar.Writer
	limits  Limits
	secrets *redact.Values
	source  Source
	seen    map[string]kind
	packed  PackResult
	entries int
}

// kind is the type of a name in an archive.
type kind byte

const (
	aFile      kind = 1 + iota
	aDirectory      // with its own entry
	aParent         // implied by entries below it
)

// dir packs a directory of the source. all reports that a pattern matched the directory itself or
// one above it.
func (p *packer) dir(name string, all bool) error {
	if err := context.Cause(p.ctx); err != nil {
		return err
	}
	entries, err := p.source.FS.ReadDir(path.Join(p.source.Dir, name))
	if name == "" && durable.IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := p.entry(path.Join(name, entry.Name()), entry, all); err != nil {
			return err
		}
	}
	return nil
}

func (p *packer) entry(name string, entry fs.DirEntry, all bool) error {
	if p.source.Skip != nil && p.source.Skip(name) {
		return nil
	}
	all = all || slices.ContainsFunc(p.source.Globs, func(glob string) bool {
		return policy.Glob(strings.TrimSuffix(glob, "/"), name, true)
	})
	switch {
	case entry.IsDir():
		if p.seen[name] == aFile {
			p.packed.Skipped++
			return nil
		}
		if all && p.admit(name, 0, aDirectory) {
			if err := p.out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Format: tar.FormatPAX}); err != nil {
				return err
			}
		}
		return p.dir(name, all)
	case !all || p.seen[name] != 0:
		return nil
	case !entry.Type().IsRegular():
		p.packed.Skipped++
		return nil
	}
	return p.file(name)
}

// admit counts an entry if it fits the limits, and reports whether it does.
func (p *packer) admit(name string, size int64, as kind) bool {
	if p.seen[name] == as {
		return false
	}
	if p.entries >= p.limits.Entries || size > p.limits.Bytes-p.packed.Bytes || checkName(name) != nil {
		p.packed.Skipped++
		return false
	}
	p.entries++
	p.seen[name] = as
	for parent := path.Dir(name); parent != "." && p.seen[parent] == 0; parent = path.Dir(parent) {
		p.seen[parent] = aParent
	}
	return true
}

func (p *packer) file(name string) (err error) {
	f, err := p.source.FS.OpenFile(path.Join(p.source.Dir, name), os.O_RDONLY, 0)
	if err != nil {
		p.packed.Skipped++ // unreadable, or deleted meanwhile
		return nil
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	size := st.Size()
	if size > p.limits.Bytes {
		p.packed.Skipped++
		return nil
	}
	if p.secrets != nil { // masking changes the length
		if size, err = io.Copy(io.Discard, p.masked(f, st.Size())); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			return err
		}
	}
	if !p.admit(name, size, aFile) {
		return nil
	}
	mode := int64(0o644)
	if st.Mode()&0o100 != 0 {
		mode = 0o755
	}
	if err := p.out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: mode, Format: tar.FormatPAX}); err != nil {
		return err
	}
	n, err := io.Copy(p.out, p.masked(f, st.Size()))
	if err == nil && n != size {
		err = fmt.Errorf("%s changed while it was read", name)
	}
	p.packed.Files++
	p.packed.Bytes += size
	return err
}

// masked returns a reader of the first size bytes of a file, with secrets masked.
func (p *packer) masked(f io.Reader, size int64) io.Reader {
	f = io.LimitReader(f, size)
	if p.secrets == nil {
		return f
	}
	return &maskedReader{from: f, stream: p.secrets.Stream(), piece: make([]byte, 64<<10)}
}

// maskedReader masks the secrets in a stream.
type maskedReader struct {
	from   io.Reader
	stream *redact.Stream
	piece  []byte
	ready  []byte
	err    error
}

func (m *maskedReader) Read(b []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		n, err := m.from.Read(m.piece)
		m.ready, m.err = m.stream.Next(m.piece[:n]), err
		if errors.Is(err, io.EOF) {
			m.ready = slices.Concat(m.ready, m.stream.Flush())
		}
	}
	n := copy(b, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}
