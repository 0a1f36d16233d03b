//go:build unix && !linux

package durable

import "golang.org/x/sys/unix"

const nonblock = unix.O_NONBLOCK
