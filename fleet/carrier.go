package fleet

// The interface of the carrier to a worker. Package fleet/carrier implements it.

import (
	"context"
	"errors"
	"io"
	"log/slog"
)

// WorkerCarrier is a worker's connection to its hub. It reconnects by itself and is safe for
// concurrent use.
type WorkerCarrier interface {
	// Ask sends a signed request of a verb and returns the answer, whose signature was
	// checked. Without an answer within the context, or 5 s, it fails with a fault of
	// reason carrier_unavailable.
	Ask(ctx context.Context, verb string, body []byte) (answer []byte, err error)
	// Publish sends a signed batch or end of an attempt; id is that of MessageID. They arrive
	// in the order of the calls, but for those that are lost. stored waits until the carrier has
	// stored it. That it returns nil is no promise of the carrier that counts: the draft is
	// kept until the hub says that it is sealed.
	Publish(ctx context.Context, attempt, id string, body []byte) (stored func(context.Context) error, err error)
	// NextOrder waits for an order for this worker. Its signature was checked; an order
	// that did not pass was dropped.
	NextOrder(ctx context.Context) (OrderMessage, error)
	// Has reports whether an object is stored. Put stores it. Get writes one out; the receiver checks its digest. Delete
	// removes it and is idempotent.
	Has(ctx context.Context, name string) (bool, error)
	Put(ctx context.Context, name string, from io.Reader) error
	Get(ctx context.Context, name string, to io.Writer) error
	Delete(ctx context.Context, name string) error
	// Connections receives a value for each connection that was made, the first one
	// included: a worker says hello at each. It is closed by Close.
	Connections() <-chan struct{}
	// Close ends the connection and waits for its goroutines.
	Close()
}

// OrderMessage is an order as it was received.
type OrderMessage struct {
	Attempt string
	Body    []byte // an Order
	// Ack says that the order is not delivered again. Later lets it come again after a
	// while, as when there is no slot.
	Ack   func(ctx context.Context) error
	Later func() error
}

// TellHandler handles a message of the hub whose signature was verified. attempt is "" if
// the message concerns none. If the handler returns nil, no reply is sent.
type TellHandler func(ctx context.Context, attempt, verb string, body []byte) (answer []byte)

// WorkerLink is what a worker needs to connect to its hub.
type WorkerLink struct {
	HubID       string
	WorkerID    string
	URLs        []string
	Fingerprint string // "" for a certificate of a known authority
	HubKey      string // the public key of the hub
	Key         Key    // the worker's own; of the invitation to join
	Tell        TellHandler
	Log         *slog.Logger // nil for none
}

// ErrKeyRefused means that the hub refuses a worker's key. It may accept it later.
var ErrKeyRefused = errors.New("this worker's key is not known there")
