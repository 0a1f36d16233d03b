// Package founding creates complete companies with people and work: one for the desktop
// app, and a demo company.
//
// Invariant: a company is created atomically. No partial company is ever visible, and it
// replaces another one as a whole or not at all.
package founding
