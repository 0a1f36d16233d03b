// Package transcript reads what agents print: the lines of the agent CLIs of
// today become messages, reasoning, tools and file changes, the same ones in every
// process and years later. A Session decodes the lines of one execution; a Fold
// goes over the events of a run.
//
// Invariants: nothing here fails: a line that is not understood is text or
// nothing; decoding in pieces equals decoding at once; what is kept of a run is
// bounded, whatever an agent prints.
//
// The shapes of the lines are those of codex 0.169 (exec --json, app-server),
// claude 2.1 (stream-json), gemini 0.61 (json, stream-json) and opencode 1.18
// (run --format json). Unknown types and members are passed over, so that a newer
// agent is understood as far as it says what it said before.
package transcript
