// Package rpc is the server: JSON-RPC 2.0 over a pair of streams, one object a
// line.
//
// Invariants: every request gets exactly one answer, with its id byte for byte,
// also when it is malformed or its handler panics; requests of one workspace
// take effect in the order of their arrival, and a request that waits holds
// nobody up; a client that does not read costs bounded memory; the end of the
// input, or an error of the output, ends the server in bounded time.
package rpc
