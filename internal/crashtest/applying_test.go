package crashtest

// Kills of processes that apply, preview and revert proposed files: servers, and commands
// that execute one request. Each client has its own folder of the repository, so it knows
// what the folder must contain: its state before the pending request, or after it.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ac/internal/fault"
	"ac/rpc"
	"ac/runs"
	"ac/runs/worktree"
	"ac/workspace"
	"ac/workspace/checkpoint"
	"ac/workspace/doc"
)

var applyKills = flag.Int("apply-kills", 8, "how many processes are killed that apply files")

// askCommand makes the test binary a command. Its arguments are a method and its params, as
// for rpc:call.
const askCommand = "ask"

// askOnce executes one request and prints its answer.
func askOnce(args []string) (err error) {
	all, err := newHost()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.Close()) }()
	result, err := rpc.NewTable("test").Call(context.Background(), all, args[0], []byte(args[1]))
	if refused, ok := errors.AsType[*fault.Error](err); ok {
		result, err = object{"message": refused.Error(), "data": object{"reason": refused.Reason}}, nil
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// repository is the repository to which clients apply files.
type repository struct {
	*ground
	dir       string // of the files
	appliers  []*applier
	requests  atomic.Int64      // acknowledged
	recovered map[string]bool   // checkpoints that another process completed
	edited    map[string]string // files that a person edited meanwhile, by checkpoint
}

// applier is a client with its own folder. The last one applies the changes of a run.
type applier struct {
	*repository
	n       int
	r       *rand.Rand
	run     string // whose worktree has the files to apply, "" if the request has them
	tree    string // that worktree
	files   map[string]string
	applied []version
	pending *request // sent and not answered
	over    bool     // sends no more requests
}

// version is the state that a checkpoint replaced.
type version struct {
	checkpoint string
	before     map[string]string
}

// request is a request that changes files.
type request struct {
	revert        string // the checkpoint to revert, "" if the request applies files
	params        object
	preview       bool   // whether to preview it first
	previewed     string // the ID of the preview, once there is one
	before, after map[string]string
}

func (p *request) method() string {
	if p.revert != "" {
		return "artifact.revert"
	}
	return "artifact.apply"
}

// given returns the params. If there is a preview, its ID replaces the files.
func (p *request) given() object {
	if p.previewed == "" {
		return p.params
	}
	given := maps.Clone(p.params)
	delete(given, "artifacts")
	delete(given, "artifact_ids")
	given["preview_id"] = p.previewed
	return given
}

// outcome is an answer to such a request: a result or an error.
type outcome struct {
	Applied      int    `json:"applied"`
	Reverted     int    `json:"reverted"`
	CheckpointID string `json:"checkpoint_id"`
	PreviewID    string `json:"preview_id"`
	Files        []struct{ ID string }
	Errors       []checkpoint.Problem
	Data         struct{ Reason string }
	Message      string
}

// TestKilledApplies kills processes at random moments while files are applied. Acknowledged
// requests stand. A pending request happened as a whole, with one checkpoint and one event, or
// not at all. Repeating it returns the lost answer.
func TestKilledApplies(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	const perRepository = 4
	var left, happened, requests, recovered, edited atomic.Int64
	left.Store(int64(*applyKills))
	t.Run("lanes", func(t *testing.T) {
		for lane := range *lanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(*seed, uint64(lane)))
				for !t.Failed() {
					n := int(perRepository + min(0, left.Add(-perRepository)))
					if n <= 0 {
						return
					}
					t.Run(fmt.Sprintf("%d kills", n), func(t *testing.T) {
						g := newRepository(t, r)
						for i := range n {
							g.strike(r, i)
							happened.Add(int64(g.settle(r)))
							if t.Failed() {
								return
							}
						}
						g.finish()
						requests.Add(g.requests.Load())
						recovered.Add(int64(len(g.recovered)))
						edited.Add(int64(len(g.edited)))
					})
				}
			})
		}
	})
	t.Logf("%d requests acknowledged; of those under way at a kill %d had happened; %d were brought to their end by others, in %d of them a person had edited a file",
		requests.Load(), happened.Load(), recovered.Load(), edited.Load())
	alone(t)
}

func newRepository(t *testing.T, r *rand.Rand) *repository {
	t.Helper()
	g := &repository{
		ground: newGround(t, r), dir: filepath.Join(workspace.Canonical(t.TempDir()), "repo"), recovered: map[string]bool{}, edited: map[string]string{},
	}
	for i := range clients {
		name := filepath.Join(g.dir, folder(i), "kept")
		g.must(os.MkdirAll(filepath.Dir(name), 0o750))
		g.must(os.WriteFile(name, []byte("0\n"), 0o644)) //nolint:gosec // as people have their files
	}
	git(t, g.dir, "init", "-q")
	git(t, g.dir, "add", ".")
	git(t, g.dir, "commit", "-qm", "first")
	w, err := workspace.Open(g.env, g.ground.dir)
	g.must(err)
	defer func() { g.must(w.Close()) }()
	_, err = w.SetRepoRoot(t.Context(), "repo", g.dir, true)
	g.must(err)
	_, err = w.LinkRepo(t.Context(), g.own[0], "repo", "")
	g.must(err)
	for i := range clients {
		a := &applier{repository: g, n: i, r: rand.New(rand.NewPCG(r.Uint64(), 4)), files: map[string]string{"kept": "0\n"}}
		g.appliers = append(g.appliers, a)
	}
	g.appliers[clients-1].workIn(w)
	return g
}

// folder returns a client's folder of the repository.
func folder(n int) string { return fmt.Sprint("c", n) }

func git(t *testing.T, dir string, words ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=T", "-c", "user.email=t@example.org"}, words...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", words, err, out)
	}
}

// workIn gives the client a run with a worktree.
func (a *applier) workIn(w *workspace.Workspace) {
	a.t.Helper()
	made, err := runs.Create(a.t.Context(), w, a.own[0], "agent_a", "cmd")
	a.must(err)
	place, err := worktree.LocationOf(a.own[0], "task_a", made.RunID)
	a.must(err)
	a.tree, err = worktree.Prepare(a.t.Context(), w, os.Environ(), a.dir, place, "HEAD")
	a.must(err)
	a.run = made.RunID
	head, err := exec.Command("git", "-C", a.dir, "rev-parse", "HEAD").Output()
	a.must(err)
	file := workspace.RunFile(a.own[0], a.run)
	a.must(w.Update(a.t.Context(), func(u *workspace.Unit) error {
		run, err := workspace.LoadIn(u, doc.RunCodec, file)
		if err != nil {
			return err
		}
		run.Spec = &doc.Spec{Kind: doc.KindCommand, Argv: []string{"true"}, RepoID: "repo", WorktreeRel: place.Rel, WorktreeBranch: place.Branch}
		run.WorktreeBase = string(bytes.TrimSpace(head))
		return workspace.Put(u, doc.RunCodec, file, run, 0o644)
	}))
}

// asker executes requests in another process.
type asker struct {
	// do waits for the answer, a result or an error. It returns false if the process is gone.
	do func(method string, params object, answer *outcome) bool
	// previews is whether a later request can refer to a preview.
	previews bool
}

// strike kills a process while it executes requests: a server that all clients use or, every
// third time, the command of one client.
func (g *repository) strike(r *rand.Rand, i int) {
	g.t.Helper()
	after := time.Duration(1+r.IntN(100_000)) * time.Microsecond
	if i%3 == 2 {
		if a := g.appliers[r.IntN(clients)]; !a.over {
			a.work(g.command(after))
			return
		}
	}
	s, ask := g.server()
	var group sync.WaitGroup
	for _, a := range g.appliers {
		group.Go(func() { a.work(ask) })
	}
	time.Sleep(after) // the random moment itself
	if err := s.cmd.Process.Kill(); err != nil {
		g.t.Error(err)
	}
	group.Wait()
	_ = s.cmd.Wait() // it was killed
	g.forgetWriter()
}

// server starts a server.
func (g *repository) server() (*server, asker) {
	g.t.Helper()
	s := startWith(g.t, g.environ, func(json.RawMessage) {})
	if !s.call("system.ping", nil, nil) {
		g.t.Fatal("the server does not answer")
	}
	return s, asker{func(method string, params object, answer *outcome) bool { return s.call(method, params, answer) }, true}
}

// command executes each request in its own process, and kills it after the given time.
// 0 never kills.
func (g *repository) command(after time.Duration) asker {
	return asker{do: func(method string, params object, answer *outcome) bool {
		text, err := json.Marshal(params)
		g.must(err)
		cmd := exec.Command(g.executable, askCommand, method, string(text))
		cmd.Env = g.environ
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		g.must(cmd.Start())
		if after > 0 {
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
			defer timer.Stop()
		}
		if err := cmd.Wait(); err != nil {
			if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() >= 0 { // it was not killed
				g.t.Errorf("%s: %v: %s", method, err, &out)
			}
			g.forgetWriter()
			return false
		}
		if err := json.Unmarshal(out.Bytes(), answer); err != nil {
			g.t.Errorf("%s: %v: %s", method, err, &out)
		}
		return true
	}}
}

// work applies and reverts files until the process is gone.
func (a *applier) work(ask asker) {
	for !a.over && !a.t.Failed() {
		a.pending = a.next()
		if a.run != "" && a.pending.revert == "" && !a.propose(ask) {
			return
		}
		if a.pending.preview && !a.look(ask) {
			return
		}
		var got outcome
		if !ask.do(a.pending.method(), a.pending.given(), &got) {
			return
		}
		a.acknowledge(got)
	}
}

// acknowledge records that the pending request has happened.
func (a *applier) acknowledge(got outcome) {
	p := a.pending
	if got.CheckpointID == "" || len(got.Errors) > 0 || got.Applied+got.Reverted == 0 {
		a.t.Errorf("%v: %+v", p.params, got)
		return
	}
	a.done(got.CheckpointID)
	a.requests.Add(1)
}

func (a *applier) done(checkpoint string) {
	if p := a.pending; p.revert == "" {
		a.applied = append(a.applied, version{checkpoint, p.before})
	} else {
		a.applied = a.applied[:len(a.applied)-1]
	}
	a.files, a.pending = a.pending.after, nil
}

func (a *applier) params(more object) object {
	more["workspace_dir"], more["project_id"] = a.ground.dir, a.own[0]
	more["actor_id"], more["actor_role"] = "human", "human"
	return more
}

// next draws the client's next request. The files of a run are reverted before the run
// proposes others.
func (a *applier) next() *request {
	if n := len(a.applied); n > 0 && (a.run != "" || a.r.IntN(3) == 0) {
		last := a.applied[n-1]
		return &request{revert: last.checkpoint, params: a.params(object{"checkpoint_id": last.checkpoint}), before: a.files, after: last.before}
	}
	p := &request{before: a.files, after: maps.Clone(a.files), preview: a.r.IntN(3) == 0}
	var artifacts []object
	for i := range 3 + a.r.IntN(10) {
		name := fmt.Sprintf("d%d/f%d", i%3, a.r.IntN(20))
		if i == 0 {
			name = "kept"
		}
		file := object{"path": folder(a.n) + "/" + name}
		if _, there := p.before[name]; there && i > 0 && a.r.IntN(3) == 0 {
			file["delete"] = true
			delete(p.after, name)
		} else {
			p.after[name] = fmt.Sprintf("%x\n", a.r.Uint64())
			file["content"] = p.after[name]
		}
		artifacts = append(artifacts, file)
	}
	// If a path was drawn twice, the last one wins.
	byPath := map[any]object{}
	for _, file := range artifacts {
		byPath[file["path"]] = file
	}
	artifacts = artifacts[:0]
	for _, file := range byPath {
		artifacts = append(artifacts, file)
	}
	p.params = a.params(object{"artifacts": artifacts, "client_ref": strconv.FormatUint(a.r.Uint64(), 36)})
	return p
}

// propose makes the changes of the request in the run's worktree, and lets the request apply
// the run's files.
func (a *applier) propose(ask asker) bool {
	p := a.pending
	a.must(os.RemoveAll(filepath.Join(a.tree, folder(a.n)))) // the previous proposal
	for name, text := range p.after {
		file := filepath.Join(a.tree, folder(a.n), name)
		a.must(os.MkdirAll(filepath.Dir(file), 0o750))
		a.must(os.WriteFile(file, []byte(text), 0o644)) //nolint:gosec // as agents write their files
	}
	var list outcome
	if !ask.do("artifact.list", a.paramsOf("run_id", a.run), &list) {
		a.pending = nil
		return false
	}
	ids := make([]string, len(list.Files))
	for i, row := range list.Files {
		ids[i] = row.ID
	}
	delete(p.params, "artifacts")
	p.params["artifact_ids"] = ids
	return true
}

func (a *applier) paramsOf(name, value string) object {
	return object{"workspace_dir": a.ground.dir, "project_id": a.own[0], name: value}
}

// look requests a preview. With a server, the next request applies the preview. A command
// keeps none.
func (a *applier) look(ask asker) bool {
	p := a.pending
	named := object{"workspace_dir": a.ground.dir, "project_id": a.own[0]}
	for _, name := range []string{"artifacts", "artifact_ids"} {
		if value, given := p.params[name]; given {
			named[name] = value
		}
	}
	var got outcome
	if !ask.do("artifact.preview", named, &got) {
		a.pending = nil // a preview changes nothing
		return false
	}
	if got.PreviewID == "" {
		a.t.Errorf("preview: %+v", got)
	}
	if ask.previews {
		p.previewed = got.PreviewID
	}
	return true
}
