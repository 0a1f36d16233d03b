// Package founding makes complete companies with people and work: one for the
// desktop app, and a demo company.
//
// Invariant: such a company is made atomically. No partial company is ever
// visible; it replaces another one as a whole or not at all.
package founding
