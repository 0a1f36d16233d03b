// Package takeover makes a process that is started as a guard one before the packages are
// initialised that a guard does not need (docs/adr/0023). A program links it for this alone.
package takeover

import (
	"os"

	"ac/internal/guard"
)

// init is the one function of ac that runs by itself. Packages are initialised in the order
// of their paths, each once its imports are: as this one needs only some of Go's own packages,
// it comes before most of the others, whose tables and caches would be more than half of the
// memory of a guard.
func init() { //nolint:gochecknoinits // it has to come before the initialisation of others
	if len(os.Args) < 2 || os.Args[1] != guard.Command {
		return
	}
	if err := guard.Run(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}
