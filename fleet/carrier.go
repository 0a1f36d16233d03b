package fleet

// The carrier's interface for a worker. Package fleet/carrier implements it.

import (
	"context"
	"errors"
	"io"
	"log/slog"
)

// WorkerCarrier is a worker's connection to its hub. It reconnects on its own and is safe for
// concurrent use.
type WorkerCarrier interface {
	// Ask sends a signed request with this verb and returns the reply after checking its
	// signature. If no reply arrives before ctx ends or within 5 s, it returns a fault with
	// reason carrier_unavailable.
	Ask(ctx context.Context, verb string, body []byte) (answer []byte, err error)
	// Publish sends a signed batch or end of an attempt; id is its MessageID. Messages arrive in
	// the order of the calls, except lost ones. stored waits until the carrier has stored the
	// message. A nil result from stored is no durability guarantee: the worker keeps the draft
	// until the hub reports it sealed.
	Publish(ctx context.Context, attempt, id string, body []byte) (stored func(context.Context) error, err error)
	// NextOrder waits for an order for this worker. It checks the signature and drops orders that
	// fail the check.
	NextOrder(ctx context.Context) (OrderMessage, error)
	// Has reports whether an object is stored. Put stores it. Get writes it to a writer, and the
	// receiver checks its digest. Delete removes it and is idempotent.
	Has(ctx context.Context, name string) (bool, error)
	Put(ctx context.Context, name string, from io.Reader) error
	Get(ctx context.Context, name string, to io.Writer) error
	Delete(ctx context.Context, name string) error
	// Connections receives a value for each established connection, including the first. The
	// worker says hello on each. Close closes the channel.
	Connections() <-chan struct{}
	// Close ends the connection and waits for its goroutines.
	Close()
}

// OrderMessage is a received order.
type OrderMessage struct {
	Attempt string
	Body    []byte // an Order
	// Ack prevents another delivery of the order. Later asks for redelivery after a while, for
	// example because no slot is free.
	Ack   func(ctx context.Context) error
	Later func() error
}

// TellHandler handles a message from the hub after its signature was verified. attempt is "" if
// the message concerns no attempt. If the handler returns nil, no reply is sent.
type TellHandler func(ctx context.Context, attempt, verb string, body []byte) (answer []byte)

// WorkerLink is what a worker needs to connect to its hub.
type WorkerLink struct {
	HubID       string
	WorkerID    string
	URLs        []string
	Fingerprint string // "" if a known authority issued the certificate
	HubKey      string // the public key of the hub
	Key         Key    // the worker's own key, or the invitation's key when joining
	Tell        TellHandler
	Log         *slog.Logger // nil for none
}

// ErrKeyRefused means that the hub refuses the worker's key. It may accept the key later.
var ErrKeyRefused = errors.New("this worker's key is not known there")
