package session

// Marks in command lines built by ac, which stand for folders of the executing machine.

import "path"

// Marks in a command line, replaced on the machine where the session runs: the directory of its
// context pack, its working directory, and this program. An agent's template may also contain a
// mark for the outputs.
const (
	ContextMark = "@{context}"
	WorkdirMark = "@{workdir}"
	ProgramMark = "@{ac}"
)

// InContext returns the path of a file that an order carries, for a command line built by ac.
func InContext(name string) string { return ContextMark + "/" + path.Base(name) }
