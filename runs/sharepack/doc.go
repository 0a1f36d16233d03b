// Package sharepack makes and replays share packs: what of a project may leave
// it, without secrets. A pack is work/projects/<project>/share_packs/<id> with
// manifest.yaml and the redacted copies in bundle/.
//
// Invariants: a pack appears whole or not at all; nothing of a visibility that
// is not included is in it, but lines of a log that carry none; every text in it
// went through the redactor; no path of it leads out of its bundle.
package sharepack
