package proc

// What a process that waits for long returns to the system.

import "time"

// restAfter is how long a process has had nothing to do when it rests. Most sessions end
// before.
const restAfter = time.Second

// Rest unmaps the code and the constants of the program, where the system allows that, once
// this process has had nothing to do for a second: most of them only its start used. They
// stay in the page cache, from which each use maps them again. Servers, supervisors and
// guards, of which a busy machine has hundreds that wait, take a third of the memory that way. It
// is safe for concurrent use.
type Rest struct{ timer *time.Timer }

// NewRest begins to wait. Close ends it.
func NewRest() *Rest { return &Rest{timer: time.AfterFunc(restAfter, unmapProgram)} }

// Worked says that there was something to do: the second begins again.
func (r *Rest) Worked() { r.timer.Reset(restAfter) }

// Close ends the waiting.
func (r *Rest) Close() { r.timer.Stop() }
