// Package floors holds the house to its plan: which package stands on which
// floor, and what no code of this module does. It has no code of its own, only
// tests.
package floors
