// Package pipe has what ac needs of pipes, sockets and pseudo-terminals beyond packages os and
// net. It is one of the few packages with code for each operating system.
package pipe

import "errors"

// ErrUnsupported is returned where the operating system has no such call.
var ErrUnsupported = errors.New("not supported on this operating system")

// ErrFull is returned by a write that would block.
var ErrFull = errors.New("the reader has not read enough")
