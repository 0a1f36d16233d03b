package carrier

// The hub's connection. It publishes orders, receives drafts, and replies to workers.

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ac/fleet"
	"ac/internal/fault"
)

// Request is a request received from a worker.
type Request struct {
	Worker    string
	Verb      string
	Subject   string
	Body      []byte
	Signature string
}

// HubOptions are the options of a hub's connection.
type HubOptions struct {
	HubID   string
	Key     fleet.Key
	Server  *Server  // the embedded server; nil with Cluster
	Cluster *Cluster // the user's own; nil with Server
	Log     *slog.Logger
	// Answer answers a request of a worker; it returns nil to send no reply. It must verify the
	// signature, since only it knows the workers' keys. Several goroutines call it.
	Answer func(ctx context.Context, a Request) []byte
	// Workers returns the workers that need a consumer and a bucket.
	Workers func() []string
}

// Hub is a hub's connection. It is safe for concurrent use.
type Hub struct {
	options   HubOptions
	subjects  fleet.Subjects
	conn      *nats.Conn
	js        jetstream.JetStream
	objects   objects
	drafts    chan Draft
	cancel    context.CancelFunc
	ctx       context.Context //nolint:containedctx // of the goroutines below
	wg        sync.WaitGroup
	slots     chan struct{} // one for each request being answered
	streamsMu sync.Mutex    // of streams: the server corrupts one that is deleted and created concurrently
}

// Draft is a received batch or end.
type Draft struct {
	Worker    string
	Attempt   string
	Subject   string
	Body      []byte
	Signature string
	// Ack reports that the draft is durable in the chain, or is not needed. Later requests
	// redelivery after a second.
	Ack   func()
	Later func()
}

// maxAnswers is how many requests may be answered at once.
const maxAnswers = 256

// ConnectHub connects to the embedded server or to the user's own, and creates missing streams.
// It fails with fleet.HubElsewhere if a hub with the same id is connected to the user's own
// server.
func ConnectHub(ctx context.Context, o HubOptions) (*Hub, error) {
	h := &Hub{options: o, subjects: fleet.Subjects{Hub: o.HubID}, drafts: make(chan Draft, 512), slots: make(chan struct{}, maxAnswers)}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := h.dial(); err != nil {
		h.cancel()
		return nil, err
	}
	var err error
	if o.Cluster != nil {
		err = h.alone(ctx, o.Cluster.Boot)
	}
	if err == nil {
		h.js, err = jetstream.New(h.conn, jetstream.WithDefaultTimeout(askWithin))
	}
	if err == nil {
		h.objects.js = h.js
		err = h.ensureFirst(ctx)
	}
	if err == nil {
		_, err = h.conn.Subscribe(h.subjects.All("ask"), h.handleRequest)
	}
	if err != nil {
		h.Close()
		return nil, err
	}
	h.wg.Go(h.consume)
	if o.Server != nil {
		h.wg.Go(h.mend)
	}
	return h, nil
}

// dial connects to the carrier.
func (h *Hub) dial() (err error) {
	urls, how := "", []nats.Option{byKey(h.options.Key), nats.InProcessServer(h.options.Server)}
	if c := h.options.Cluster; c != nil {
		urls = c.urls()
		if how, err = c.options(); err != nil {
			return err
		}
		how = append(how, nats.ReconnectHandler(func(*nats.Conn) { h.objects.reconnected() }))
	}
	if h.conn, err = nats.Connect(urls, append(options("ac-hub"), how...)...); err != nil {
		return unavailable("connect to the carrier", err)
	}
	return nil
}

// replicas returns the number of replicas of a stream, 0 for the embedded server.
func (h *Hub) replicas() int {
	if c := h.options.Cluster; c != nil {
		return c.Replicas
	}
	return 0
}

// electWithin is how long a freshly started cluster has to elect its leaders.
const electWithin = 30 * time.Second

// ensureFirst is Ensure with retries for a starting hub. A cluster that started at the same time
// answers nothing until its servers have elected a leader.
func (h *Hub) ensureFirst(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, electWithin)
	defer cancel()
	for {
		err := h.Ensure(ctx)
		if err == nil || h.options.Cluster == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-within.Done():
			return err
		case <-time.After(reconnectSoonest):
		}
	}
}

// Ensure creates missing streams and consumers.
func (h *Hub) Ensure(ctx context.Context) error {
	h.streamsMu.Lock()
	defer h.streamsMu.Unlock()
	return h.ensure(ctx)
}

func (h *Hub) ensure(ctx context.Context) error {
	for _, config := range []jetstream.StreamConfig{
		{
			Name: h.subjects.OrdersStream(), Subjects: []string{h.subjects.All("order")}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, MaxBytes: maxOrders, MaxAge: ordersFor, MaxMsgSize: fleet.MaxMessage, Duplicates: duplicateFor,
		},
		{
			Name: h.subjects.DraftsStream(), Subjects: []string{h.subjects.All("draft")}, Retention: jetstream.WorkQueuePolicy,
			Discard: jetstream.DiscardNew, MaxBytes: maxDrafts, MaxMsgSize: fleet.MaxMessage, Duplicates: duplicateFor,
		},
	} {
		config.Replicas = h.replicas()
		if _, err := h.js.CreateOrUpdateStream(ctx, config); err != nil {
			return unavailable("make the stream "+config.Name, err)
		}
	}
	if _, err := h.js.CreateOrUpdateConsumer(ctx, h.subjects.DraftsStream(), jetstream.ConsumerConfig{
		Durable: ingest, AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWithin, MaxDeliver: -1, MaxAckPending: 1024,
	}); err != nil {
		return unavailable("make the consumer of drafts", err)
	}
	for _, worker := range h.options.Workers() {
		if err := h.ensureWorker(ctx, worker); err != nil {
			return err
		}
	}
	return nil
}

// EnsureWorker creates the consumers and the object store of a worker. It is idempotent.
func (h *Hub) EnsureWorker(ctx context.Context, worker string) error {
	h.streamsMu.Lock()
	defer h.streamsMu.Unlock()
	return h.ensureWorker(ctx, worker)
}

func (h *Hub) ensureWorker(ctx context.Context, worker string) error {
	if _, err := h.js.CreateOrUpdateConsumer(ctx, h.subjects.OrdersStream(), jetstream.ConsumerConfig{
		Durable: worker, FilterSubject: h.subjects.Of("order", worker), AckPolicy: jetstream.AckExplicitPolicy, AckWait: ackWithin,
		MaxDeliver: 10, MaxAckPending: 16, MaxWaiting: 4,
	}); err != nil {
		return unavailable("make the queue of worker "+worker, err)
	}
	if _, err := h.js.CreateOrUpdateStream(ctx, h.store(worker)); err != nil {
		return unavailable("make the object store of worker "+worker, err)
	}
	return nil
}

// store returns the stream configuration of a worker's object store. It matches what the client
// library creates, except that direct reads are off. A direct read sends content that the worker
// chose to a reply subject that the worker chose. The server would accept that as a request to
// its API with full permissions.
//
// The store has no size limit of its own, since the server would reserve that space and only few
// workers would fit. The limit of the whole server applies.
func (h *Hub) store(worker string) jetstream.StreamConfig {
	bucket := h.subjects.Bucket(worker)
	return jetstream.StreamConfig{
		Name: streamOf(bucket), Subjects: []string{objectsOf(bucket) + ".C.>", objectsOf(bucket) + ".M.>"}, Storage: jetstream.FileStorage,
		MaxAge: objectsFor, MaxBytes: -1, Replicas: h.replicas(), Discard: jetstream.DiscardNew, AllowRollup: true,
	}
}

// RemoveWorker removes what EnsureWorker creates. It is idempotent.
func (h *Hub) RemoveWorker(ctx context.Context, worker string) error {
	err := h.js.DeleteConsumer(ctx, h.subjects.OrdersStream(), worker)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	dropErr := h.js.DeleteObjectStore(ctx, h.subjects.Bucket(worker))
	if errors.Is(dropErr, jetstream.ErrStreamNotFound) || errors.Is(dropErr, jetstream.ErrBucketNotFound) {
		dropErr = nil
	}
	return errors.Join(err, dropErr)
}

// PublishOrder stores an order for a worker. It recreates missing streams.
func (h *Hub) PublishOrder(ctx context.Context, worker, attempt string, body []byte) error {
	m := message(h.options.Key, h.subjects.Order(worker, attempt), body)
	_, err := h.js.PublishMsg(ctx, m, jetstream.WithMsgID(attempt), jetstream.WithExpectStream(h.subjects.OrdersStream()))
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, jetstream.ErrStreamNotFound) {
		if err := h.Ensure(ctx); err != nil {
			return err
		}
		_, err = h.js.PublishMsg(ctx, m, jetstream.WithMsgID(attempt))
	}
	if err != nil {
		return unavailable("publish the order", err)
	}
	return nil
}

// DeleteOrder withdraws an order that was not acknowledged. It is idempotent.
func (h *Hub) DeleteOrder(ctx context.Context, worker, attempt string) error {
	stream, err := h.js.Stream(ctx, h.subjects.OrdersStream())
	if err == nil {
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(h.subjects.Order(worker, attempt)))
	}
	if err != nil {
		return unavailable("take back the order", err)
	}
	return nil
}

// Drafts returns the channel of batches and ends from all workers. Close closes it.
func (h *Hub) Drafts() <-chan Draft { return h.drafts }

// consume reads drafts until the hub closes. After an error it recreates missing streams and
// retries with backoff.
func (h *Hub) consume() {
	defer close(h.drafts)
	for wait := reconnectSoonest; h.ctx.Err() == nil; wait = min(2*wait, reconnectLatest) {
		if err := h.consumeOnce(func() { wait = reconnectSoonest }); err != nil && h.ctx.Err() == nil {
			h.options.Log.Warn("the drafts cannot be read", "error", err)
			if err := h.Ensure(h.ctx); err != nil {
				h.options.Log.Warn("the streams cannot be made", "error", err)
			}
		}
		select {
		case <-h.ctx.Done():
		case <-time.After(wait):
		}
	}
}

func (h *Hub) consumeOnce(came func()) error {
	consumer, err := h.js.Consumer(h.ctx, h.subjects.DraftsStream(), ingest)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(256), jetstream.PullHeartbeat(pingEvery))
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(h.ctx))
		if err != nil {
			return err
		}
		came()
		kind, worker, attempt, err := h.subjects.Parse(m.Subject())
		if err != nil || kind != "draft" || !fleet.IsAttempt(attempt) {
			_ = m.Term() // it can never be processed
			continue
		}
		d := Draft{
			Worker: worker, Attempt: attempt, Subject: m.Subject(), Body: m.Data(), Signature: m.Headers().Get(fleet.SignatureHeader),
			Ack:   func() { _ = m.Ack() }, // if the ack is lost, the draft is redelivered and recognized
			Later: func() { _ = m.NakWithDelay(time.Second) },
		}
		select {
		case h.drafts <- d:
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		}
	}
}

// handleRequest answers a request in its own goroutine. It replies only to the inbox of the worker that
// asked.
func (h *Hub) handleRequest(m *nats.Msg) {
	kind, worker, verb, err := h.subjects.Parse(m.Subject)
	if err != nil || kind != "ask" || !strings.HasPrefix(m.Reply, fleet.Inbox(worker)+".") {
		return
	}
	select {
	case h.slots <- struct{}{}:
	case <-h.ctx.Done():
		return
	}
	h.wg.Go(func() {
		defer func() { <-h.slots }()
		answer := h.options.Answer(h.ctx, Request{Worker: worker, Verb: verb, Subject: m.Subject, Body: m.Data, Signature: m.Header.Get(fleet.SignatureHeader)})
		if answer != nil {
			_ = h.conn.PublishMsg(message(h.options.Key, m.Reply, answer)) // best effort: the worker asks again
		}
	})
}

// Tell sends a message to a worker and waits for the reply. The reply must have the worker's
// signature.
func (h *Hub) Tell(ctx context.Context, worker, publicKey, attempt, verb string, body []byte) ([]byte, error) {
	reply, err := h.conn.RequestMsgWithContext(ctx, message(h.options.Key, h.subjects.Tell(worker, attempt, verb), body))
	switch {
	case errors.Is(err, nats.ErrNoResponders) || errors.Is(err, nats.ErrConnectionClosed):
		return nil, fault.New(fleet.WorkerUnreachable, "the worker is not connected")
	case err != nil && ctx.Err() != nil:
		return nil, fault.New(fleet.WorkerUnreachable, "the worker did not answer: %w", context.Cause(ctx))
	case err != nil:
		return nil, unavailable("tell the worker", err)
	case !fleet.Verify(publicKey, reply.Subject, reply.Data, reply.Header.Get(fleet.SignatureHeader)):
		return nil, fault.New(fleet.WorkerUnreachable, "the worker's answer: %w", errForged)
	}
	return reply.Data, nil
}

// Notify sends a message to a worker without waiting for a reply, best effort.
func (h *Hub) Notify(worker, verb string, body []byte) {
	_ = h.conn.PublishMsg(message(h.options.Key, h.subjects.Tell(worker, "", verb), body)) // the next beat repeats it
}

// Put stores an object for a worker.
func (h *Hub) Put(ctx context.Context, worker, name string, from io.Reader) error {
	return h.objects.put(ctx, h.subjects.Bucket(worker), name, from)
}

// Get reads an object of a worker.
func (h *Hub) Get(ctx context.Context, worker, name string, to io.Writer) error {
	return h.objects.get(ctx, h.subjects.Bucket(worker), name, to)
}

// Delete removes an object of a worker. It is idempotent.
func (h *Hub) Delete(ctx context.Context, worker, name string) error {
	return h.objects.remove(ctx, h.subjects.Bucket(worker), name)
}

// Counts counts the messages in the streams.
func (h *Hub) Counts(ctx context.Context) (counts fleet.StreamCounts, err error) {
	for name, to := range map[string]*int64{h.subjects.OrdersStream(): &counts.Orders, h.subjects.DraftsStream(): &counts.Drafts} {
		stream, err := h.js.Stream(ctx, name)
		if err != nil {
			return counts, unavailable("look at the streams", err)
		}
		state := stream.CachedInfo().State
		*to = int64(state.Msgs)            //nolint:gosec // far below
		counts.Bytes += int64(state.Bytes) //nolint:gosec // far below
	}
	return counts, nil
}

// Connected reports whether the carrier can be reached.
func (h *Hub) Connected() bool { return h.conn.IsConnected() }

// Close closes the connection and waits for its goroutines. It drops replies in progress.
func (h *Hub) Close() {
	h.cancel()
	h.conn.Close()
	h.wg.Wait()
}
