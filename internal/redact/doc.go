// Package redact keeps secrets out of what is written down. This part masks the
// exact values of secrets that are known, in a stream of bytes whatever its
// pieces are.
package redact
