// Package floors enforces the architecture: which floor each package is on, and rules for all
// code of this module. It has no code of its own, only tests.
package floors
