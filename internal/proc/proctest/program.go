// Package proctest makes the programs that tests execute.
package proctest

import (
	"os"
	"syscall"
)

// WriteProgram writes an executable file that its user may have executed at once. A child that
// is forked while the file is open for writing would hold it until it executes its own program,
// and a file that is held so cannot be executed ("text file busy"): no child is forked meanwhile.
// It may be called concurrently for different files.
func WriteProgram(file string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, text, 0o700) //nolint:gosec // it must be executable
}
