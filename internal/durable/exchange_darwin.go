package durable

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func exchange(a, b exchangeSide) error {
	err := unix.RenamexNp(filepath.Join(a.root, a.name), filepath.Join(b.root, b.name), unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return ErrNoExchange
	}
	return err
}
