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

// Dir takes an exclusive kernel lock on a directory, waiting until the context
// ends. Nothing is written for it: the lock is on the open directory, so that all
// who lock that directory exclude each other, whatever name they know it by. The
// identity is that of the directory that is locked.
func Dir(ctx context.Context, dir string) (release func() error, locked durable.Identity, err error) {
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, locked, err
	}
	st, err := file.Stat()
	if err != nil {
		return nil, locked, errors.Join(err, file.Close())
	}
	held := directory{file}
	if err := File(ctx, held); err != nil {
		return nil, locked, err
	}
	return func() error { return Close(held) }, durable.IdentityOf(st), nil
}

// directory is an open directory as the locks take files.
type directory struct{ *os.File }

// SyncData is not asked of a directory that is only locked.
func (directory) SyncData() error { return errors.ErrUnsupported }
