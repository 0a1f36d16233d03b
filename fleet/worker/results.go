package worker

// The end of an attempt: its results, its end message, and the cleanup after the hub has recorded
// the end.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/fleet/parcel"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

// close ships an ended attempt's remaining drafts, its results and its end, until the hub has
// recorded the end.
func (a *attempt) close(ctx context.Context) error {
	if a.isSettled() {
		return a.markSettled()
	}
	a.w.wake() // a slot is free
	if err := a.pack(ctx); err != nil {
		return err
	}
	if !a.state().Delivered {
		if err := a.uploadResults(ctx); err != nil {
			return err
		}
	}
	for pause := firstResend; ; pause = min(2*pause, maxResend) {
		if a.ship(ctx); a.state().Fenced {
			sent, _, _ := a.shipper.state()
			a.shipper.seal(sent) // fenced drafts are evidence: the hub never reports them sealed
		}
		a.shipper.overdue()
		if err := a.publishEnd(ctx); err != nil && !fault.Is(err, fleet.CarrierUnavailable) && !errors.Is(err, errUnconnected) {
			a.w.host.Log.Warn("an end cannot be shipped", "attempt", a.id, "error", err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-a.settled:
			timer.Stop()
			return a.markSettled()
		case <-a.wake: // drafts were sealed or requested again
			timer.Stop()
			pause = firstResend / 2
		case <-timer.C:
			if !a.state().Delivered {
				_ = a.uploadResults(ctx) // the carrier may have lost them; the next round retries
			}
		}
	}
}

func (a *attempt) markSettled() error {
	return a.change(func(r *record) {
		r.State, r.SettledAt, r.SettledUp = stateSettled, a.w.spool.Env.Clock.Now().UnixMilli(), a.w.host.Elapsed().Milliseconds()
	})
}

// publishEnd publishes the end after all drafts. It does nothing while some are unpublished.
func (a *attempt) publishEnd(ctx context.Context) error {
	newest, err := a.shipper.newest()
	if err != nil {
		return err
	}
	if sent, _, _ := a.shipper.state(); sent < newest {
		return nil
	}
	end, err := a.end(newest)
	if err != nil {
		return err
	}
	a.shipper.mu.Lock()
	a.shipper.generation++
	end.Generation = a.shipper.generation
	a.shipper.mu.Unlock()
	body, err := encode(end)
	if err != nil {
		return err
	}
	stored, err := a.publish(ctx, fleet.MessageID(a.id, newest+1, 0, end.Generation), body)
	if err != nil {
		return err
	}
	return stored(ctx)
}

// end builds the end from the spool.
func (a *attempt) end(newest int64) (fleet.End, error) {
	r, order := a.state(), a.ordered
	record, err := a.session()
	if err != nil {
		return fleet.End{}, err
	}
	run, err := runs.Load(a.w.spool, order.ProjectID, order.RunID)
	if err != nil {
		return fleet.End{}, err
	}
	end := fleet.End{
		Attempt: a.id, End: true, N: newest, Status: record.Status, ExitCode: record.ExitCode, Signal: record.Signal,
		Stopped: record.Status == doc.StatusStopped, Error: record.Error, ErrorKind: record.ErrorKind, RetryAfterMS: record.RetryAfterMS,
		Reason: record.Reason, Usage: run.Usage, ContextCycles: run.ContextCycles, Live: run.Live, Conversation: run.ProviderSessionID,
		Results: r.Results, Log: fleet.Log{Count: newest},
	}
	if r.Reason != "" {
		end.Reason = r.Reason
	}
	return end, a.addTerminalEvent(&end)
}

// addTerminalEvent adds the payload of the session's terminal event to its end. Without that event, the end
// has only what the record says.
func (a *attempt) addTerminalEvent(end *fleet.End) error {
	file, err := a.shipper.log()
	if err != nil {
		return err
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return err
	}
	base := min(a.state().Base, st.Size())
	return events.Backward(io.NewSectionReader(file, base, st.Size()-base), st.Size()-base, func(raw []byte) (more bool) {
		if !events.Terminal(events.Type(raw)) {
			return true
		}
		line, ok := readLine(raw)
		if !ok || line.Session != a.ordered.SessionRef {
			return true
		}
		var said struct {
			Stopped  bool `json:"stopped"`
			Orphaned bool `json:"orphaned"`
		}
		end.Last, end.Log.Head = bytes.Clone(line.Payload), events.Text(raw, "event_hash")
		if json.Unmarshal(line.Payload, &said) == nil {
			end.Stopped, end.Orphaned = said.Stopped, said.Orphaned
		}
		return false
	})
}

// parcelFile returns the file of a result in transfer.
func (a *attempt) parcelFile(kind string) string { return path.Join(parcelsDir, a.id+"."+kind) }

// pack packs the results of the session, once.
func (a *attempt) pack(ctx context.Context) error {
	if a.state().Packed {
		return nil
	}
	results := &fleet.Results{}
	err := a.packOutputs(ctx, results)
	if err == nil && a.ordered.Repo != nil {
		err = a.packWorktree(ctx, results)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		results.Error = err.Error()
	}
	return a.change(func(r *record) { r.Results, r.Packed = results, true })
}

// packOutputs archives the session's outputs, and the files of the working directory that the
// order requests.
func (a *attempt) packOutputs(ctx context.Context, results *fleet.Results) (err error) {
	order := a.ordered
	secrets, err := a.secrets(ctx)
	if err != nil {
		return err // without secrets nothing can be masked
	}
	skip := func(name string) bool { return name == "late" || name == "stop_requested.flag" }
	sources := []parcel.Source{{FS: a.w.spool.FS, Dir: workspace.RunDir(order.ProjectID, order.RunID) + "/outputs", Skip: skip}}
	if len(order.Outputs) > 0 {
		dir, err := a.workingDir()
		if err != nil {
			return err
		}
		root, err := a.w.folder.env.FS(dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, root.Close()) }()
		sources = append(sources, parcel.Source{FS: root, Dir: ".", Globs: order.Outputs, Skip: func(name string) bool { return name == ".git" || skip(name) }})
	}
	limits := parcel.DefaultLimits()
	limits.Bytes = a.w.currentSettings().ResultsMaxBytes
	object, err := a.write(fleet.ObjectOutputs, func(to *os.File) (parcel.Digest, error) {
		meter := parcel.NewMeter(to)
		_, err := parcel.Pack(ctx, meter, sources, limits, a.masks(secrets))
		return meter.Digest(), err
	})
	if err == nil {
		results.Outputs = &object
	}
	return err
}

// write writes a parcel with fill and names it by the digest that fill returns.
func (a *attempt) write(kind string, fill func(to *os.File) (parcel.Digest, error)) (o fleet.Object, err error) {
	name := a.parcelFile(kind)
	if err := a.w.folder.fs.Remove(name); err != nil && !durable.IsAbsent(err) {
		return o, err
	}
	file, err := os.OpenFile(a.w.folder.path(filepath.FromSlash(name)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	digest, err := fill(file)
	if err != nil {
		return o, err
	}
	return fleet.Object{Name: fleet.ObjectName(kind, digest.SHA256), Size: digest.Size}, errors.Join(err, file.Sync())
}

// workingDir returns the session's working directory.
func (a *attempt) workingDir() (string, error) {
	order := a.ordered
	if order.Repo == nil {
		return a.w.folder.path(workDir, a.id, "files"), nil
	}
	run, err := runs.Load(a.w.spool, order.ProjectID, order.RunID)
	if err != nil {
		return "", err
	}
	tree, err := worktree.Find(a.w.spool, run)
	if err == nil && tree == "" {
		err = fault.New(fault.NotFound, "the session has no worktree")
	}
	if err != nil {
		return "", err
	}
	return worktree.Confine(tree, order.Repo.WorkdirRel)
}

// packWorktree bundles the branch and the uncommitted changes.
func (a *attempt) packWorktree(ctx context.Context, results *fleet.Results) error {
	order := a.ordered
	run, err := runs.Load(a.w.spool, order.ProjectID, order.RunID)
	if err != nil {
		return err
	}
	tree, err := worktree.Find(a.w.spool, run)
	if err != nil || tree == "" {
		return err // the worktree was never created
	}
	_, _, branch := run.Tree()
	left := fleet.Worktree{Branch: branch, BaseSHA: order.Repo.Commit}
	reader, err := worktree.NewReader(ctx, a.w.host.Environ, tree)
	if err != nil {
		return err
	}
	if left.HeadSHA, err = reader.Line(ctx, "rev-parse", "--verify", "--end-of-options", "refs/heads/"+branch+"^{commit}"); err != nil {
		return fmt.Errorf("the branch %s is gone: %w", branch, err)
	}
	heads := []parcel.Head{{Ref: "refs/heads/" + branch, Commit: left.HeadSHA}}
	state, err := worktree.ReadState(ctx, a.w.host.Environ, tree)
	if err != nil && !errors.Is(err, worktree.ErrTooLong) {
		return err
	}
	if state.Dirty || err != nil || state.HeadSHA != left.HeadSHA {
		if left.WipSHA, err = worktree.Snapshot(ctx, a.w.spool, a.w.host.Environ, tree); err != nil {
			return err
		}
		heads = append(heads, parcel.Head{Ref: "refs/ac/wip/" + order.RunID, Commit: left.WipSHA})
	}
	left.Object, err = a.write(fleet.ObjectWorktree, func(to *os.File) (d parcel.Digest, err error) {
		err = parcel.WriteBundle(ctx, a.w.host.Environ, a.w.mirrors.Path(order.Repo.ID), heads, []string{order.Repo.Commit}, to)
		if err == nil {
			_, err = to.Seek(0, io.SeekStart)
		}
		if err != nil {
			return d, err
		}
		return parcel.Measure(to)
	})
	if err == nil {
		results.Worktree = &left
	}
	return err
}

// objects returns the results that are objects, by kind.
func (a *attempt) objects() map[string]fleet.Object {
	found, results := map[string]fleet.Object{}, a.state().Results
	if results == nil {
		return found
	}
	if results.Outputs != nil {
		found[fleet.ObjectOutputs] = *results.Outputs
	}
	if results.Worktree != nil {
		found[fleet.ObjectWorktree] = results.Worktree.Object
	}
	return found
}

// uploadResults stores the results in the carrier for the hub.
func (a *attempt) uploadResults(ctx context.Context) error {
	carrier := a.w.connection()
	if carrier == nil {
		return errUnconnected
	}
	for kind, object := range a.objects() {
		if there, err := carrier.Has(ctx, object.Name); err != nil || there {
			if err != nil {
				return err
			}
			continue
		}
		file, err := os.Open(a.w.folder.path(filepath.FromSlash(a.parcelFile(kind))))
		if err != nil {
			return err
		}
		if err := errors.Join(carrier.Put(ctx, object.Name, file), file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// deliver waits until the hub has collected a settled attempt's results, and then removes them.
// After the retention time it removes everything of the attempt, even uncollected results.
func (a *attempt) deliver(ctx context.Context) error {
	for pause := firstResend; !a.state().Delivered; pause = min(2*pause, maxResend) {
		taken, err := a.deleteCollected(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case taken:
			for kind := range a.objects() {
				if err := a.w.folder.fs.Remove(a.parcelFile(kind)); err != nil && !durable.IsAbsent(err) {
					return err
				}
			}
			if err := a.change(func(r *record) { r.Delivered = true }); err != nil {
				return err
			}
		case a.expired():
			return a.remove(ctx)
		case err == nil && pause > maxResend/2:
			_ = a.uploadResults(ctx) // the carrier may have lost them
		}
		if !taken && !sleep(ctx, pause) {
			return context.Cause(ctx)
		}
	}
	for !a.expired() {
		if !sleep(ctx, time.Duration(min(a.w.currentSettings().KeepS, 60))*time.Second) {
			return context.Cause(ctx)
		}
	}
	return a.remove(ctx)
}

// deleteCollected reports whether the hub has stored all objects. It deletes those that the hub has
// stored.
func (a *attempt) deleteCollected(ctx context.Context) (bool, error) {
	all := true
	for _, object := range a.objects() {
		ask := fleet.ObjectAsk{Attempt: a.id, Name: object.Name}
		var reply fleet.ObjectReply
		if err := a.w.ask(ctx, fleet.AskObject, &ask.Stamp, &ask, &reply); err != nil {
			return false, err
		}
		if !reply.Taken {
			all = false
			continue
		}
		if err := a.w.connection().Delete(ctx, object.Name); err != nil {
			return false, err
		}
	}
	return all, nil
}

// expired reports whether a settled attempt's retention time is over. It uses the wall clock only
// if the machine was restarted since: somebody may set that clock, and data removed too early is
// lost.
func (a *attempt) expired() bool {
	r := a.state()
	kept := a.w.host.Elapsed().Milliseconds() - r.SettledUp
	if kept < 0 || r.SettledUp == 0 {
		kept = a.w.spool.Env.Clock.Now().UnixMilli() - r.SettledAt
	}
	return kept >= a.w.currentSettings().KeepS*1000
}

// remove removes everything of a settled attempt, and the run with its last attempt.
func (a *attempt) remove(ctx context.Context) error {
	order := a.ordered
	for kind := range a.objects() {
		if err := a.w.folder.fs.Remove(a.parcelFile(kind)); err != nil && !durable.IsAbsent(err) {
			return err
		}
	}
	if err := a.w.folder.fs.RemoveAll(path.Join(workDir, a.id)); err != nil {
		return err
	}
	for _, name := range []string{workspace.SessionFile(order.SessionRef), permit(a.id)} {
		if err := a.w.spool.FS.Remove(name); err != nil && !durable.IsAbsent(err) {
			return err
		}
	}
	if !a.w.sharesRun(a) && !session.RunAlive(a.w.spool, order.ProjectID, order.RunID) {
		if err := a.removeRun(ctx); err != nil {
			return err
		}
	}
	if err := a.unrecord(); err != nil {
		return err
	}
	a.w.forget(a)
	return nil
}

func (a *attempt) removeRun(ctx context.Context) error {
	order, w := a.ordered, a.w.spool
	if run, err := runs.Load(w, order.ProjectID, order.RunID); err == nil && order.Repo != nil {
		if _, rel, branch := run.Tree(); rel != "" {
			if err := worktree.Forget(ctx, w, a.w.host.Environ, a.w.mirrors.Path(order.Repo.ID), worktree.Location{Rel: rel, Branch: branch}); err != nil {
				return err
			}
		}
	}
	return w.FS.RemoveAll(workspace.RunDir(order.ProjectID, order.RunID))
}
