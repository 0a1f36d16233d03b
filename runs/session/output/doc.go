// Package output processes what a session's provider prints. A Recorder writes it to files and
// the run's log. A Reading extracts what the supervisor needs: the conversation id, the answer,
// and the reason for a failure.
package output
