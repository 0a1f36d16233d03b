package session

// Places in a command line that ac makes: the folders of the machine that executes it.

import "path"

// Marks in the template of an agent that stand for folders of the machine where the session
// runs: where it leaves what is brought back, and where the files of its context pack lie.
const (
	contextMark = "@{context}"
)

// Marks in a command line that ac makes, beside those: the working directory, and this
// program.
const (
	WorkdirMark = "@{workdir}"
	ProgramMark = "@{ac}"
)

// InContext is the place of a file that an order brings along, in a command line that ac
// makes.
func InContext(name string) string { return contextMark + "/" + path.Base(name) }
