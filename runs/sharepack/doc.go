// Package sharepack creates and replays share packs: the part of a project that may leave it,
// without secrets. A pack is the directory work/projects/<project>/share_packs/<id>, with
// manifest.yaml and the redacted copies in bundle/.
//
// Invariants:
//   - A pack appears atomically.
//   - It contains nothing of an excluded visibility. Log lines without a visibility are included.
//   - Every text in it has passed through the redactor.
//   - Every path in it stays inside its bundle.
package sharepack
