package hub

// The ingester. One goroutine receives drafts, appends them to the logs, makes them durable, and
// reports them as sealed.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/durable"
	"ac/workspace/doc"
)

// maxRound is how many messages may be made durable together.
const maxRound = 256

// ingest handles drafts until the carrier is closed.
func (h *Hub) ingest() {
	drafts := h.carrier.Drafts()
	for d := range drafts {
		round := []carrier.Draft{d}
		for full := false; !full && len(round) < maxRound; {
			select {
			case more, ok := <-drafts:
				if full = !ok; ok {
					round = append(round, more)
				}
			default:
				full = true
			}
		}
		h.seal(h.ctx, round)
	}
}

// pendingMessage is a message whose drafts are written but not durable yet.
type pendingMessage struct {
	message carrier.Draft
	end     *fleet.End
}

// seal writes a round of messages, and then syncs each log once.
func (h *Hub) seal(ctx context.Context, round []carrier.Draft) {
	touched, order := map[*launch][]pendingMessage{}, []*launch{}
	for _, message := range round {
		l, end, verdict := h.acceptMessage(ctx, message)
		switch verdict {
		case verdictDrop:
			message.Ack()
		case verdictRedeliver:
			message.Later()
		case verdictAwaitSync:
			if touched[l] == nil {
				order = append(order, l)
			}
			touched[l] = append(touched[l], pendingMessage{message, end})
		}
	}
	errs := durable.Parallel(len(order), func(i int) error { return order[i].log.Sync() })
	sealed := map[string]map[string]int64{}
	for i, l := range order {
		h.ackSynced(l, touched[l], errs[i], sealed)
	}
	for worker, numbers := range sealed {
		h.notify(worker, fleet.TellSealed, fleet.Sealed{Sealed: numbers})
	}
}

// verdict is what to do with a message.
type verdict int

const (
	verdictDrop      verdict = iota // acknowledge it; it is not needed
	verdictRedeliver                // have it redelivered
	verdictAwaitSync                // acknowledge it once it is durable
)

// acceptMessage checks a message and writes its new drafts.
func (h *Hub) acceptMessage(ctx context.Context, message carrier.Draft) (*launch, *fleet.End, verdict) {
	h.mu.Lock()
	var key string
	var offset int64
	var foreign bool
	if w := h.workers[message.Worker]; w != nil && w.record.State != fleet.WorkerRevoked {
		key, offset, foreign = w.record.PublicKey, w.offset, w.versionErr != nil
	}
	h.mu.Unlock()
	genuine := fleet.Verify(key, message.Subject, message.Body, message.Signature) // an empty key verifies nothing
	if genuine && foreign {                                                        // another version; the worker resends it to a hub that knows it
		return nil, nil, verdictDrop
	}
	if !genuine {
		h.refused.Add(1)
		return nil, nil, verdictDrop
	}
	batch, ended, err := fleet.ParseBatch(message.Body)
	if err != nil || batch.Attempt != message.Attempt {
		h.refused.Add(1)
		return nil, nil, verdictDrop
	}
	l := h.byAttempt(message.Worker, message.Attempt)
	if l == nil {
		h.handleLate(ctx, message)
		return nil, nil, verdictDrop
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.record.FencedFor != "":
		h.storeLate(ctx, l.record, l.record.FencedFor, message, l.evidence)
		return nil, nil, verdictDrop
	case l.over || l.ending && l.record.State == fleet.AttemptOver:
		return nil, nil, verdictDrop // the end has arrived, and so has everything before it
	case l.id() != message.Attempt || l.ending:
		h.handleLate(ctx, message)
		return nil, nil, verdictDrop
	case l.record.State == fleet.AttemptPlaced:
		h.storeLate(ctx, l.record, "not_claimed", message, l.evidence)
		return nil, nil, verdictDrop
	}
	if ended {
		end := &fleet.End{}
		if json.Unmarshal(message.Body, end) != nil {
			h.refused.Add(1)
			return nil, nil, verdictDrop
		}
		return l, end, verdictAwaitSync
	}
	if batch.First < 1 || len(batch.Drafts) > fleet.MaxBatchDrafts {
		h.refused.Add(1)
		return nil, nil, verdictDrop
	}
	return l, nil, l.writeBatch(ctx, batch, offset)
}

// writeBatch writes the new drafts of a batch. The caller must hold the launch's lock.
func (l *launch) writeBatch(ctx context.Context, batch fleet.Batch, offset int64) verdict {
	from, gap := l.sealing.firstNew(batch.First, len(batch.Drafts))
	if gap {
		l.h.notify(l.at.worker, fleet.TellResend, fleet.Resend{Attempt: l.id(), From: l.sealing.written + 1})
		return verdictRedeliver
	}
	if err := l.applyUpdate(ctx, batch); err != nil {
		l.h.setFault(err)
		return verdictRedeliver
	}
	var drafts []events.Draft
	numbers := []int64{} // of the drafts
	var found []string   // ids that the log already contains
	next := l.sealing.written
	for _, d := range batch.Drafts[from:] {
		next++
		if l.sealing.consumeFound(d.ID) {
			found = append(found, d.ID)
			continue
		}
		if d.Object != "" {
			payload, err := l.h.payloadOf(ctx, l.at.worker, d.Object)
			if err != nil {
				l.h.setFault(err)
				l.forgetIDs(drafts)
				l.sealing.remember(found)
				return verdictRedeliver
			}
			d.Payload = payload
		}
		draft, why := l.convertDraft(d, offset)
		if why != "" {
			l.refuse(ctx, next, d, why)
			continue
		}
		drafts, numbers = append(drafts, draft), append(numbers, next)
	}
	if err := l.write(ctx, drafts, numbers); err != nil {
		l.h.setFault(err)
		l.sealing.remember(found)
		return verdictRedeliver
	}
	l.sealing.written = next
	for _, draft := range drafts {
		l.remote.HandleEvent(draft.Type, draft.Payload)
	}
	return verdictAwaitSync
}

// write appends drafts to the log. After a failure, the drafts written before it count.
func (l *launch) write(ctx context.Context, drafts []events.Draft, numbers []int64) error {
	if len(drafts) == 0 {
		return nil
	}
	err := l.log.Write(ctx, drafts...)
	if err == nil {
		return nil
	}
	written := 0
	if partial, ok := errors.AsType[*events.PartialError](err); ok {
		written = partial.Written
	}
	if written > 0 {
		l.sealing.written = numbers[written-1]
	}
	l.forgetIDs(drafts[written:])
	return err
}

// forgetIDs forgets the ids of drafts that will be redelivered.
func (l *launch) forgetIDs(drafts []events.Draft) {
	for _, d := range drafts {
		delete(l.sealing.newest.ids, d.ID)
	}
}

// payloadOf reads a draft's payload from an object. It returns nil for an invalid object.
func (h *Hub) payloadOf(ctx context.Context, worker, name string) (json.RawMessage, error) {
	if !fleet.IsObject(name) {
		return nil, nil // the draft is refused for its missing payload
	}
	var text bounded
	if err := h.carrier.Get(ctx, worker, name, &text); err != nil {
		if errors.Is(err, errTooLong) {
			return nil, nil
		}
		return nil, err
	}
	if sum := sha256.Sum256(text.Bytes()); fleet.ObjectName(fleet.ObjectDraft, hex.EncodeToString(sum[:])) != name {
		return nil, nil
	}
	return text.Bytes(), nil
}

// bounded is a buffer for the payload of one draft.
type bounded struct{ bytes.Buffer }

var errTooLong = errors.New("the payload is too long")

func (b *bounded) Write(text []byte) (int, error) {
	if b.Len()+len(text) > fleet.MaxPayload {
		return 0, errTooLong
	}
	return b.Buffer.Write(text)
}

// applyUpdate applies the spec and the record update of a batch. The caller must hold the launch's
// lock.
func (l *launch) applyUpdate(ctx context.Context, batch fleet.Batch) error {
	pid := batch.Record != nil && batch.Record.PID != nil
	if l.record.State == fleet.AttemptClaimed && (batch.Spec != nil || pid) {
		if err := l.set(func(r *fleet.AttemptRecord) { r.State = fleet.AttemptStarted }); err != nil {
			return err
		}
		l.h.countStart(l.at.worker, true)
	}
	if batch.Spec != nil {
		if err := l.remote.Begin(ctx, l.specOf(*batch.Spec), l.base); err != nil {
			return err
		}
	}
	if r := batch.Record; r != nil {
		l.remote.Amend(pid, func(record *doc.Session) {
			if r.PID != nil && *r.PID > 0 {
				record.PID = r.PID
			}
			record.ThreadID, record.TurnID = cmp.Or(r.ThreadID, record.ThreadID), cmp.Or(r.TurnID, record.TurnID)
			record.Activity, record.Turn = cmp.Or(r.Activity, record.Activity), max(r.Turn, record.Turn)
		})
	}
	if pid {
		l.markReady()
	}
	return nil
}

// specOf returns the executed spec for the run's record. The worker reports the command and the
// prompt; the rest comes from the order.
func (l *launch) specOf(said doc.Spec) *doc.Spec {
	o := l.order
	spec := doc.Spec{
		Kind: said.Kind, Argv: said.Argv, Model: said.Model, PromptRelpath: said.PromptRelpath, StdinRelpath: said.StdinRelpath, Env: said.Env,
		RepoID: o.RepoID, WorkdirRel: o.WorkdirRel, TaskID: o.TaskID, MilestoneID: o.MilestoneID, Budget: o.Budget,
	}
	if o.RepoID != "" {
		if location, err := l.location(); err == nil {
			spec.WorktreeBranch = location.Branch
		}
	}
	return &spec
}

// checkpointEvery is the minimum time between two checkpoints of an attempt.
const checkpointEvery = time.Second

// ackSynced acknowledges the messages of a launch after its log was synced, or requests redelivery
// if that failed.
func (h *Hub) ackSynced(l *launch, messages []pendingMessage, syncErr error, sealed map[string]map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if syncErr != nil {
		h.setFault(syncErr)
		// Read the log back from disk before reporting anything as sealed.
		if err := l.recover(); err != nil {
			h.setFault(err)
		}
		for _, m := range messages {
			m.message.Later()
		}
		return
	}
	l.sealing.sealed = l.sealing.written
	for n, number := range l.waiters {
		if number <= l.sealing.sealed {
			close(n)
			delete(l.waiters, n)
		}
	}
	if now := h.o.Elapsed(); now-l.checkpointedAt >= checkpointEvery {
		l.checkpointedAt = now
		l.checkpoint()
	}
	if sealed[l.at.worker] == nil {
		sealed[l.at.worker] = map[string]int64{}
	}
	sealed[l.at.worker][l.id()] = l.sealing.sealed
	for _, m := range messages {
		switch {
		case m.end == nil:
			m.message.Ack()
		case m.end.N > l.sealing.sealed:
			h.notify(l.at.worker, fleet.TellResend, fleet.Resend{Attempt: l.id(), From: l.sealing.sealed + 1})
			m.message.Later()
		case l.acceptEnd(m.message.Body) == nil:
			m.message.Ack()
		default:
			m.message.Later()
		}
	}
	h.setFault(nil)
}

// checkpoint records the current position in the log, best effort. The caller must hold the
// launch's lock.
func (l *launch) checkpoint() {
	offset, err := l.h.sizeOf(l.name)
	if err != nil {
		return
	}
	l.record.Checkpoint = l.sealing.checkpoint(l.record.Checkpoint, offset)
	l.record.Checkpoint.LastMS = l.last
	l.saveHint()
}

// sizeOf returns the size of a log, 0 if it is missing.
func (h *Hub) sizeOf(name string) (int64, error) {
	st, err := h.w.FS.Stat(name)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

// setFault records why the hub cannot seal. nil clears it.
func (h *Hub) setFault(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil && h.fault == nil {
		h.o.Log.Error("what workers report cannot be written", "error", err)
	}
	h.fault = err
}

// notify sends a worker a message that has no reply.
func (h *Hub) notify(worker, verb string, body any) {
	if text, err := json.Marshal(body); err == nil {
		h.carrier.Notify(worker, verb, text)
	}
}
