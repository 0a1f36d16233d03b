package durable

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"
)

func exchange(a, b exchangeSide) error {
	err := control(a.dir, func(first int) error {
		return control(b.dir, func(second int) error {
			return unix.Renameat2(first, path.Base(a.name), second, path.Base(b.name), unix.RENAME_EXCHANGE)
		})
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return ErrNoExchange
	}
	return err
}
