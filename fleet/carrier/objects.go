package carrier

// Objects: files of any length, in one store for each worker. An object's name contains the
// digest of its content, so an existing object is not rewritten: that would remove its chunks
// while others read them.

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ac/internal/fault"
)

// Timeouts that the client library lacks or has only for a whole transfer. They cover a request
// whose reply was lost with the connection, and a chunk that does not arrive.
const (
	requestWithin = 5 * time.Second
	openWithin    = 10 * time.Second
	pieceWithin   = 60 * time.Second
	lookAfter     = 5 * time.Second // without a chunk, before checking whether the object was replaced
)

// maxSilentReads is how many times in a row a read may time out although the server answers
// requests. A chunk that is on its way arrives before such an answer, even on a slow connection,
// so the server does not send any: in a cluster, the server that was to send it may have died.
const maxSilentReads = 3

// Reasons why a transfer ended early.
var (
	errChanged  = errors.New("it was replaced while it was read")
	errStalled  = errors.New("nothing of it came for too long")
	errConnLost = errors.New("the connection was lost meanwhile")
)

// transferContext is the context of one object's transfer. The library uses a context's deadline as
// the timeout of a single read, so the deadline is always near. Cancellation ends the transfer.
type transferContext struct{ context.Context } //nolint:containedctx // it is one

// Deadline returns lookAfter from now.
func (transferContext) Deadline() (time.Time, bool) { return time.Now().Add(lookAfter), true }

// newTransferContext returns the context of a transfer. It ends with ctx, when done is called, or
// when progress was not called, the first time for first and then for pieceWithin.
func newTransferContext(ctx context.Context, first time.Duration) (m transferContext, progress, done func()) {
	inner, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := time.AfterFunc(first, func() { cancel(errStalled) })
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return transferContext{inner}, func() { timer.Reset(pieceWithin) }, func() {
		stop()
		timer.Stop()
		cancel(context.Canceled)
	}
}

// why returns the cause of the cancellation if the transfer was canceled, otherwise err.
func (m transferContext) why(err error) error {
	if err != nil && m.Err() != nil {
		return context.Cause(m)
	}
	return err
}

// objects accesses objects over one connection. It runs at most one put of a name at a time.
type objects struct {
	js jetstream.JetStream

	mu         sync.Mutex
	putting    map[[2]string]chan struct{} // by store and name; closed when the put ends
	doubtful   map[[2]string]bool          // by store and name: a put failed and may have left a partial object
	connCtx    context.Context             //nolint:containedctx // ends with the connection as it is now
	cancelConn context.CancelCauseFunc
}

// reconnected cancels the operations on the previous connection. They would wait for replies and
// chunks that were lost with it.
func (o *objects) reconnected() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cancelConn != nil {
		o.cancelConn(errConnLost)
	}
	o.connCtx, o.cancelConn = context.WithCancelCause(context.Background())
}

// whileConnected returns a context that ends with ctx or with the current connection.
func (o *objects) whileConnected(ctx context.Context) (inner context.Context, done func()) {
	o.mu.Lock()
	if o.connCtx == nil {
		o.connCtx, o.cancelConn = context.WithCancelCause(context.Background())
	}
	kept := o.connCtx
	o.mu.Unlock()
	inner, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(kept, func() { cancel(context.Cause(kept)) })
	return inner, func() {
		stop()
		cancel(context.Canceled)
	}
}

// put stores an object, unless it exists and does not expire soon. It replaces an object that an
// earlier put may have left incomplete.
func (o *objects) put(ctx context.Context, bucket, name string, from io.Reader) error {
	key := [2]string{bucket, name}
	done, err := o.claim(ctx, key)
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	defer done()
	ctx, over := o.whileConnected(ctx)
	defer over()
	_, there, err := o.find(ctx, bucket, name)
	if err == nil && !o.isDoubtful(key) && time.Since(there.ModTime) < objectsFor/2 {
		return nil
	}
	if err == nil || errors.Is(err, jetstream.ErrObjectNotFound) {
		o.setDoubtful(key, true)
		err = o.write(ctx, bucket, name, there, from)
		o.setDoubtful(key, err != nil)
	}
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	return nil
}

// write stores an object. If the connection was lost meanwhile, chunks without a reply may be
// missing. So an object is complete only if one connection carried all of it.
func (o *objects) write(ctx context.Context, bucket, name string, there *jetstream.ObjectInfo, from io.Reader) error {
	m, progress, done := newTransferContext(ctx, pieceWithin)
	defer done()
	connection := o.js.Conn().Stats().Reconnects
	err := put(m.Context, o.js.Conn(), bucket, name, there, from, progress)
	if err == nil && o.js.Conn().Stats().Reconnects != connection {
		return errConnLost
	}
	return m.why(err)
}

func (o *objects) setDoubtful(key [2]string, doubtful bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !doubtful {
		delete(o.doubtful, key)
		return
	}
	if o.doubtful == nil {
		o.doubtful = map[[2]string]bool{}
	}
	o.doubtful[key] = true
}

func (o *objects) isDoubtful(key [2]string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.doubtful[key]
}

// drop removes an object, so that the next put writes it again.
func (o *objects) drop(ctx context.Context, store jetstream.ObjectStore, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	if err := store.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return nil
}

// claim waits until no other call puts the object.
func (o *objects) claim(ctx context.Context, key [2]string) (done func(), err error) {
	for {
		o.mu.Lock()
		other, busy := o.putting[key]
		if !busy {
			over := make(chan struct{})
			if o.putting == nil {
				o.putting = map[[2]string]chan struct{}{}
			}
			o.putting[key] = over
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				delete(o.putting, key)
				close(over)
			}, nil
		}
		o.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// find looks up an object and its store. If only the object is missing, it still returns the
// store.
func (o *objects) find(ctx context.Context, bucket, name string) (store jetstream.ObjectStore, there *jetstream.ObjectInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	if store, err = o.js.ObjectStore(ctx, bucket); err != nil {
		return nil, nil, err
	}
	there, err = store.GetInfo(ctx, name)
	return store, there, err
}

func (o *objects) has(ctx context.Context, bucket, name string) (bool, error) {
	_, _, err := o.find(ctx, bucket, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) || err == nil && o.isDoubtful([2]string{bucket, name}) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("look for the object "+name, err)
	}
	return true, nil
}

// get writes an object to a writer. If the object was replaced, the connection lost or the transfer
// stalled before the first byte, get retries. After that it fails, and to has received part of the
// object.
func (o *objects) get(ctx context.Context, bucket, name string, to io.Writer) error {
	for {
		written, err := o.getOnce(ctx, bucket, name, to)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return fault.New(fault.NotFound, "the object %s does not exist", name)
		case fault.Is(err, fault.Denied):
			return err
		case written == 0 && (errors.Is(err, errChanged) || errors.Is(err, errConnLost) || errors.Is(err, errStalled)):
		default:
			return unavailable("read the object "+name, err)
		}
	}
}

func (o *objects) getOnce(ctx context.Context, bucket, name string, to io.Writer) (written int64, err error) {
	ctx, over := o.whileConnected(ctx)
	defer over()
	store, there, err := o.find(ctx, bucket, name)
	if err != nil {
		return 0, err
	}
	if there.Opts != nil && there.Opts.Link != nil { // the library would follow it to its target
		return 0, fault.New(fault.Denied, "the object %s is a link", name)
	}
	m, progress, done := newTransferContext(ctx, openWithin)
	defer done()
	written, err = read(m, store, there.NUID, name, to, progress)
	if errors.Is(err, jetstream.ErrDigestMismatch) { // chunks of it are missing
		return written, errors.Join(err, o.drop(ctx, store, name))
	}
	return written, m.why(err)
}

// read writes an object to a writer, in one try. It calls progress once the object is open, and
// for each chunk. id is the NUID that the name had.
func read(ctx context.Context, store jetstream.ObjectStore, id, name string, to io.Writer, progress func()) (written int64, err error) {
	object, err := store.Get(ctx, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	progress()
	buffer := make([]byte, chunkSize)
	for silent := 0; ; {
		n, readErr := object.Read(buffer)
		if n > 0 {
			silent = 0
			progress()
			wrote, err := to.Write(buffer[:n])
			if written += int64(wrote); err != nil {
				return written, err
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return written, nil
		case readErr != nil:
			return written, readErr
		case n > 0:
			continue
		}
		asking, cancel := context.WithTimeout(ctx, requestWithin)
		now, err := store.GetInfo(asking, name)
		cancel()
		switch {
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return written, err
		case err == nil && now.NUID != id:
			return written, errChanged
		case ctx.Err() != nil:
			return written, ctx.Err()
		case err != nil:
			silent = 0
		default:
			if silent++; silent == maxSilentReads {
				return written, errStalled
			}
		}
	}
}

func (o *objects) remove(ctx context.Context, bucket, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	store, err := o.js.ObjectStore(ctx, bucket)
	if err == nil {
		err = o.drop(ctx, store, name)
	}
	if err != nil {
		return unavailable("remove the object "+name, err)
	}
	return nil
}
