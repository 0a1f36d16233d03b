package worker

// Preparing a session in the spool, and starting it.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ac/fleet"
	"ac/fleet/parcel"
	"ac/internal/durable"
	"ac/internal/fault"
	"ac/internal/redact"
	"ac/runs"
	"ac/runs/mcpserver"
	"ac/runs/modelprofile"
	"ac/runs/session"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/doc"
)

const (
	// spoolPatience is how long to wait for the spool's write lock.
	spoolPatience = 10 * time.Minute
	// sourcesWithin is the timeout for transferring a session's sources.
	sourcesWithin = 10 * time.Minute
)

// permit returns the file without which the session of an attempt does not start.
func permit(attempt string) string { return path.Join(workspace.TempDir, "permit-"+attempt) }

// start prepares a granted attempt and starts its supervisor. If a previous process had already
// begun that, start adopts the session or releases the attempt.
func (a *attempt) start(ctx context.Context) error {
	if a.state().State == stateStarting || a.recovered {
		return a.giveUp(ctx, errors.New("the worker was restarted before the session started"))
	}
	preparing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.mu.Lock()
	a.cancelStart = cancel
	dropped := a.abandonErr
	a.mu.Unlock()
	if dropped != nil {
		return a.giveUp(ctx, dropped)
	}
	order, base, err := a.prepare(preparing)
	if err == nil {
		err = context.Cause(preparing)
	}
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return a.giveUp(ctx, err)
	}
	if err := a.change(func(r *record) { r.State, r.Base = stateStarting, base }); err != nil {
		return err
	}
	a.shipper.rebase(base)
	if err := a.w.spool.Replace(permit(a.id), nil, 0o600); err != nil {
		return a.giveUp(ctx, err)
	}
	if err := a.w.host.Starter.Launch(context.WithoutCancel(ctx), order); err != nil {
		return a.giveUp(ctx, err) // giveUp adopts a session that started after all
	}
	return a.change(func(r *record) { r.State = stateStarted })
}

// prepare transfers everything that the session needs to this machine and creates its run. It
// returns the order for the supervisor, and the size of the run's log.
func (a *attempt) prepare(ctx context.Context) (o session.Order, base int64, err error) {
	order := a.ordered
	if _, err := a.session(); !fault.Is(err, fault.NotFound) {
		return o, 0, fault.New(fleet.Fenced, "session %s was executed here before", order.SessionRef)
	}
	for _, dir := range []string{"files", "context"} {
		if err := durable.MkdirAll(a.w.folder.fs, path.Join(workDir, a.id, dir), 0o700); err != nil {
			return o, 0, err
		}
	}
	secrets, err := a.secrets(ctx)
	if err != nil {
		return o, 0, err
	}
	if order.Repo != nil {
		within, cancel := context.WithTimeoutCause(ctx, sourcesWithin, fmt.Errorf("gave up after %s", sourcesWithin))
		err := a.fetch(within)
		cancel()
		if err != nil {
			return o, 0, fault.New(fleet.SourceUnavailable, "%w", err)
		}
	}
	if err := a.receiveFiles(ctx); err != nil {
		return o, 0, err
	}
	if err := a.makeRun(ctx); err != nil {
		return o, 0, err
	}
	if o, err = a.order(ctx, secrets); err != nil {
		return o, 0, err
	}
	st, err := a.w.spool.FS.Stat(workspace.LogFile(order.ProjectID, order.RunID))
	if err != nil {
		return o, 0, err
	}
	return o, st.Size(), nil
}

// checkFile refuses a file of an order that could leave its directory.
func checkFile(f fleet.File) error {
	if !fs.ValidPath(f.Path) || f.Path == "." || f.Object != fleet.ObjectName(fleet.ObjectContext, f.SHA256) || !fleet.IsObject(f.Object) {
		return fmt.Errorf("the order has a file %.200q", f.Path)
	}
	return nil
}

// receiveFiles receives the files that came with the order.
func (a *attempt) receiveFiles(ctx context.Context) error {
	for _, file := range a.ordered.Files {
		name := path.Join(workDir, a.id, "context", file.Path)
		if err := a.receive(ctx, name, file.Object, parcel.Digest{SHA256: file.SHA256, Size: file.Size}); err != nil {
			return describe("receive "+file.Path, err)
		}
	}
	return nil
}

// fetch ensures that the repository's mirror has the order's commit. If it is missing, fetch
// tries the remote, then the hub's bundle.
func (a *attempt) fetch(ctx context.Context) error {
	repo, m := a.ordered.Repo, a.w.mirrors
	has, err := m.Has(ctx, repo.ID, repo.Commit)
	if err != nil {
		return err
	}
	remote := cmp.Or(a.w.folder.Config.Repos[repo.ID].Remote, repo.Remote)
	var failed error
	if !has && repo.Via != fleet.ViaBundle && remote != "" {
		if err := m.FromRemote(ctx, repo.ID, remote, repo.Commit); err != nil {
			failed = describe("fetch from "+remote, err)
		} else {
			has = true
		}
	}
	if !has && repo.Via != fleet.ViaRemote && repo.Bundle != "" {
		if err := a.fromBundle(ctx, *repo); err != nil {
			failed = errors.Join(failed, describe("take the hub's bundle", err))
		} else {
			has = true
		}
	}
	if !has {
		return errors.Join(failed, fmt.Errorf("commit %s of repository %s is not to be had", repo.Commit, repo.ID))
	}
	return m.Keep(ctx, repo.ID, repo.Commit)
}

func (a *attempt) fromBundle(ctx context.Context, repo fleet.Repo) (err error) {
	name := path.Join(parcelsDir, a.id+".source")
	digest, _ := strings.CutPrefix(repo.Bundle, fleet.ObjectSource+"-")
	if err := a.receive(ctx, name, repo.Bundle, parcel.Digest{SHA256: digest, Size: -1}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.w.folder.fs.Remove(name)) }()
	file, err := os.Open(a.w.folder.path(filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer file.Close()
	return a.w.mirrors.FromBundle(ctx, repo.ID, file)
}

// makeRun creates the order's run in the spool with everything it needs. The run may exist from
// an earlier session.
func (a *attempt) makeRun(ctx context.Context) error {
	order, w := a.ordered, a.w.spool
	err := w.Update(ctx, func(u *workspace.Unit) error {
		if err := u.UpdateMachine(func(m *doc.Machine) {
			if order.Repo != nil {
				m.RepoRoots[order.Repo.ID] = a.w.mirrors.Path(order.Repo.ID)
			}
			if len(order.Pricing) > 0 && m.Pricing == nil {
				m.Pricing = map[string]doc.RateCard{}
			}
			maps.Copy(m.Pricing, order.Pricing)
		}); err != nil {
			return err
		}
		if !w.Exists(workspace.ProjectFile(order.ProjectID)) {
			tree, err := w.ProjectTree(order.ProjectID, order.ProjectID)
			if err == nil {
				err = u.Create(workspace.ProjectDir(order.ProjectID), tree)
			}
			return err
		}
		return nil
	})
	if err != nil || w.Exists(workspace.RunFile(order.ProjectID, order.RunID)) {
		return err
	}
	return w.Update(ctx, func(u *workspace.Unit) error {
		_, err := runs.CreateWith(u, order.ProjectID, order.AgentID, order.Provider, a.beginning())
		return err
	})
}

// beginning returns the initial state of the run. A continued run whose earlier sessions ran
// elsewhere starts as ended, like the original.
func (a *attempt) beginning() runs.Beginning {
	b := runs.Beginning{RunID: a.ordered.RunID}
	if live := a.ordered.Live; live != nil && live.Continue {
		b.End = doc.StatusEnded
	}
	return b
}

// secrets resolves the worker's secrets that the order refers to.
func (a *attempt) secrets(ctx context.Context) (map[string]string, error) {
	return a.w.folder.resolve(ctx, a.ordered.SecretRefs, a.w.host.Environ)
}

// resolve reads secrets. refs maps variables to names of secrets, and the result maps variables
// to values.
func (f *Folder) resolve(ctx context.Context, refs map[string]string, environ []string) (map[string]string, error) {
	values, missing := map[string]string{}, []string{}
	var causes error
	for _, variable := range slices.Sorted(maps.Keys(refs)) {
		name := refs[variable]
		value, err := f.secret(ctx, name, environ)
		if err != nil {
			missing, causes = append(missing, name), errors.Join(causes, err)
			continue
		}
		values[variable] = value
	}
	if len(missing) > 0 {
		return nil, fault.New(fleet.SecretMissing, "the worker cannot read the secrets %s: %w", strings.Join(missing, ", "), causes)
	}
	return values, nil
}

// environ returns the provider's environment: the permitted part of the worker's, and the
// secrets.
func (w *Worker) environ(secrets map[string]string) []string {
	pass := append([]string{"PATH", "HOME", "USER", "LANG", "TMPDIR", "SHELL"}, w.folder.Config.EnvPass...)
	var environ []string
	for _, entry := range w.host.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, over := secrets[name]; !over && (slices.Contains(pass, name) || strings.HasPrefix(name, "LC_")) {
			environ = append(environ, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		environ = append(environ, name+"="+secrets[name])
	}
	return environ
}

// masks returns the secrets that no output of the attempt may contain.
func (a *attempt) masks(secrets map[string]string) *redact.Values {
	known := redact.FromEnviron(session.Environ(a.w.environ(secrets), a.ordered.Env))
	for _, value := range secrets {
		known.Learn(value)
	}
	for _, value := range a.equipmentSecrets(session.Environ(a.w.environ(secrets), a.ordered.Env)) {
		known.Learn(value)
	}
	return known
}

// equipmentSecrets returns the secret values that the agent receives through the workspace's MCP servers and
// model profile.
func (a *attempt) equipmentSecrets(environ []string) (values []string) {
	get := func(name string) (value string) {
		for _, entry := range environ {
			if v, ok := strings.CutPrefix(entry, name+"="); ok {
				value = v
			}
		}
		return value
	}
	order := a.ordered
	if order.Profile != nil {
		if p, err := modelprofile.Resolve(*order.Profile, get); err == nil { // otherwise it did not start
			values = modelprofile.For(modelprofile.FamilyCommand, p).Secrets
		}
	}
	for id, server := range order.Servers {
		one := doc.Machine{MCPServers: map[string]doc.MCPServer{id: server}}
		if handed, err := mcpserver.For(order.Driver, one, doc.Secrets{}, get); err == nil { // otherwise it was omitted
			values = append(values, handed.Secrets...)
		}
	}
	return values
}

// order returns the order for the supervisor in the spool.
func (a *attempt) order(ctx context.Context, secrets map[string]string) (session.Order, error) {
	order, err := a.withTexts(ctx)
	if err != nil {
		return session.Order{}, err
	}
	w := a.w
	env := maps.Clone(order.Env)
	for variable := range secrets {
		delete(env, variable) // the secret takes precedence and is not stored
	}
	o := session.Order{
		WorkspaceDir: w.spool.Dir(), ProjectID: order.ProjectID, RunID: order.RunID, SessionRef: order.SessionRef, AgentID: order.AgentID,
		Provider: order.Provider, Argv: order.Argv, ArgvHasMarks: order.Made, TaskID: order.TaskID, MilestoneID: order.MilestoneID, Stdin: order.Stdin, Env: env,
		Environ: a.w.environ(secrets), LimitMS: order.LimitMS, MonotonicMS: (w.host.Elapsed() - a.taken).Milliseconds(),
		Worker: &session.WorkerOrder{
			WorkerID: w.folder.Config.ID, Permit: permit(a.id), Dir: w.folder.path(workDir, a.id, "files"),
			Context: w.folder.path(workDir, a.id, "context"), Secrets: slices.Sorted(maps.Keys(secrets)),
		},
	}
	o.MonotonicMS = max(o.MonotonicMS, 0)
	if order.Allowance != nil {
		o.Limits = &session.LimitsRequest{Allowance: order.Allowance, InForceAfterMS: w.currentSettings().UnreachableAfterMS}
	}
	if order.Live != nil {
		live := *order.Live
		live.WorktreeRel, live.WorktreeBranch = "", ""
		// Most of ac's own tools act on the run's workspace, which is not on this machine. In the
		// spool they would act on the wrong one.
		live.MCP, live.LaunchJobs = live.MCP && order.Self != nil, false
		o.Live, o.Worker.Self = &live, order.Self
	}
	o.ModelProfile, o.Worker.Servers, o.Worker.Profile = order.ModelProfile, order.Servers, order.Profile
	if order.Repo == nil {
		return o, nil
	}
	o.RepoID, o.WorkdirRel = order.Repo.ID, order.Repo.WorkdirRel
	return o, a.chooseWorktree(ctx, &o)
}

// chooseWorktree determines the session's worktree. For a new run, the supervisor creates it. A continued
// run reuses its worktree, or gets a new one at the order's commit.
func (a *attempt) chooseWorktree(ctx context.Context, o *session.Order) error {
	order := a.ordered
	owner := cmp.Or(order.TaskID, order.RunID)
	if o.Live == nil || !o.Live.Continue {
		o.Worktree = &session.Worktree{Owner: owner, Run: order.RunID, Base: order.Repo.Commit}
		return nil
	}
	location, err := worktree.LocationOf(order.ProjectID, owner, order.RunID)
	if err != nil {
		return err
	}
	stands, err := worktree.Exists(a.w.spool, location.Rel)
	if err == nil && !stands {
		root := a.w.mirrors.Path(order.Repo.ID)
		if err = worktree.Forget(ctx, a.w.spool, a.w.host.Environ, root, location); err == nil {
			_, err = worktree.Prepare(ctx, a.w.spool, a.w.host.Environ, root, location, order.Repo.Commit)
		}
	}
	o.Live.WorktreeRel, o.Live.WorktreeBranch = location.Rel, location.Branch
	return err
}

// spec returns the spec that the session executes, without paths of this machine.
func (a *attempt) spec() *doc.Spec {
	run, err := runs.Load(a.w.spool, a.ordered.ProjectID, a.ordered.RunID)
	if err != nil || run.Spec == nil {
		return nil
	}
	spec := *run.Spec
	spec.WorktreeRel, spec.StdinRelpath, spec.Budget = "", "", a.ordered.Budget
	return &spec
}

// news returns the current update of the session's record.
func (a *attempt) news() fleet.Record {
	record, err := a.session()
	if err != nil {
		return fleet.Record{}
	}
	return fleet.Record{PID: record.PID, ThreadID: record.ThreadID, TurnID: record.TurnID, Activity: record.Activity, Turn: record.Turn}
}

// removePrepared removes what was prepared for an attempt that never started.
func (a *attempt) removePrepared() error {
	order := a.ordered
	err := a.w.folder.fs.RemoveAll(path.Join(workDir, a.id))
	run, loadErr := runs.Load(a.w.spool, order.ProjectID, order.RunID)
	if loadErr == nil && run.Spec == nil && run.Live == nil && !a.w.sharesRun(a) {
		err = errors.Join(err, a.w.spool.FS.RemoveAll(workspace.RunDir(order.ProjectID, order.RunID)))
	}
	return err
}

// sharesRun reports whether another attempt of the worker belongs to the same run.
func (w *Worker) sharesRun(a *attempt) bool {
	return slices.ContainsFunc(w.all(), func(other *attempt) bool {
		return other.id != a.id && other.ordered.ProjectID == a.ordered.ProjectID && other.ordered.RunID == a.ordered.RunID
	})
}
