// Package yamldoc reads and writes the YAML documents of a workspace: YAML 1.2
// core scalars, one document a file, unique keys, bounded aliases and size.
//
// The library below only converts text to nodes and back. This package decides
// what a plain scalar means, what is refused, and how unknown keys survive a
// rewrite. It reads and writes plain documents, which most are, without the
// library and with the same result (plain.go, block.go). Invariant: what Encode
// writes reads back as the same value in a YAML 1.2 and in a YAML 1.1 reader.
package yamldoc
