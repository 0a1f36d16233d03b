package carrier

// Objects: files of any length, each worker's in a store of its own.

import (
	"context"
	"errors"
	"io"

	"github.com/nats-io/nats.go/jetstream"

	"ac/internal/fault"
)

func putObject(ctx context.Context, js jetstream.JetStream, bucket, name string, from io.Reader) error {
	store, err := js.ObjectStore(ctx, bucket)
	if err == nil {
		_, err = store.Put(ctx, jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunk}}, from)
	}
	if err != nil {
		return unavailable("store the object "+name, err)
	}
	return nil
}

func hasObject(ctx context.Context, js jetstream.JetStream, bucket, name string) (bool, error) {
	store, err := js.ObjectStore(ctx, bucket)
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

func getObject(ctx context.Context, js jetstream.JetStream, bucket, name string, to io.Writer) error {
	store, err := js.ObjectStore(ctx, bucket)
	if err != nil {
		return unavailable("read the object "+name, err)
	}
	object, err := store.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fault.New(fault.NotFound, "the object %s does not exist", name)
	}
	if err != nil {
		return unavailable("read the object "+name, err)
	}
	_, err = io.Copy(to, object)
	if err = errors.Join(err, object.Close()); err != nil {
		return unavailable("read the object "+name, err)
	}
	return nil
}

func deleteObject(ctx context.Context, js jetstream.JetStream, bucket, name string) error {
	store, err := js.ObjectStore(ctx, bucket)
	if err == nil {
		err = store.Delete(ctx, name)
	}
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return unavailable("remove the object "+name, err)
	}
	return nil
}
