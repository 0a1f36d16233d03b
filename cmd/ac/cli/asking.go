package cli

// Questions to the person at the terminal.

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// AskLine asks a question and returns the answer in lower case, "" for none. It reads exactly one
// line, so answers typed ahead wait for their questions.
func (c *Call) AskLine(question string) string {
	fmt.Fprint(c.Stderr, question)
	return strings.ToLower(strings.TrimSpace(c.ReadLine()))
}

// ReadLine reads a line of stdin, byte by byte. At the end of the input it returns what it has
// read.
func (c *Call) ReadLine() string {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := c.Stdin.Read(one)
		if n == 0 || one[0] == '\n' {
			if err != nil || n > 0 {
				return string(line)
			}
			continue
		}
		if line = append(line, one[0]); err != nil {
			return string(line)
		}
	}
}

// CanAsk reports whether the command can ask somebody: stdin and stderr are terminals, and Quiet is
// off.
func (c *Call) CanAsk() bool {
	in, isFile := c.Stdin.(*os.File)
	errs, isFileToo := c.Stderr.(*os.File)
	return isFile && isFileToo && !c.Quiet && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(errs.Fd()))
}

// Confirm asks a question and reports whether the answer is yes.
func (c *Call) Confirm(question string) bool {
	return slices.Contains([]string{"y", "yes"}, c.AskLine(question))
}
