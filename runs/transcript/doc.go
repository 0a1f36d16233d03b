// Package transcript makes transcripts of runs: messages, reasoning, tools, file changes,
// questions and notices, out of the events of a run, the same ones in every process and
// years later.
//
// A Fold goes over the events of a run, in order, and reports for each what changed: whoever
// applies the changes has the transcript. Behind it a Session decodes the lines of one
// execution of an agent, with a decoder for each family of agents. From the same fold come
// the digest, which a fresh conversation is given of an earlier one, and the text of the
// last answer. Render writes items as text.
//
// Invariants: nothing here fails: a line that is not understood is text or nothing; decoding
// in pieces equals decoding at once, wherever the log is cut; what is kept of a run is
// bounded, whatever an agent prints; no item that is closed is opened again.
//
// The shapes of the lines are those of codex 0.169 (exec --json, app-server), claude 2.1
// (stream-json), gemini 0.61 (json, stream-json, ACP) and opencode 1.18 (run --format json,
// ACP). Unknown types and members are passed over, so that a newer agent is understood as
// far as it says what it said before.
package transcript
