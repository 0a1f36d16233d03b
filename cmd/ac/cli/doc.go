// Package cli is what all commands of ac share: the streams and the exit codes (App), the context
// of a short command (Call) with its workspace, project and actor, options and arguments, names and
// the ends of ids in place of ids, and how results, lists and errors are printed.
//
// Commands with a colon take an App and print by PrintJSON and the like. Short commands are made by
// App.Short and get a Call.
package cli
