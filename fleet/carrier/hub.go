package carrier

// The hub's connection: it publishes orders, receives drafts, and replies to workers.

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

// Asked is a request of a worker as it was received.
type Asked struct {
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
	Server  *Server  // the embedded one, nil with Cluster
	Cluster *Cluster // the user's own
	Log     *slog.Logger
	// Answer answers a request of a worker; a nil answer sends none. It verifies the
	// signature: it knows the workers' keys. It is called by several goroutines.
	Answer func(ctx context.Context, a Asked) []byte
	// Workers are those that have a consumer and a bucket.
	Workers func() []string
}

// Hub is a hub's connection. It is safe for concurrent use.
type Hub struct {
	options  HubOptions
	subjects fleet.Subjects
	conn     *nats.Conn
	js       jetstream.JetStream
	objects  objects
	drafts   chan Draft
	cancel   context.CancelFunc
	ctx      context.Context //nolint:containedctx // of the goroutines below
	wg       sync.WaitGroup
	slots    chan struct{} // of requests that are being answered
	making   sync.Mutex    // of streams: the server spoils one that is deleted and made by two at once
}

// Draft is a batch or an end as it was received.
type Draft struct {
	Worker    string
	Attempt   string
	Subject   string
	Body      []byte
	Signature string
	// Ack says that it is durable in the chain or needs no more to come. Later has it come
	// again after a second.
	Ack   func()
	Later func()
}

// maxAnswers bounds the requests that are answered at once.
const maxAnswers = 256

// ConnectHub connects to the embedded server or to the user's own, and creates missing
// streams. It fails with fleet.HubElsewhere if a hub with the same id is connected to the
// user's own.
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
		_, err = h.conn.Subscribe(h.subjects.All("ask"), h.asked)
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

// dial makes the connection.
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

// replicas of a stream; 0 is what an embedded server has.
func (h *Hub) replicas() int {
	if c := h.options.Cluster; c != nil {
		return c.Replicas
	}
	return 0
}

// electWithin is how long servers of a cluster have that were just started.
const electWithin = 30 * time.Second

// ensureFirst is Ensure for a hub that starts, maybe together with a cluster: that answers
// nothing before its servers have agreed.
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
	h.making.Lock()
	defer h.making.Unlock()
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
	h.making.Lock()
	defer h.making.Unlock()
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

// store is the object store of a worker, as the client library makes one but for direct
// reads. Their answers, with words of the worker's choice, go to any subject it names, and
// the server takes them there for requests to its API, of somebody who may do everything.
// Its size is bounded by that of the whole store: a bound of its own would be reserved for
// it, and few workers would fit.
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

// PublishOrder stores an order for a worker. It creates missing streams first.
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

// Drafts is the channel of the batches and ends of all workers. Close closes it.
func (h *Hub) Drafts() <-chan Draft { return h.drafts }

// consume reads the drafts, and begins anew when the carrier forgot.
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
			_ = m.Term() // it can never be taken
			continue
		}
		d := Draft{
			Worker: worker, Attempt: attempt, Subject: m.Subject(), Body: m.Data(), Signature: m.Headers().Get(fleet.SignatureHeader),
			Ack:   func() { _ = m.Ack() }, // it comes again where this is lost, and is known then
			Later: func() { _ = m.NakWithDelay(time.Second) },
		}
		select {
		case h.drafts <- d:
		case <-h.ctx.Done():
			return context.Cause(h.ctx)
		}
	}
}

// asked answers a request in a goroutine of its own. Answers go to the inbox of the worker
// that asked and nowhere else.
func (h *Hub) asked(m *nats.Msg) {
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
		answer := h.options.Answer(h.ctx, Asked{Worker: worker, Verb: verb, Subject: m.Subject, Body: m.Data, Signature: m.Header.Get(fleet.SignatureHeader)})
		if answer != nil {
			_ = h.conn.PublishMsg(message(h.options.Key, m.Reply, answer)) // who asked asks again
		}
	})
}

// Tell sends a message to a worker and waits for the reply, whose signature must be the
// worker's.
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

// Notify sends a message without a reply to a worker, best effort.
func (h *Hub) Notify(worker, verb string, body []byte) {
	_ = h.conn.PublishMsg(message(h.options.Key, h.subjects.Tell(worker, "", verb), body)) // the next beat says it, too
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

// Close ends the connection and waits for its goroutines. Replies in progress are dropped.
func (h *Hub) Close() {
	h.cancel()
	h.conn.Close()
	h.wg.Wait()
}
