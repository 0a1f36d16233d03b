// Package web is the control room: an HTTP server for one workspace, one
// project and one actor, with the page that shows them.
//
// Invariants:
//   - Host, token and Origin are checked before anything else, against DNS
//     rebinding and CSRF.
//   - A client costs bounded memory, however slowly it reads.
//   - The server's own actor acts, whatever a request claims.
//   - No request can end the process.
//   - Graceful shutdown takes less than two seconds, open streams included.
package web
