package carrier

// The worker's connection.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ac/fleet"
)

// worker implements fleet.WorkerCarrier.
type worker struct {
	link        fleet.WorkerLink
	subjects    fleet.Subjects
	conn        *nats.Conn
	js          jetstream.JetStream
	objects     objects
	connections chan struct{}
	ctx         context.Context //nolint:containedctx // of what the hub tells
	cancel      context.CancelFunc

	mu      sync.Mutex
	closed  bool
	telling sync.WaitGroup
	orders  jetstream.MessagesContext // nil until the first NextOrder
}

// ConnectWorker connects a worker to its hub. It fails if no address is reachable. Once
// connected, it reconnects on its own, without limit.
func ConnectWorker(ctx context.Context, link fleet.WorkerLink) (fleet.WorkerCarrier, error) {
	w := &worker{link: link, subjects: fleet.Subjects{Hub: link.HubID}, connections: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(context.WithoutCancel(ctx))
	turned := &refusals{log: cmp.Or(link.Log, slog.New(slog.DiscardHandler))}
	o := append(options("ac-worker"), byKey(link.Key), nats.PingInterval(clientPingInterval), nats.CustomReconnectDelay(turned.delay), nats.ErrorHandler(turned.failed), nats.CustomInboxPrefix(fleet.Inbox(link.WorkerID)), nats.Secure(clientTLS(link.Fingerprint)),
		nats.ConnectHandler(func(*nats.Conn) { w.connected() }), nats.ReconnectHandler(func(*nats.Conn) {
			turned.over()
			w.objects.reconnected()
			w.connected()
		}))
	conn, err := nats.Connect(strings.Join(link.URLs, ","), o...)
	if err != nil {
		w.cancel()
		if isRefusal(err) {
			err = fmt.Errorf("%w: %w: its invitation is spent or over, it was revoked, or the operators of the NATS servers have not let it in yet (see: ac hub:permissions)", err, fleet.ErrKeyRefused)
		}
		return nil, unavailable("connect to the hub at "+strings.Join(link.URLs, ", "), err)
	}
	w.conn = conn
	if w.js, err = jetstream.New(conn, jetstream.WithDefaultTimeout(publishWithin), jetstream.WithPublishAsyncTimeout(publishWithin)); err == nil && link.Tell != nil {
		_, err = conn.Subscribe(w.subjects.Of("tell", link.WorkerID), w.handleTell)
	}
	if err == nil {
		err = conn.FlushWithContext(flushContext(ctx))
	}
	w.objects.js = w.js
	if err != nil {
		w.Close()
		return nil, unavailable("connect to the hub", err)
	}
	w.telling.Go(w.keepAlive)
	return w, nil
}

// flushContext adds a deadline to a context that has none, since a flush needs one.
func flushContext(ctx context.Context) context.Context {
	if _, ok := ctx.Deadline(); ok {
		return ctx
	}
	bounded, cancel := context.WithTimeout(ctx, askWithin)
	context.AfterFunc(bounded, cancel)
	return bounded
}

func (w *worker) connected() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	select {
	case w.connections <- struct{}{}:
	default: // a notification is already pending
	}
}

// Connections implements fleet.WorkerCarrier.
func (w *worker) Connections() <-chan struct{} { return w.connections }

// Ask implements fleet.WorkerCarrier.
func (w *worker) Ask(ctx context.Context, verb string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	reply, err := w.conn.RequestMsgWithContext(ctx, message(w.link.Key, w.subjects.Ask(w.link.WorkerID, verb), body))
	if err == nil && !fleet.Verify(w.link.HubKey, reply.Subject, reply.Data, reply.Header.Get(fleet.SignatureHeader)) {
		err = errForged
	}
	if err != nil {
		return nil, unavailable("ask the hub ("+verb+")", err)
	}
	return reply.Data, nil
}

// Publish implements fleet.WorkerCarrier. If the connection loses an acknowledgement, stored
// waits for it as long as for a late one.
func (w *worker) Publish(_ context.Context, attempt, id string, body []byte) (stored func(context.Context) error, err error) {
	m := message(w.link.Key, w.subjects.Draft(w.link.WorkerID, attempt), body)
	future, err := w.js.PublishMsgAsync(m, jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
	if err != nil {
		return nil, unavailable("publish to the hub", err)
	}
	return func(ctx context.Context) error {
		select {
		case <-future.Ok():
			return nil
		case err := <-future.Err():
			return unavailable("publish to the hub", err)
		case <-ctx.Done():
			return unavailable("publish to the hub", context.Cause(ctx))
		}
	}, nil
}

// handleTell passes on a message after verifying that the hub signed it.
func (w *worker) handleTell(m *nats.Msg) {
	_, _, rest, err := w.subjects.Parse(m.Subject)
	if err != nil || !fleet.Verify(w.link.HubKey, m.Subject, m.Data, m.Header.Get(fleet.SignatureHeader)) {
		return
	}
	attempt, verb, ofAttempt := strings.Cut(rest, ".")
	if !ofAttempt {
		attempt, verb = "", rest
	} else if !fleet.IsAttempt(attempt) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.telling.Go(func() {
		if answer := w.link.Tell(w.ctx, attempt, verb, m.Data); answer != nil && m.Reply != "" {
			_ = w.conn.PublishMsg(message(w.link.Key, m.Reply, answer)) // best effort: the hub sends it again
		}
	})
}

// NextOrder implements fleet.WorkerCarrier. It must not be called concurrently.
func (w *worker) NextOrder(ctx context.Context) (fleet.OrderMessage, error) {
	for {
		messages, err := w.queue(ctx)
		if err != nil {
			return fleet.OrderMessage{}, unavailable("wait for orders", err)
		}
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			w.leaveQueue()
			if ctx.Err() != nil {
				return fleet.OrderMessage{}, context.Cause(ctx)
			}
			return fleet.OrderMessage{}, unavailable("wait for orders", err)
		}
		_, _, attempt, err := w.subjects.Parse(m.Subject())
		if err != nil || !fleet.IsAttempt(attempt) || !fleet.Verify(w.link.HubKey, m.Subject(), m.Data(), m.Headers().Get(fleet.SignatureHeader)) {
			_ = m.Term() // not signed by the hub: never redeliver it
			continue
		}
		return fleet.OrderMessage{Attempt: attempt, Body: m.Data(),
			Ack:   func(ctx context.Context) error { return m.DoubleAck(ctx) },
			Later: func() error { return m.NakWithDelay(time.Second) },
		}, nil
	}
}

// queue returns the worker's queue of orders and opens it when needed. It requests one message at
// a time, so that no order waits in a worker without a slot.
func (w *worker) queue(ctx context.Context) (jetstream.MessagesContext, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, errors.New("the connection is closed")
	}
	if w.orders != nil {
		return w.orders, nil
	}
	consumer, err := w.js.Consumer(ctx, w.subjects.OrdersStream(), w.link.WorkerID)
	if err != nil {
		return nil, fmt.Errorf("find the queue: %w", err)
	}
	w.orders, err = consumer.Messages(jetstream.PullMaxMessages(1), jetstream.PullHeartbeat(pingEvery))
	return w.orders, err
}

func (w *worker) leaveQueue() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.orders != nil {
		w.orders.Stop()
		w.orders = nil
	}
}

// Has implements fleet.WorkerCarrier.
func (w *worker) Has(ctx context.Context, name string) (bool, error) {
	return w.objects.has(ctx, w.subjects.Bucket(w.link.WorkerID), name)
}

// Put implements fleet.WorkerCarrier.
func (w *worker) Put(ctx context.Context, name string, from io.Reader) error {
	return w.objects.put(ctx, w.subjects.Bucket(w.link.WorkerID), name, from)
}

// Get implements fleet.WorkerCarrier.
func (w *worker) Get(ctx context.Context, name string, to io.Writer) error {
	return w.objects.get(ctx, w.subjects.Bucket(w.link.WorkerID), name, to)
}

// Delete implements fleet.WorkerCarrier.
func (w *worker) Delete(ctx context.Context, name string) error {
	return w.objects.remove(ctx, w.subjects.Bucket(w.link.WorkerID), name)
}

// Close implements fleet.WorkerCarrier.
func (w *worker) Close() {
	w.mu.Lock()
	already := w.closed
	w.closed = true
	w.mu.Unlock()
	if already {
		return
	}
	w.cancel()
	w.leaveQueue()
	w.telling.Wait()
	w.conn.Close()
	close(w.connections)
}
