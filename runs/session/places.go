package session

// Places in a command line that ac makes: the folders of the machine that executes it.

import "path"

// Marks in a command line that stand for folders of the machine where the session runs: where
// the files of its context pack lie, the working directory, and this program. The template of
// an agent may also have one for the outputs.
const (
	ContextMark = "@{context}"
	WorkdirMark = "@{workdir}"
	ProgramMark = "@{ac}"
)

// InContext is the place of a file that an order brings along, in a command line that ac
// makes.
func InContext(name string) string { return ContextMark + "/" + path.Base(name) }
