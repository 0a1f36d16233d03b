// Package proctest writes the programs that tests execute.
package proctest

import (
	"os"
	"syscall"
)

// WriteProgram writes an executable file that can be executed at once. A child that is forked
// while the file is open for writing keeps it open until its own exec. A file that is open for
// writing cannot be executed ("text file busy"), so WriteProgram prevents forks meanwhile. It
// may be called concurrently for different files.
func WriteProgram(file string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, text, 0o700) //nolint:gosec // it must be executable
}
