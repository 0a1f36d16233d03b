// Package agentbench is a model server on the loopback for tests that run the
// real agent CLIs. It speaks the four APIs that those use (OpenAI's Responses and
// Chat Completions, Anthropic's Messages, Gemini's generateContent), with
// streaming, and says what a script tells it to say. It counts what it charged,
// so that what a CLI reports can be compared to the token.
//
// Nothing of it is linked into the program.
package agentbench
