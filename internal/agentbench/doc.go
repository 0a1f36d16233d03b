// Package agentbench is a model server on the loopback for tests that run the
// real agent CLIs. It speaks the four APIs that they use (OpenAI's Responses
// and Chat Completions, Anthropic's Messages, Gemini's generateContent), with
// streaming, and replies as a script says. It counts what it charged, so that a
// CLI's report can be compared to the token.
//
// It is not linked into the program.
package agentbench
