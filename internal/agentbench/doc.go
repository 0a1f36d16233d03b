// Package agentbench is a model server on the loopback for tests that run the real agent CLIs.
// It speaks the four APIs that they use (OpenAI's Responses and Chat Completions, Anthropic's
// Messages, Gemini's generateContent), with streaming, and replies as scripted. It records the
// usage that it reports, so that tests can compare a CLI's own report token by token.
//
// It is not linked into the program.
package agentbench
