//go:build unix

package lock

// Locking a directory itself.

import (
	"context"
	"errors"
	"os"
	"syscall"

	"ac/internal/durable"
)

// Dir takes an exclusive kernel lock on a directory. It waits until the context ends. It writes
// nothing: the lock is on the open directory, so that all processes that lock the directory
// exclude each other, whatever name they use for it.
func Dir(ctx context.Context, dir string) (*Directory, error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	held := directory{file}
	if err := File(ctx, held); err != nil {
		return nil, err
	}
	return &Directory{Identity: durable.IdentityOf(st), File: file, release: func() error { return Close(held) }}, nil
}

// directory makes an open directory a durable.File, as the lock functions require.
type directory struct{ *os.File }

// SyncData is unsupported: a directory that is only locked is never synced.
func (directory) SyncData() error { return errors.ErrUnsupported }
