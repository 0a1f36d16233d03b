package hub

// Orders: building, storing and publishing them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ac/events"
	"ac/fleet"
	"ac/fleet/parcel"
	"ac/fleet/placement"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

type placedPayload struct {
	WorkerID   string   `json:"worker_id"`
	WorkerName string   `json:"worker_name"`
	Epoch      int      `json:"epoch"`
	Labels     []string `json:"labels"`
	WaitedMS   int64    `json:"waited_ms"`
}

type withdrawnPayload struct {
	WorkerID string `json:"worker_id"`
	Epoch    int    `json:"epoch"`
	Reason   string `json:"reason"`
}

// Reasons for withdrawing an attempt.
const (
	withdrawnNotClaimed   = "not_claimed"
	withdrawnNeverStarted = "never_started"
	withdrawnRefused      = "start_refused"
)

// draft returns an event of the hub about a launch.
func (l *launch) draft(source events.Source, kind string, payload any) (events.Draft, error) {
	return source.Draft(events.Draft{
		RunID: l.order.RunID, SessionRef: l.order.SessionRef, Actor: events.ActorSystem, Visibility: events.VisibilityOrg, Type: kind,
	}, payload)
}

// appendEvent appends an event of the hub about a launch. It is durable on return.
func (l *launch) appendEvent(ctx context.Context, kind string, payload any) error {
	draft, err := l.draft(l.h.w.Events, kind, payload)
	if err != nil {
		return err
	}
	return l.h.w.Append(ctx, l.name, draft)
}

func (l *launch) placedEvents(source events.Source, began int64) ([]events.Draft, error) {
	labels := l.placement.Labels
	if labels == nil {
		labels = []string{}
	}
	d, err := l.draft(source, events.WorkerPlaced, placedPayload{l.at.worker, l.at.name, l.at.epoch, labels, l.h.now() - began})
	return []events.Draft{d}, err
}

// send builds the order of a launch and publishes it. If the order cannot be built, the session
// fails. If publishing fails, a later tick retries until the order is withdrawn. Concurrent calls
// wait for each other.
func (h *Hub) send(l *launch) {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	attempt, made := l.id(), l.body != nil
	due := l.record.State == fleet.AttemptPlaced && !l.sent && l.live()
	l.mu.Unlock()
	if !due {
		return
	}
	if !made {
		body, err := h.orderOf(h.ctx, l)
		if err != nil {
			h.unordered(l, attempt, err)
			return
		}
		l.mu.Lock()
		if l.id() == attempt {
			l.body = body
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	body, worker := l.body, l.at.worker
	due = l.id() == attempt && l.record.State == fleet.AttemptPlaced && l.live()
	l.mu.Unlock()
	if !due {
		return
	}
	if err := h.carrier.PublishOrder(h.ctx, worker, attempt, body); err != nil {
		if h.ctx.Err() == nil {
			h.o.Log.Warn("the order cannot be published", "run", l.order.RunID, "error", err)
		}
		return
	}
	l.mu.Lock()
	if l.id() == attempt {
		l.sent, l.since = true, h.o.Elapsed()
	}
	l.mu.Unlock()
}

// unordered ends a session whose order cannot be built, unless the attempt was withdrawn: another
// worker's order may succeed.
func (h *Hub) unordered(l *launch, attempt string, err error) {
	if h.ctx.Err() != nil {
		return
	}
	h.o.Log.Warn("the order cannot be made", "run", l.order.RunID, "error", err)
	l.mu.Lock()
	current := l.id() == attempt && !l.withdrawn
	l.mu.Unlock()
	if current {
		h.endUnstarted(l, err)
	}
}

// orderOf returns a launch's order, encoded for its worker. It first stores sources and files in
// the carrier.
func (h *Hub) orderOf(ctx context.Context, l *launch) ([]byte, error) {
	o := l.order
	h.mu.Lock()
	at := l.at
	w := h.workers[at.worker]
	settings := h.settings
	version := h.o.Speaks.Orders[1]
	if w != nil {
		version, _ = h.orderVersion(w)
	}
	var tips []string
	if w != nil && w.hello != nil {
		tips = w.hello.Repos[o.RepoID]
	}
	h.mu.Unlock()
	order := fleet.Order{
		Version: version, HubID: h.config.HubID, Attempt: at.attempt, Epoch: at.epoch, ProjectID: o.ProjectID, RunID: o.RunID,
		SessionRef: o.SessionRef, AgentID: o.AgentID, Provider: o.Provider, Mode: doc.KindCommand, Argv: o.Argv, Made: o.ArgvHasMarks, Stdin: o.Stdin, Live: o.Live,
		Env: o.Env, SecretRefs: l.placement.SecretRefs, TaskID: o.TaskID, MilestoneID: o.MilestoneID, Outputs: l.placement.Outputs, Budget: o.Budget,
		LimitMS: o.LimitMS, MonotonicMS: o.MonotonicMS, ClockMS: h.now(),
		ExpiresInMS: settings.ClaimWithinMS,
	}
	if o.ArgvHasMarks {
		order.Critical = append(order.Critical, fleet.CriticalMade)
	}
	if o.Live != nil {
		order.Driver, order.Turn = o.Live.Driver, o.Live.Turns
		if o.Live.Driver == session.DriverCodex {
			order.Mode = doc.KindAppServer
		}
	}
	machine, err := h.w.Machine()
	if err == nil {
		order.Pricing = machine.Pricing
		err = l.equip(&order, machine)
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	order.LeaseS, order.OnCutOff = l.record.LeaseS, l.record.OnCutOff
	if l.remote != nil {
		order.Allowance = l.remote.Allowance(h.sharing(l))
	}
	l.mu.Unlock()
	if o.RepoID != "" {
		repo, err := h.source(ctx, l, at.worker, tips)
		if err != nil {
			return nil, err
		}
		order.Repo = repo
	}
	files, err := h.contextFiles(ctx, l, at.worker)
	if err != nil {
		return nil, err
	}
	order.Files = files
	return h.encode(ctx, at.worker, order)
}

// encode encodes an order. It stores the order's texts as objects if the order is too long.
func (h *Hub) encode(ctx context.Context, worker string, order fleet.Order) ([]byte, error) {
	body, err := json.Marshal(order)
	if err == nil && len(body) > fleet.MaxOrder {
		if err = h.storeTexts(ctx, worker, &order); err == nil {
			body, err = json.Marshal(order)
		}
	}
	if err == nil && len(body) > fleet.MaxOrder {
		err = fault.New(fault.TooLarge, "the order has %d bytes; at most %d can be sent to a worker", len(body), fleet.MaxOrder)
	}
	return body, err
}

// storeTexts moves the texts of an order into objects.
func (h *Hub) storeTexts(ctx context.Context, worker string, order *fleet.Order) error {
	order.CopyTexts()
	order.Critical = append(order.Critical, fleet.CriticalTexts)
	texts := order.TextsByName()
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		object, err := h.store(ctx, worker, fleet.ObjectContext, strings.NewReader(*text))
		if err != nil {
			return err
		}
		order.Texts = append(order.Texts, fleet.File{Path: name, Object: object, SHA256: strings.TrimPrefix(object, fleet.ObjectContext+"-"), Size: int64(len(*text))})
		*text = ""
	}
	return nil
}

// source returns the repository of a launch and its start commit. It stores the commits that the
// worker lacks as a bundle.
func (h *Hub) source(ctx context.Context, l *launch, worker string, tips []string) (*fleet.Repo, error) {
	root, commit, err := h.base(ctx, l)
	if err != nil {
		return nil, err
	}
	location, err := l.location()
	if err != nil {
		return nil, err
	}
	repo := &fleet.Repo{ID: l.order.RepoID, Commit: commit, Branch: location.Branch, Via: fleet.ViaAuto, Worktree: true, WorkdirRel: l.order.WorkdirRel}
	if s := l.placement.Source; s != nil && s.Via != "" {
		repo.Via = s.Via
	}
	repo.Remote = withoutSecret(worktree.Origin(ctx, h.o.Environ, root))
	if repo.Via == fleet.ViaRemote || slices.Contains(tips, commit) {
		return repo, nil
	}
	repo.Bundle, err = h.bundle(ctx, worker, root, commit, tips)
	return repo, err
}

// base returns the repository of a launch and the commit that it starts from. It resolves and
// saves the commit once, so that later changes of the reference have no effect.
func (h *Hub) base(ctx context.Context, l *launch) (root, commit string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.remote == nil && l.base == "" {
		return "", "", fault.New(fault.Conflict, "the session is over")
	}
	machine, err := h.w.Machine()
	if err != nil {
		return "", "", err
	}
	if root, err = worktree.Root(machine, l.order.RepoID); err != nil || l.base != "" {
		return root, l.base, err
	}
	if t := l.order.Worktree; t != nil && cmp.Or(t.From, t.Base) != "" { // left by an earlier session, or fixed at the launch
		l.base = cmp.Or(t.From, t.Base)
		return root, l.base, l.save()
	}
	ref := ""
	if l.placement.Source != nil {
		ref = l.placement.Source.Ref
	}
	if commit, err = worktree.Commit(ctx, h.o.Environ, root, ref); err != nil {
		return "", "", fault.New(fleet.SourceUnavailable, "the commit to start from: %w", err)
	}
	l.base = commit
	return root, commit, l.save()
}

// withoutSecret returns the address of a remote, or "" if it contains a password.
func withoutSecret(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return ""
		}
	}
	return address
}

// bundle stores a bundle of the commits that a worker lacks.
func (h *Hub) bundle(ctx context.Context, worker, root, commit string, tips []string) (name string, err error) {
	file, err := h.scratch()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	if err := parcel.WriteBundle(ctx, h.o.Environ, root, []parcel.Head{{Ref: "refs/ac/source", Commit: commit}}, tips, file); err != nil {
		return "", err
	}
	return h.store(ctx, worker, fleet.ObjectSource, file)
}

// store puts a file into a worker's object store, named by its digest.
func (h *Hub) store(ctx context.Context, worker, kind string, file io.ReadSeeker) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	digest, err := parcel.Measure(file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", err
	}
	name := fleet.ObjectName(kind, digest.SHA256)
	return name, h.carrier.Put(ctx, worker, name, file)
}

// scratch creates a temporary file. The caller removes it.
func (h *Hub) scratch() (*os.File, error) {
	if err := durable.MkdirAll(h.w.FS, workspace.TempDir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(filepath.Join(h.w.Dir(), filepath.FromSlash(workspace.TempDir)), "hub-*")
}

// contextFiles stores the provider's files: the context pack of the run, its attachments, and the
// files named in the order. It returns none for a run without a context pack.
func (h *Hub) contextFiles(ctx context.Context, l *launch, worker string) (files []fleet.File, err error) {
	run, err := workspace.Load(h.w, doc.RunCodec, workspace.RunFile(l.order.ProjectID, l.order.RunID))
	if err != nil || !workspace.SafeID(run.ContextPackID) {
		return nil, err
	}
	dir := path.Join(workspace.ContextPackDir(l.order.ProjectID, run.ContextPackID), "bundle")
	names, err := tree(h.w.FS, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		file, err := h.storeFile(ctx, worker, path.Join(dir, name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	outputs := path.Join(workspace.RunDir(l.order.ProjectID, l.order.RunID), "outputs")
	attached, err := tree(h.w.FS, path.Join(outputs, "attachments"))
	if err != nil {
		return nil, err
	}
	for _, name := range attached {
		name = path.Join("attachments", name)
		file, err := h.storeFile(ctx, worker, path.Join(outputs, name), name)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	for _, name := range l.order.Bring {
		file, err := h.storeFile(ctx, worker, path.Join(outputs, name), path.Base(name))
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// storeFile stores a file of the workspace for a worker under the given name.
func (h *Hub) storeFile(ctx context.Context, worker, from, name string) (f fleet.File, err error) {
	file, err := h.w.FS.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return f, err
	}
	st, err := file.Stat()
	var object string
	if err == nil {
		object, err = h.store(ctx, worker, fleet.ObjectContext, file)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return f, err
	}
	return fleet.File{Path: name, Object: object, SHA256: strings.TrimPrefix(object, fleet.ObjectContext+"-"), Size: st.Size()}, nil
}

// tree lists the regular files below a directory, or none if the directory is missing.
func tree(fsys durable.FS, dir string) (names []string, err error) {
	entries, err := fsys.ReadDir(dir)
	if durable.IsAbsent(err) {
		return nil, nil
	}
	for _, e := range entries {
		switch {
		case e.IsDir():
			below, belowErr := tree(fsys, path.Join(dir, e.Name()))
			for _, name := range below {
				names = append(names, path.Join(e.Name(), name))
			}
			err = cmp.Or(err, belowErr)
		case e.Type().IsRegular():
			names = append(names, e.Name())
		}
	}
	return names, err
}

// location returns the location of the run's branch.
func (l *launch) location() (worktree.Location, error) {
	return worktree.LocationOf(l.order.ProjectID, cmp.Or(l.order.TaskID, l.order.RunID), l.order.RunID)
}

// countStart counts a successful or failed start on a worker.
func (h *Hub) countStart(worker string, succeeded bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.workers[worker]; w != nil {
		w.starts = w.starts.After(succeeded, h.now())
	}
}

// replacementLaunch describes a withdrawn launch for placement. The caller must hold the hub's lock.
func (h *Hub) replacementLaunch(l *launch, tried []string) placement.Launch {
	wanted, err := h.placementLaunch(fleet.PlaceRequest{Order: l.order, Placement: l.placement, Priority: l.priority, Only: l.only})
	if err != nil {
		wanted.Named = "" // the named worker no longer exists
	}
	wanted.Last = tried
	return wanted
}
