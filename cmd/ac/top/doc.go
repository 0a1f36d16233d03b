// Package top is the full-screen view of a company: what runs, what waits for a person, the plan,
// the conversations and the costs. It updates live and has keys for decisions.
//
// The package draws and handles keys. A Source provides the data, ready for display, and carries
// out what the keys ask for.
package top
