package main

// Drafts: how many events a second a hub makes durable. The workers here send prepared events only,
// so that the figure is the hub's and not that of the programs that print.

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	wire "ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/ulid"
	"ac/runs/session"
	"ac/workspace/doc"
)

// Size and number of a sender's drafts.
const (
	draftBytes = 300 // encoded
	draftsEach = 100_000
)

// sender is a worker that sends drafts for one session.
type sender struct {
	link   wire.WorkerLink
	c      wire.WorkerCarrier
	boot   string
	seq    atomic.Int64
	ids    *ulid.Source
	order  wire.Order
	bodies [][]byte // encoded batches
	sealed chan int64
}

// newSender joins a hub as a worker with an invitation.
func newSender(ctx context.Context, text string) (s *sender, err error) {
	token, err := wire.ParseToken(text)
	if err != nil {
		return nil, err
	}
	invited, err := wire.ParseKey(token.Seed)
	if err != nil {
		return nil, err
	}
	key, err := wire.NewKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	s = &sender{boot: "joining", ids: ulid.NewSource(clock.System().Now), sealed: make(chan int64, 1<<12)}
	s.link = wire.WorkerLink{HubID: token.Hub, WorkerID: token.Worker, URLs: token.URLs, Fingerprint: token.Fingerprint, HubKey: token.HubKey, Key: invited}
	if s.c, err = carrier.ConnectWorker(ctx, s.link); err != nil {
		return nil, err
	}
	first, err := tellHub[wire.JoinReply](ctx, s, wire.AskJoin, &wire.Join{Stamp: s.stamp()})
	if err == nil {
		_, err = tellHub[wire.JoinReply](ctx, s, wire.AskJoin, &wire.Join{
			Stamp: s.stamp(), PublicKey: key.Public(), Nonce: first.Nonce, Instance: "bench",
			Signature: base64.RawURLEncoding.EncodeToString(key.Raw(wire.JoinText(token.Hub, token.Worker, first.Nonce, key.Public()))),
		})
	}
	s.c.Close()
	if err != nil {
		return nil, err
	}
	s.link.Key, s.boot, s.link.Tell = key, "1", s.told
	if s.c, err = carrier.ConnectWorker(ctx, s.link); err != nil {
		return nil, err
	}
	speaks := wire.Speaks()
	_, err = tellHub[wire.HelloReply](ctx, s, wire.AskHello, &wire.Hello{
		Stamp: s.stamp(), Protocol: speaks.Protocol, Orders: speaks.Orders, Version: "bench", Instance: "bench", OS: "linux", Arch: "any", CPUs: 1, Slots: 1, NowMS: clock.System().Now().UnixMilli(),
	})
	return s, err
}

func (s *sender) stamp() wire.Stamp { return wire.Stamp{Boot: s.boot, Seq: s.seq.Add(1)} }

// told receives the hub's reports of sealed drafts.
func (s *sender) told(_ context.Context, _, verb string, body []byte) []byte {
	var said wire.Sealed
	if verb == wire.TellSealed && json.Unmarshal(body, &said) == nil {
		for _, n := range said.Sealed {
			s.sealed <- n
		}
	}
	return nil
}

// tellHub sends a request to the hub and returns its answer.
func tellHub[R any](ctx context.Context, s *sender, verb string, body any) (reply R, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return reply, err
	}
	answer, err := s.c.Ask(ctx, verb, text)
	if err != nil {
		return reply, err
	}
	var refusal wire.Reply
	return reply, errors.Join(json.Unmarshal(answer, &reply), json.Unmarshal(answer, &refusal), refusal.Err())
}

// take receives the order of a session, claims it, and prepares the batches to send.
func (s *sender) take(ctx context.Context) error {
	message, err := s.c.NextOrder(ctx)
	if err == nil {
		err = errors.Join(json.Unmarshal(message.Body, &s.order), message.Ack(ctx))
	}
	if err != nil {
		return err
	}
	claim := wire.Claim{Stamp: s.stamp(), Attempt: s.order.Attempt, Epoch: s.order.Epoch, Instance: "bench"}
	reply, err := tellHub[wire.ClaimReply](ctx, s, wire.AskClaim, &claim)
	if err == nil && reply.Answer != wire.Granted {
		err = fmt.Errorf("the claim was %s", reply.Answer)
	}
	for first := int64(1); err == nil && first <= draftsEach; first += wire.MaxBatchDrafts {
		b := wire.Batch{Attempt: s.order.Attempt, First: first, Generation: 1}
		if first == 1 {
			b.Spec, b.Record = &doc.Spec{Kind: "command", Argv: []string{"true"}}, &wire.Record{PID: new(1)}
		}
		for n := first; n <= draftsEach && len(b.Drafts) < wire.MaxBatchDrafts; n++ {
			b.Drafts = append(b.Drafts, s.draft())
		}
		var body []byte
		body, err = json.Marshal(b)
		s.bodies = append(s.bodies, body)
	}
	return err
}

// draft returns an event of draftBytes.
func (s *sender) draft() wire.Draft {
	d := wire.Draft{ID: s.ids.New("evt"), At: clock.Stamp(clock.System().Now()), Mono: 1, Actor: "system", Vis: "team", Type: "provider.raw"}
	d.Payload = json.RawMessage(`{"chunk":"","stream":"stdout"}`)
	text, err := json.Marshal(d)
	if missing := draftBytes - len(text); err == nil && missing > 0 {
		d.Payload = json.RawMessage(`{"chunk":"` + strings.Repeat("x", missing) + `","stream":"stdout"}`)
	}
	return d
}

// send sends all drafts batch by batch, with as many in flight as a worker has, and waits until all
// are durable.
func (s *sender) send(ctx context.Context) error {
	var sending []func(context.Context) error
	for i, body := range s.bodies {
		if len(sending) == wire.MaxSending {
			if err := sending[0](ctx); err != nil {
				return err
			}
			sending = sending[1:]
		}
		first := int64(i)*wire.MaxBatchDrafts + 1
		stored, err := s.c.Publish(ctx, s.order.Attempt, wire.MessageID(s.order.Attempt, first, wire.MaxBatchDrafts, 1), body)
		if err != nil {
			return err
		}
		sending = append(sending, stored)
	}
	for {
		select {
		case n := <-s.sealed:
			if n == draftsEach {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// end ends the session.
func (s *sender) end(ctx context.Context) error {
	end := wire.End{Attempt: s.order.Attempt, End: true, N: draftsEach, Status: doc.StatusEnded, ExitCode: new(int)}
	body, err := json.Marshal(end)
	if err != nil {
		return err
	}
	stored, err := s.c.Publish(ctx, s.order.Attempt, s.order.Attempt+".end", body)
	if err != nil {
		return err
	}
	return stored(ctx)
}

// measureDrafts has two workers send drafts as fast as they can.
func measureDrafts(ctx context.Context, b *bench) (found []figure, err error) {
	f, err := b.startFleet(ctx, "drafts", 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	senders, runs := make([]*sender, 2), make([]string, 2)
	for i := range senders {
		token, err := f.invite(workerName(i))
		if err != nil {
			return nil, err
		}
		if senders[i], err = newSender(ctx, token); err != nil {
			return nil, err
		}
		defer senders[i].c.Close()
		if err := f.server.begin(f, workerName(i), []string{"true"}, &runs[i]); err != nil {
			return nil, err
		}
		if err := senders[i].take(ctx); err != nil {
			return nil, err
		}
	}
	bare, err := f.bareBatches()
	if err != nil {
		return nil, err
	}
	peak := watchPeak(f.hub.cmd.Process.Pid)
	began := time.Now()
	errs := make([]error, len(senders))
	var sending sync.WaitGroup
	for i, s := range senders {
		sending.Go(func() { errs[i] = s.send(ctx) })
	}
	sending.Wait()
	took, highest := time.Since(began), peak()
	for i, s := range senders {
		if errs[i] == nil {
			errs[i] = s.end(ctx)
		}
		if errs[i] == nil {
			errs[i] = f.server.call("session.collect", map[string]any{"workspace_dir": f.dir, "session_ref": session.LocalRef(runs[i])}, nil)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	limit := rate(wire.MaxBatchDrafts, bare.median())
	return []figure{{
		Name: fmt.Sprintf("drafts of %d B sealed, of 2 workers", draftBytes), Unit: "/s", Seen: rate(len(senders)*draftsEach, took), Target: max(20_000, limit/5), AtLeast: true,
		Limit: limit, By: "write + fdatasync of 256 such", Note: fmt.Sprintf("%d drafts; the senders share the processors; bare %s", len(senders)*draftsEach, bare.spread()),
	}, {Name: "hub's peak meanwhile", Unit: "MB", Seen: highest, Note: "VmHWM"}}, nil
}

// bareBatches times writing and syncing as many bytes as a batch has.
func (f *fleet) bareBatches() (all samples, err error) {
	root, err := durable.OpenRoot(f.b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := rawLog(root, filepath.Base(f.dir)+".bare")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	batch := []byte(strings.Repeat("x", wire.MaxBatchDrafts*draftBytes))
	return repeat(300, func() error { return writeAndSync(file, batch) })
}
