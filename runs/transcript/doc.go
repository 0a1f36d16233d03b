// Package transcript builds the transcript of a run from its events: messages, reasoning, tools,
// file changes, questions and notices. The result is the same in every process, and years later.
//
// A Fold applies the events of a run in order and reports the changes of each. Applied in order,
// the changes build the transcript. Internally, a Session decodes the lines of one execution of
// an agent, with a decoder for each family of agents. The fold also produces the digest for a new
// conversation, and the text of the last answer. Render formats items as text.
//
// Invariants: nothing here fails, and a line that is not understood becomes text or nothing.
// Decoding in pieces equals decoding at once, wherever the log is cut. The memory per run is
// bounded, whatever an agent prints. A closed item is never reopened.
//
// The line formats are those of codex 0.169 (exec --json, app-server), claude 2.1 (stream-json),
// gemini 0.61 (json, stream-json, ACP) and opencode 1.18 (run --format json, ACP). Unknown types
// and members are ignored, so that a newer agent is understood as far as it uses the known ones.
package transcript
