// Package rpc is the server: JSON-RPC 2.0 over a pair of streams, one object a
// line.
//
// Invariants:
//   - Every request gets exactly one answer with its id byte for byte, even if
//     it is malformed or its handler panics.
//   - Requests of one workspace take effect in the order of arrival. A request
//     that waits blocks no other.
//   - Backpressure: a client that does not read costs bounded memory.
//   - Graceful shutdown: when the input ends or the output fails, the server
//     ends in bounded time.
package rpc
