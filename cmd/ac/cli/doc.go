// Package cli is what all commands of ac share: streams and exit codes (App), and the context of a
// short command (Call) with its workspace, project and actor. It has options and arguments, lookups
// by name or by the end of an id, and the printing of results, lists and errors.
//
// Commands with a colon receive an App and print with PrintJSON and similar functions. App.Short
// sets up a short command, which receives a Call.
package cli
