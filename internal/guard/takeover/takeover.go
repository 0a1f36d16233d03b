// Package takeover turns a process that was started as a guard into one before the packages
// initialize that a guard does not need (docs/adr/0023). A program imports it only for this
// side effect.
package takeover

import (
	"os"

	"ac/internal/guard"
)

// init is the only init function in ac. Packages initialize in the order of their paths, each
// after its imports. This one needs only some packages of the standard library, so it comes
// before most of the others. Their tables and caches would be more than half of a guard's
// memory.
func init() { //nolint:gochecknoinits // it has to come before the initialisation of others
	if len(os.Args) < 2 || os.Args[1] != guard.Command {
		return
	}
	if err := guard.Run(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
