// Package redact keeps secrets out of what is written down: the exact values of known secrets,
// and everything that has the shape of a secret, in texts, in JSON and in streams.
package redact
