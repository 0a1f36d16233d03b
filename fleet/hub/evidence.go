package hub

// Evidence: messages that arrive too late or must not enter a log are stored beside the run.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"

	"ac/events"
	"ac/fleet"
	"ac/fleet/carrier"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/runs/session"
	"ac/workspace"
)

// maxEvidence is the maximum size of the evidence of one attempt, in bytes.
const maxEvidence = 64 << 20

// evidenceCounts counts the evidence of one attempt.
type evidenceCounts struct {
	reported bool
	bytes    int64
	drafts   int64
}

type refusedPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	N        int64  `json:"n"`
	Type     string `json:"type"`
	Reason   string `json:"reason"`
}

type latePayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	Drafts   int64  `json:"drafts"`
	Relpath  string `json:"relpath"`
}

// evidenceLine is one line of the evidence file.
type evidenceLine struct {
	ReceivedAt string          `json:"received_at"`
	WorkerID   string          `json:"worker_id"`
	Attempt    string          `json:"attempt"`
	Reason     string          `json:"reason"`
	Batch      json.RawMessage `json:"batch"`
}

// lateDir returns the directory of a run's evidence.
func lateDir(r fleet.AttemptRecord) string {
	return path.Join(workspace.RunDir(r.ProjectID, r.RunID), "outputs", "late")
}

// refuse stores a draft that may not enter the log as evidence. Its number counts as sealed. The
// caller must hold the launch's lock.
func (l *launch) refuse(ctx context.Context, n int64, d fleet.Draft, why string) {
	text, err := json.Marshal(d)
	if err == nil {
		err = l.h.appendEvidence(l.record, evidenceLine{WorkerID: l.at.worker, Attempt: l.id(), Reason: why, Batch: text}, l.evidence)
	}
	if !l.refused {
		l.refused = true
		err = errors.Join(err, l.appendEvent(ctx, events.WorkerDraftRefused, refusedPayload{l.at.worker, l.at.epoch, n, clip(d.Type), why}))
	}
	if err != nil {
		l.h.o.Log.Warn("a refused draft could not be kept", "run", l.order.RunID, "error", err)
	}
}

func clip(kind string) string { return kind[:min(len(kind), maxKind)] }

// handleLate handles a message of an attempt that is unknown, fenced or not the newest. It stores the
// message as evidence if the attempt is known. It drops repeats of a finished attempt.
func (h *Hub) handleLate(ctx context.Context, message carrier.Draft) {
	h.mu.Lock()
	r := h.past[message.Attempt]
	if r == nil || r.WorkerID != message.Worker {
		h.mu.Unlock()
		return // of an unknown run
	}
	if r.State == fleet.AttemptDone {
		h.mu.Unlock()
		h.notify(message.Worker, fleet.TellSealed, fleet.Sealed{Settled: []string{message.Attempt}})
		return
	}
	record := *r
	kept := h.evidenceOf[message.Attempt]
	if kept == nil {
		kept = &evidenceCounts{}
		h.evidenceOf[message.Attempt] = kept
	}
	h.mu.Unlock()
	h.storeLate(ctx, record, cmp.Or(record.FencedFor, "fenced"), message, kept)
}

// storeLate stores a message as evidence. It records an event for the first message and for the
// end.
func (h *Hub) storeLate(ctx context.Context, r fleet.AttemptRecord, reason string, message carrier.Draft, late *evidenceCounts) {
	var head struct {
		End    bool              `json:"end"`
		Drafts []json.RawMessage `json:"drafts"`
	}
	if json.Unmarshal(message.Body, &head) != nil {
		return
	}
	late.drafts += int64(len(head.Drafts))
	if err := h.appendEvidence(r, evidenceLine{WorkerID: message.Worker, Attempt: message.Attempt, Reason: reason, Batch: message.Body}, late); err != nil {
		h.o.Log.Warn("late drafts could not be kept", "run", r.RunID, "error", err)
		return
	}
	if late.reported && !head.End {
		return
	}
	late.reported = true
	l := &launch{h: h, name: workspace.LogFile(r.ProjectID, r.RunID), order: session.Order{RunID: r.RunID, SessionRef: r.SessionRef}}
	payload := latePayload{r.WorkerID, r.Epoch, late.drafts, path.Join("runs", r.RunID, "outputs", "late", lateName(r))}
	if err := l.appendEvent(ctx, events.WorkerLateEvidence, payload); err != nil {
		h.o.Log.Warn("late drafts could not be told", "run", r.RunID, "error", err)
	}
}

func lateName(r fleet.AttemptRecord) string { return fmt.Sprintf("%s-%d.jsonl", r.WorkerID, r.Epoch) }

// appendEvidence appends a line to the evidence of an attempt. It is durable on return.
func (h *Hub) appendEvidence(r fleet.AttemptRecord, line evidenceLine, late *evidenceCounts) (err error) {
	line.ReceivedAt = clock.Stamp(h.w.Env.Clock.Now())
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if late.bytes += int64(len(text)) + 1; late.bytes > maxEvidence {
		return nil // only counted
	}
	if err := durable.MkdirAll(h.w.FS, lateDir(r), 0o755); err != nil {
		return err
	}
	file, err := h.w.FS.OpenFile(path.Join(lateDir(r), lateName(r)), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := durable.WriteAll(file, append(text, '\n')); err != nil {
		return err
	}
	return file.SyncData()
}
