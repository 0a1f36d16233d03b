// Package parcel writes and reads the files that a hub and its workers exchange: bundles of
// commits, and archives of the files that a provider left.
//
// Invariants:
//   - Received files are untrusted. Digest and size are checked before use, and a whole
//     archive is checked before any of its files is written.
//   - Files are written through a durable.FS, so that no name leaves its directory.
//   - git runs no hook, and no filter program that a repository configures. From a bundle of
//     results, only refs that the caller names are imported, to refs that the caller names, after
//     git has checked every object.
//   - Importing the same parcel twice is idempotent: an interrupted import is repeated.
package parcel

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"ac/internal/durable"
)

// Limits are the limits of an archive.
type Limits struct {
	Entries int
	Bytes   int64
}

// DefaultLimits returns the limits of results if a hub sets none.
func DefaultLimits() Limits { return Limits{Entries: 100_000, Bytes: 2 << 30} }

// Digest is the size in bytes and the SHA-256 in hexadecimal of a file.
type Digest struct {
	SHA256 string
	Size   int64
}

// ErrDamaged reports a file that differs from what its sender named.
var ErrDamaged = errors.New("the file is not the one that its name says")

// Measure reads a stream to its end and returns its digest.
func Measure(r io.Reader) (Digest, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	return Digest{hex.EncodeToString(sum.Sum(nil)), n}, err
}

// Meter is a writer that passes bytes on and measures them.
type Meter struct {
	to   io.Writer
	sum  hash.Hash
	size int64
}

// NewMeter returns a meter that passes bytes on to a writer.
func NewMeter(to io.Writer) *Meter { return &Meter{to: to, sum: sha256.New()} }

// Write implements io.Writer.
func (m *Meter) Write(text []byte) (int, error) {
	n, err := m.to.Write(text)
	_, _ = m.sum.Write(text[:n]) // never fails
	m.size += int64(n)
	return n, err
}

// Digest returns the digest of everything written so far.
func (m *Meter) Digest() Digest { return Digest{hex.EncodeToString(m.sum.Sum(nil)), m.size} }

// Receive copies a stream to a new file and checks its digest and size. The content is durable on
// return, but not the file's name. Receive reads at most one byte more than the size. On failure
// it leaves no new file. An existing file is an error.
func Receive(fsys durable.FS, name string, r io.Reader, want Digest) (err error) {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("receive %s: %w", name, errors.Join(err, fsys.Remove(name)))
		}
	}()
	got, err := Measure(io.TeeReader(io.LimitReader(r, want.Size+1), f))
	if err != nil {
		return err
	}
	if got != want {
		return ErrDamaged
	}
	return f.SyncData()
}
