// Package enterprise makes companies of departments: a CEO, an Executive Manager,
// and for each department a team with a director and workers.
//
// Invariants: what is there is used, and only what is missing is made, so that a
// second call makes nothing; a company comes to be as a whole or not at all.
package enterprise
