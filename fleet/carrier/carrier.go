// Package carrier transports the messages of package fleet over NATS with JetStream: the
// embedded server of a hub, the connections of the hub and of workers, streams, objects and
// rights. It is the only importer of NATS.
//
// The carrier is a transport, not a store: an acknowledgement here makes nothing durable. A
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
	connectPatience  = 10 * time.Second // for one attempt, as the server has for its side
	reconnectSoonest = 200 * time.Millisecond
	reconnectLatest  = 5 * time.Second
	refusedLatest    = time.Minute      // between attempts of a worker whose key is refused
	replyWithin      = 30 * time.Second // that a worker may take to answer what it is told
	publishWithin    = 5 * time.Second
)

// Limits of what the carrier stores.
const (
	maxOrders    = 256 << 20
	maxDrafts    = 1 << 30
	maxStore     = 12 << 30
	maxMemory    = 64 << 20
	chunk        = 512 << 10
	objectsFor   = 7 * 24 * time.Hour
	ordersFor    = time.Hour
	duplicateFor = 2 * time.Minute
	ackWithin    = 30 * time.Second
)

// ingest is the consumer of the drafts.
const ingest = "ingest"

// unavailable is the error of a carrier that could not do what it was asked for.
func unavailable(what string, err error) error {
	return fault.New(fleet.CarrierUnavailable, "%s: %w", what, err)
}

// reconnectDelay doubles from reconnectSoonest to reconnectLatest.
func reconnectDelay(attempts int) time.Duration {
	return min(reconnectSoonest<<min(max(attempts-1, 0), 10), reconnectLatest)
}

// byKey shows a key at a connection.
func byKey(key fleet.Key) nats.Option {
	return nats.Nkey(key.Public(), func(nonce []byte) ([]byte, error) { return key.Raw(nonce), nil })
}

// options are those of every connection.
func options(name string) []nats.Option {
	return []nats.Option{
		nats.Name(name), nats.Timeout(connectPatience),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOut),
		nats.MaxReconnects(-1), nats.CustomReconnectDelay(reconnectDelay), nats.ReconnectBufSize(-1),
		nats.NoEcho(), nats.DontRandomize(),
		nats.IgnoreAuthErrorAbort(), // who is let in again comes back
	}
}

// message makes a signed message.
func message(key fleet.Key, subject string, body []byte) *nats.Msg {
	m := nats.NewMsg(subject)
	m.Data = body
	m.Header.Set(fleet.SignatureHeader, key.Sign(subject, body))
	return m
}

// errForged is for messages whose signature does not fit.
var errForged = errors.New("the message is not signed by who it should be from")
