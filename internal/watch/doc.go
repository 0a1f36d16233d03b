// Package watch notices changes of files that anybody makes: of a folder and all below
// it for many listeners at once (Tree), or of one folder for somebody who waits for
// something in it (Folder). It is the only user of the operating system's file events.
//
// Invariants: what a listener added is heard from then on, each change at least once
// and in any number of pieces; where something was not heard the listener learns that,
// never nothing; what leads out by a link is not watched.
package watch
