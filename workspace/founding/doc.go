// Package founding makes companies that have people and work from the first
// moment: one that is ready for the desktop, and one to look around in.
//
// Invariant: nobody ever sees a part of such a company; it replaces another one
// as a whole or not at all.
package founding
