// Package yamldoc parses and encodes the YAML documents of a workspace: YAML 1.2 core scalars,
// one document per file, unique keys, bounded aliases and size.
//
// The underlying library only converts text to nodes and back. This package decides what a
// plain scalar means, what is rejected, and how unknown keys survive a rewrite. It handles
// plain documents, which most are, without the library and with the same result (plain.go,
// block.go).
//
// Invariant: what Encode writes has the same value for a YAML 1.2 parser and for a YAML 1.1
// parser.
package yamldoc
