// Package output takes what the provider of a session prints. A Recorder writes it into files
// and the log of the run, and a Reading understands it as far as the supervisor needs: the
// conversation, the answer, and why it failed.
package output
