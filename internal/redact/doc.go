// Package redact keeps secrets out of what is written down. A Redactor removes known values,
// and everything that has the shape of a secret, from texts and JSON. Values masks known values
// only, also in streams of bytes.
package redact
