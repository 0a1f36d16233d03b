package carrier

// Upload of an object: its chunks and metadata, in the client library's format, since the library
// reads them.
//
// The library's own Put has up to 4000 chunks in flight, 512 MiB. A server that is slower than
// the network keeps 128 MiB of them in memory and drops the rest, so a long object never arrives.
// Put here waits for stored chunks before it sends more (backpressure).

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// piecesUnderWay is how many chunks of an object may be unacknowledged.
const piecesUnderWay = 8

// upload is the upload of one object.
type upload struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	info     jetstream.ObjectInfo
	progress func()
	underWay []jetstream.PubAckFuture
}

// put stores an object under a name. there is the existing object to replace, nil for none.
func put(ctx context.Context, conn *nats.Conn, bucket, name string, there *jetstream.ObjectInfo, from io.Reader, progress func()) (err error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	defer js.CleanupPublisher()
	u := &upload{js: js, progress: progress}
	u.info.Name, u.info.Bucket, u.info.NUID = name, bucket, rand.Text()
	u.info.Opts = &jetstream.ObjectMetaOptions{ChunkSize: chunkSize}
	asking, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	if u.stream, err = js.Stream(asking, "OBJ_"+bucket); err != nil {
		return err
	}
	if err = u.pieces(ctx, from); err == nil {
		err = u.meta(ctx)
	}
	if err != nil {
		u.purge(ctx, u.info.NUID)
		return err
	}
	if there != nil && there.NUID != u.info.NUID {
		u.purge(ctx, there.NUID)
	}
	return nil
}

// pieces sends the chunks of the object.
func (u *upload) pieces(ctx context.Context, from io.Reader) error {
	digest := sha256.New()
	subject := fmt.Sprintf("$O.%s.C.%s", u.info.Bucket, u.info.NUID)
	for {
		piece := make([]byte, chunkSize)
		n, err := io.ReadFull(from, piece)
		if n > 0 {
			_, _ = digest.Write(piece[:n]) // never fails
			u.info.Size += uint64(n)
			u.info.Chunks++
			if err := u.send(ctx, &nats.Msg{Subject: subject, Data: piece[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			u.info.Digest = jetstream.GetObjectDigestValue(digest)
			return u.stored(ctx, 0)
		}
		if err != nil {
			return err
		}
	}
}

// meta publishes the metadata, which makes the object visible.
func (u *upload) meta(ctx context.Context) error {
	text, err := json.Marshal(u.info)
	if err != nil {
		return err
	}
	subject := fmt.Sprintf("$O.%s.M.%s", u.info.Bucket, base64.URLEncoding.EncodeToString([]byte(u.info.Name)))
	m := &nats.Msg{Subject: subject, Data: text, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
	if err := u.send(ctx, m); err != nil {
		return err
	}
	return u.stored(ctx, 0)
}

// send sends a message once fewer than piecesUnderWay are unacknowledged.
func (u *upload) send(ctx context.Context, m *nats.Msg) error {
	if err := u.stored(ctx, piecesUnderWay-1); err != nil {
		return err
	}
	future, err := u.js.PublishMsgAsync(m, jetstream.WithRetryAttempts(0))
	if err == nil {
		u.underWay = append(u.underWay, future)
	}
	return err
}

// stored waits until at most that many messages are unacknowledged.
func (u *upload) stored(ctx context.Context, most int) error {
	for len(u.underWay) > most {
		first := u.underWay[0]
		select {
		case <-first.Ok():
			u.underWay = u.underWay[1:]
			u.progress()
		case err := <-first.Err():
			u.underWay = u.underWay[1:]
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// purge removes the chunks of an object, best effort. Remaining chunks expire.
func (u *upload) purge(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWithin)
	defer cancel()
	for len(u.underWay) > 0 && ctx.Err() == nil {
		_ = u.stored(ctx, 0) // otherwise chunks in flight would arrive after the purge
	}
	_ = u.stream.Purge(ctx, jetstream.WithPurgeSubject(fmt.Sprintf("$O.%s.C.%s", u.info.Bucket, id)))
}
