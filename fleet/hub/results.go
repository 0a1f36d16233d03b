package hub

// Results. Files that a provider left on the worker are unpacked beside the run. Its commits are
// fetched into the repository.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/parcel"
	"ac/internal/fault"
	"ac/runs/worktree"
	"ac/workspace"
)

type resultsPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	Branch   string `json:"branch,omitempty"`
	BaseSHA  string `json:"base_sha,omitempty"`
	HeadSHA  string `json:"head_sha,omitempty"`
	WipSHA   string `json:"wip_sha,omitempty"`
	Commits  int    `json:"commits"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Skipped  int    `json:"skipped"`
}

type resultsFailedPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	What     string `json:"what"`
	Error    string `json:"error"`
}

// resultsRetry is the pause before requesting a missing parcel again.
const resultsRetry = time.Second

// takeResults collects the results of a session and returns the events about them. The caller
// must record these together with the end of the session. If the hub dies before, the next hub
// collects the results again, and still records the events once. A result that does not arrive in
// time or is refused fails the results, not the run.
func (h *Hub) takeResults(ctx context.Context, l *launch, r fleet.Results) (told []events.Draft) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(h.settingsNow().ResultsWaitS)*time.Second)
	defer cancel()
	tell := func(kind string, payload any) {
		draft, err := l.draft(h.w.Events, kind, payload)
		if err != nil {
			h.setFault(err)
			return
		}
		told = append(told, draft)
	}
	payload := resultsPayload{WorkerID: l.at.worker, Epoch: l.at.epoch}
	failed := func(what string, err error) {
		tell(events.WorkerResultsFailed, resultsFailedPayload{l.at.worker, l.at.epoch, what, err.Error()})
	}
	if r.Error != "" {
		failed("worker", errors.New(r.Error))
	}
	var missing fleet.Results
	if r.Outputs != nil {
		err := h.parcel(ctx, l, *r.Outputs, func(file *os.File) error { return h.unpack(l, file, &payload) })
		if errors.Is(err, errAwaited) {
			missing.Outputs = r.Outputs
		}
		if err != nil {
			failed("outputs", err)
		}
	}
	if w := r.Worktree; w != nil {
		err := h.parcel(ctx, l, w.Object, func(file *os.File) error { return h.fetch(ctx, l, file, &payload) })
		if errors.Is(err, errAwaited) {
			missing.Worktree = r.Worktree
		}
		if err != nil {
			failed("worktree", err)
		}
	}
	if r.Outputs != nil || r.Worktree != nil {
		tell(events.WorkerResults, payload)
	}
	if h.ctx.Err() != nil {
		return nil // the next hub collects them
	}
	if err := l.keepAwaited(missing); err != nil {
		h.setFault(err)
	}
	return told
}

// parcel waits for an object, verifies it, and calls use with the file.
func (h *Hub) parcel(ctx context.Context, l *launch, o fleet.Object, use func(*os.File) error) (err error) {
	if !fleet.IsObject(o.Name) || o.Size < 0 || o.Size > h.settingsNow().ResultsMaxBytes {
		return fault.New(fault.TooLarge, "the object %q has %d bytes", o.Name, o.Size)
	}
	_, digest, _ := strings.Cut(o.Name, "-")
	file, err := h.scratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	for {
		err := h.receive(ctx, l.at.worker, o.Name, parcel.Digest{SHA256: digest, Size: o.Size}, file)
		if err == nil {
			break
		}
		if errors.Is(err, parcel.ErrDamaged) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come in time; %w: %w", o.Name, errAwaited, err)
		case <-time.After(resultsRetry):
		}
	}
	return use(file)
}

// receive reads an object into a file and compares its digest and size.
func (h *Hub) receive(ctx context.Context, worker, name string, want parcel.Digest, file *os.File) error {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := file.Truncate(0); err != nil {
		return err
	}
	meter := parcel.NewMeter(file)
	if err := h.carrier.Get(ctx, worker, name, meter); err != nil {
		return err
	}
	if meter.Digest() != want {
		return parcel.ErrDamaged
	}
	_, err := file.Seek(0, io.SeekStart)
	return err
}

// unpack writes a session's files beside its run. It skips the files that the hub itself writes
// there.
func (h *Hub) unpack(l *launch, file *os.File, payload *resultsPayload) error {
	limits := parcel.DefaultLimits()
	limits.Bytes = h.settingsNow().ResultsMaxBytes
	dir := path.Join(workspace.RunDir(l.order.ProjectID, l.order.RunID), "outputs")
	got, err := parcel.Unpack(h.w.FS, dir, file, limits, func(name string) bool {
		return name == "late" || strings.HasPrefix(name, "late/") || name == "stop_requested.flag"
	})
	payload.Files, payload.Bytes, payload.Skipped = got.Files, got.Bytes, got.Skipped
	return err
}

// fetch fetches a session's branch and its uncommitted changes into the repository.
func (h *Hub) fetch(ctx context.Context, l *launch, file *os.File, payload *resultsPayload) error {
	location, err := l.location()
	if err != nil {
		return err
	}
	root, base, err := h.base(ctx, l)
	if err != nil {
		return err
	}
	branch, wip := "refs/heads/"+location.Branch, "refs/ac/wip/"+l.order.RunID
	taken, err := parcel.ImportBundle(ctx, h.o.Environ, root, file, []parcel.Want{
		{Ref: branch, To: []string{branch, fmt.Sprintf("%s-%d", branch, l.at.epoch)}},
		{Ref: wip, To: []string{wip}, Force: true},
	})
	if err != nil {
		return err
	}
	payload.BaseSHA = base
	for _, t := range taken {
		switch t.Want {
		case branch:
			payload.Branch, payload.HeadSHA = strings.TrimPrefix(t.Ref, "refs/heads/"), t.Commit
		case wip:
			payload.WipSHA = t.Commit
		}
	}
	if payload.HeadSHA != "" {
		payload.Commits, err = worktree.Distance(ctx, h.o.Environ, root, base, payload.HeadSHA)
	}
	return err
}

// objectTaken reports whether a worker may remove an object. It may once the end of the session
// is durably recorded and nothing waits for the object.
func (h *Hub) objectTaken(id string, p fleet.ObjectAsk) (reply fleet.ObjectReply, err error) {
	if !fleet.IsObject(p.Name) {
		return reply, fault.InvalidField("name", "is no object")
	}
	if h.byAttempt(id, p.Attempt) != nil {
		return reply, nil
	}
	return h.lateObject(id, p), nil
}
