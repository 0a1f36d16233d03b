package carrier

// Objects: files of any length, each worker's in a store of its own. The digest of what is
// in an object is part of its name, so one that is there is never written again: that would
// take the chunks away from whoever reads it.

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ac/internal/fault"
)

// maxSilence is how many reads in a row may wait in vain, of 5 s each, before an object
// counts as lost: the client library itself would wait for ever.
const maxSilence = 4

// errChanged says that the object was replaced or removed while it was read.
var errChanged = errors.New("it was replaced while it was read")

// objects are what a connection does with objects. One of a name is put at a time.
type objects struct {
	js jetstream.JetStream

	mu      sync.Mutex
	putting map[[2]string]chan struct{} // by store and name; closed when it is done
}

// put stores an object, unless it is there and stays for long enough.
func (o *objects) put(ctx context.Context, bucket, name string, from io.Reader) error {
	done, err := o.claim(ctx, [2]string{bucket, name})
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	defer done()
	store, err := o.js.ObjectStore(ctx, bucket)
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	there, err := store.GetInfo(ctx, name)
	if err == nil && time.Since(there.ModTime) < objectsFor/2 {
		return nil
	}
	if err == nil || errors.Is(err, jetstream.ErrObjectNotFound) {
		_, err = store.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}, from)
	}
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	return nil
}

// claim waits until nobody else of the connection puts the object.
func (o *objects) claim(ctx context.Context, key [2]string) (done func(), err error) {
	for {
		o.mu.Lock()
		other := o.putting[key]
		if other == nil {
			mine := make(chan struct{})
			if o.putting == nil {
				o.putting = map[[2]string]chan struct{}{}
			}
			o.putting[key] = mine
			o.mu.Unlock()
			return func() {
				o.mu.Lock()
				defer o.mu.Unlock()
				delete(o.putting, key)
				close(mine)
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

func (o *objects) has(ctx context.Context, bucket, name string) (bool, error) {
	store, err := o.js.ObjectStore(ctx, bucket)
	if err == nil {
		_, err = store.GetInfo(ctx, name)
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return false, nil
	}
	if err != nil {
		return false, unavailable("look for the object "+name, err)
	}
	return true, nil
}

// get writes an object out. One that is replaced before anything of it came is read anew;
// later, the half that came is in to, and the call fails.
func (o *objects) get(ctx context.Context, bucket, name string, to io.Writer) error {
	store, err := o.js.ObjectStore(ctx, bucket)
	if err != nil {
		return unavailable("read the object "+name, err)
	}
	for {
		written, err := read(ctx, store, name, to)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, jetstream.ErrObjectNotFound):
			return fault.New(fault.NotFound, "the object %s does not exist", name)
		case written == 0 && errors.Is(err, errChanged):
		default:
			return unavailable("read the object "+name, err)
		}
	}
}

// read writes an object out once.
func read(ctx context.Context, store jetstream.ObjectStore, name string, to io.Writer) (written int64, err error) {
	// With a deadline, the library waits until then for a chunk, and not for 5 s.
	undated, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	object, err := store.Get(undated, name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	info, err := object.Info()
	if err != nil {
		return 0, err
	}
	buffer := make([]byte, chunk)
	for silence := 0; ; {
		n, readErr := object.Read(buffer)
		if n > 0 {
			silence = 0
			wrote, err := to.Write(buffer[:n])
			if written += int64(wrote); err != nil {
				return written, err
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return written, nil
		case ctx.Err() != nil:
			return written, context.Cause(ctx)
		case readErr != nil:
			return written, readErr
		case n > 0:
			continue
		}
		now, err := store.GetInfo(undated, name)
		if err != nil {
			return written, err
		}
		if now.NUID != info.NUID {
			return written, errChanged
		}
		if silence++; silence == maxSilence {
			return written, errors.New("no more of it came")
		}
	}
}

func (o *objects) remove(ctx context.Context, bucket, name string) error {
	store, err := o.js.ObjectStore(ctx, bucket)
	if err == nil {
		err = store.Delete(ctx, name)
	}
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return unavailable("remove the object "+name, err)
	}
	return nil
}
