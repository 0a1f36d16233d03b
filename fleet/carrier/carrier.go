// Package carrier transports the messages of package fleet over NATS with JetStream: the embedded
// server of a hub, the connections of the hub and of workers, streams, objects and permissions.
// Only this package imports NATS.
//
// The carrier is a transport, not a store: its acknowledgements do not guarantee durability. A
// hub recreates missing streams, and the senders send again.
package carrier

import (
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"ac/fleet"
	"ac/internal/fault"
)

// Timeouts and intervals of connections.
const (
	pingEvery        = 5 * time.Second
	pingsOut         = 2
	askWithin        = 5 * time.Second
	connectPatience  = 10 * time.Second // per connection attempt; the server's AuthTimeout is the same
	reconnectSoonest = 200 * time.Millisecond
	reconnectLatest  = 5 * time.Second
	refusedLatest    = time.Minute      // between attempts of a worker whose key the hub refuses
	replyWithin      = 30 * time.Second // for a worker's reply to a message
	publishWithin    = 5 * time.Second
)

// Limits of the carrier's storage.
const (
	maxOrders    = 256 << 20
	maxDrafts    = 1 << 30
	maxStore     = 12 << 30
	maxMemory    = 64 << 20
	chunkSize    = 512 << 10
	objectsFor   = 7 * 24 * time.Hour
	ordersFor    = time.Hour
	duplicateFor = 2 * time.Minute
	ackWithin    = 30 * time.Second
)

// ingest is the name of the consumer of the drafts.
const ingest = "ingest"

// unavailable returns the fault for an operation that the carrier could not complete.
func unavailable(what string, err error) error {
	return fault.New(fleet.CarrierUnavailable, "%s: %w", what, err)
}

// reconnectDelay doubles with each attempt, from reconnectSoonest to reconnectLatest.
func reconnectDelay(attempts int) time.Duration {
	return min(reconnectSoonest<<min(max(attempts-1, 0), 10), reconnectLatest)
}

// byKey authenticates a connection with a key.
func byKey(key fleet.Key) nats.Option {
	return nats.Nkey(key.Public(), func(nonce []byte) ([]byte, error) { return key.Raw(nonce), nil })
}

// options returns the options common to all connections.
func options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.Timeout(connectPatience),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay), nats.ReconnectBufSize(-1),
		nats.NoEcho(), nats.DontRandomize(),
		nats.IgnoreAuthErrorAbort(), // a client may be admitted again later
	}
}

// message returns a signed message.
func message(key fleet.Key, subject string, body []byte) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(fleet.SignatureHeader, key.Sign(subject, body))
	return m
}

// errForged reports a message with an invalid signature.
var errForged = errors.New("the message is not signed by who it should be from")
