// Package web is the control room: a server of HTTP for one workspace, one
// project and one actor, with the page that shows them.
//
// Invariants: nothing is answered, and nothing done, before Host, token and
// Origin were looked at; a client costs bounded memory however slowly it reads;
// whoever asks, it is the server's own actor that acts; whatever a client sends,
// the process goes on; the end takes less than two seconds, with open streams
// too.
package web
