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
// who lock that directory exclude each other, whatever name they know it by.
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

// directory is an open directory as the locks take files.
type directory struct{ *os.File }

// SyncData is not asked of a directory that is only locked.
func (directory) SyncData() error { return errors.ErrUnsupported }
