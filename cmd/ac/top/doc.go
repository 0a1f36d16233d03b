// Package top is the full screen of a company: what runs, what waits for a person, the plan,
// the conversations and the costs, live, with the keys that decide about them.
//
// The package draws and takes keys. What it shows comes from a Source, as values that are
// ready to be shown; what its keys ask for are calls of the same Source.
package top
