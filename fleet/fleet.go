// Package fleet is the protocol between a hub and its workers: messages, subjects, invitations
// and signatures. It also contains the hub's documents and a client for the hub's socket, by
// which other processes on the hub's machine reach it.
//
// The hub is the process on the machine of a workspace that places sessions on other machines. A
// worker is the process on such a machine that executes them. An attempt is one placement of one
// session on one worker. Its epoch counts the placements of that session, and only the newest may
// write (fencing).
//
// Invariants:
//   - This package does not know the transport, which is in fleet/carrier. A program that imports
//     only this package links no message broker.
//   - A message is decoded only after its signature was verified (Verify). Its fields are
//     checked again before they become part of a path or a log.
package fleet

// Protocol is the version of the protocol between a hub and its workers. ProtocolOldest is the
// oldest supported version.
const (
	Protocol       = 1
	ProtocolOldest = 1
)

// OrderVersion is the version of an Order. OrderOldest is the oldest supported version.
const (
	OrderVersion = 1
	OrderOldest  = 1
)

// Versions are the oldest and the newest versions that a program supports.
type Versions struct {
	Protocol [2]int `json:"protocol"`
	Orders   [2]int `json:"orders"`
}

// Speaks returns the versions that this program supports.
func Speaks() Versions {
	return Versions{[2]int{ProtocolOldest, Protocol}, [2]int{OrderOldest, OrderVersion}}
}

// Limits of the wire.
const (
	MaxOrder       = 768 << 10 // bytes of an encoded order
	MaxBatch       = 512 << 10 // bytes of the drafts of a batch
	MaxBatchDrafts = 256
	MaxPayload     = 2 << 20 // bytes of a draft's payload
	MaxMessage     = 1 << 20 // bytes of a message of the carrier
	// MaxUnderWay is how many batches of an attempt may be unacknowledged.
	MaxUnderWay = 32
	// MaxSending is how many batches may be in flight before the carrier has stored the first of
	// them. Meanwhile the next ones are read and packed.
	MaxSending = 4
)
