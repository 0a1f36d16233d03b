// Package inbox decides on what waits for a decision: the type of an artifact
// says what its approval and its denial mean.
//
// Invariants: an item is decided once, whoever asks at the same time; what an
// approval changes, its review and its events happen together or not at all;
// nothing that is refused leaves more behind than the answers of the policy.
package inbox
