package crashtest

// Checks of a repository and its checkpoints after a process that applied files was killed.

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"ac/events"
	"ac/workspace"
	"ac/workspace/checkpoint"
)

// settle lets another process recover, checks everything against what was acknowledged, and
// repeats the pending requests. It returns how many of these had happened.
func (g *repository) settle(r *rand.Rand) (happened int) {
	g.t.Helper()
	s, ask := g.server()
	w, err := workspace.Open(g.env, g.ground.dir)
	g.must(err)
	defer func() { g.must(w.Close()) }()
	g.edit(r, w)
	if r.IntN(2) == 0 {
		g.must(w.Recover(g.t.Context()))
	} else { // the server recovers when it opens the workspace
		var list []object
		s.call("artifact.checkpoints", object{"workspace_dir": g.ground.dir, "project_id": g.own[0]}, &list)
		until(g.t, "the server has finished what was begun", func() bool { return !w.NeedsRecovery() })
	}
	if r.IntN(2) == 0 {
		ask = g.command(0)
	}
	for _, a := range g.appliers {
		if a.pending == nil {
			a.holds("", a.files)
			continue
		}
		made := g.checkpointOf(w, a.pending)
		if made != "" {
			happened++
			a.meets(made)
			a.holds("what was under way has happened", a.pending.after)
		} else {
			a.holds("what was under way has not happened", a.pending.before)
		}
		a.again(ask, made)
		a.holds("it was asked for again", a.files)
	}
	if err := s.stdin.Close(); err != nil {
		g.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		g.t.Errorf("the server: %v", err)
	}
	g.checkpoints(w)
	return happened
}

// edit plays a person who, half of the time, edits a file of an application that has not been
// completed yet.
func (g *repository) edit(r *rand.Rand, w *workspace.Workspace) {
	g.t.Helper()
	ids, err := w.Checkpoints(g.own[0])
	g.must(err)
	for _, id := range ids {
		dir := workspace.CheckpointDir(g.own[0], id)
		_, ended, err := checkpoint.LoadOutcome(w.FS, dir)
		g.must(err)
		if ended {
			continue
		}
		g.recovered[id] = true
		if r.IntN(2) == 0 {
			continue
		}
		plan, err := checkpoint.Load(w.FS, dir)
		g.must(err)
		name := plan.Files[r.IntN(len(plan.Files))].Path
		file := filepath.Join(g.dir, filepath.FromSlash(name))
		g.must(os.MkdirAll(filepath.Dir(file), 0o750))
		g.must(os.WriteFile(file, []byte(persons), 0o644)) //nolint:gosec // as people have their files
		g.edited[id] = name
	}
}

// persons is the text that a person writes into a file.
const persons = "a person's\n"

// meets adds a person's edit to what the pending request must leave: the edited file keeps the
// person's text, all others get the requested one. The client then stops, since it can no longer
// revert anything as a whole.
func (a *applier) meets(made string) {
	if name := a.edited[made]; name != "" {
		a.over = true
		a.pending.after = maps.Clone(a.pending.after)
		a.pending.after[strings.TrimPrefix(name, folder(a.n)+"/")] = persons
	}
}

// again repeats the pending request. made is the checkpoint that the request has already, ""
// for none.
func (a *applier) again(ask asker, made string) {
	a.t.Helper()
	p := a.pending
	p.previewed = "" // the preview is lost with its process
	edited := a.edited[made] != ""
	var got outcome
	if !ask.do(p.method(), p.params, &got) {
		a.t.Errorf("%s again: no answer", p.method())
		return
	}
	switch {
	case p.revert != "" && made != "":
		if got.Data.Reason != "reverted_already" {
			a.t.Errorf("a revert that has happened: %+v", got)
		}
		a.done(made)
	case made != "" && got.CheckpointID != made || edited && (len(got.Errors) != 1 || got.Errors[0].Path != a.edited[made]):
		a.t.Errorf("%s was applied, and again: %+v", made, got)
	case edited:
		a.done(made)
	default:
		a.acknowledge(got)
	}
}

// holds compares the folder of a client with the expected files.
func (a *applier) holds(when string, want map[string]string) {
	a.t.Helper()
	got := map[string]string{}
	dir := filepath.Join(a.dir, folder(a.n))
	a.must(filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name) //nolint:gosec // our own
		rel, _ := filepath.Rel(dir, name)
		got[rel] = string(text)
		return err
	}))
	if !maps.Equal(got, want) {
		a.t.Errorf("client %d, %s: it has\n%q\nand not\n%q", a.n, when, got, want)
	}
}

// checkpointOf returns the checkpoint of a request, "" for none. Two are an error.
func (g *repository) checkpointOf(w *workspace.Workspace, p *request) (found string) {
	g.t.Helper()
	for id, plan := range g.plans(w) {
		if p.revert != "" && plan.Reverts == p.revert || p.revert == "" && plan.ClientRef == p.params["client_ref"] {
			if found != "" {
				g.t.Errorf("it has two checkpoints, %s and %s", found, id)
			}
			found = id
		}
	}
	return found
}

// plans returns the plans of all checkpoints, and checks how each checkpoint ended.
func (g *repository) plans(w *workspace.Workspace) map[string]checkpoint.Plan {
	g.t.Helper()
	ids, err := w.Checkpoints(g.own[0])
	g.must(err)
	plans := map[string]checkpoint.Plan{}
	for _, id := range ids {
		dir := workspace.CheckpointDir(g.own[0], id)
		plan, err := checkpoint.Load(w.FS, dir)
		g.must(err)
		outcome, ended, err := checkpoint.LoadOutcome(w.FS, dir)
		g.must(err)
		alone := len(outcome.Conflicts) == 0
		if name := g.edited[id]; name != "" {
			alone = len(outcome.Conflicts) == 1 && outcome.Conflicts[0].Path == name
		}
		if !ended || !alone || outcome.State == checkpoint.RolledBack || g.recovered[id] && !outcome.Recovered {
			g.t.Errorf("%s ended: %v: %+v", id, ended, outcome)
		}
		if outcome.Recovered { // may be one that was not in place when edit ran
			g.recovered[id] = true
		}
		plans[id] = plan
	}
	return plans
}

// checkpoints checks that the logs are sound, and that each checkpoint has one event and keeps
// the old files. No temporary files are left.
func (g *repository) checkpoints(w *workspace.Workspace) {
	g.t.Helper()
	told := map[string]int{}
	for _, log := range []string{workspace.FilesLog, workspace.LogFile(g.own[0], g.appliers[clients-1].run)} {
		text, err := os.ReadFile(filepath.Join(w.Dir(), filepath.FromSlash(log)))
		if os.IsNotExist(err) {
			continue
		}
		g.must(err)
		report, err := events.Verify(strings.NewReader(string(text)), nil, false, nil)
		if err != nil || !report.Sound() {
			g.t.Errorf("%s: %+v (%v)", log, report, err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Type    string
				Payload struct {
					ID string `json:"checkpoint_id"`
				}
			}
			g.must(json.Unmarshal([]byte(line), &e))
			if e.Type == events.ArtifactApplied {
				told[e.Payload.ID]++
			}
		}
	}
	for id, plan := range g.plans(w) {
		if told[id] != 1 {
			g.t.Errorf("%s has %d events", id, told[id])
		}
		delete(told, id)
		for n, f := range plan.Files {
			old, err := plan.Old(w.FS, workspace.CheckpointDir(g.own[0], id), n)
			if err != nil || f.Base != "" && checkpoint.Hash(old) != f.Base {
				g.t.Errorf("%s: what %s was is lost: %v", id, f.Path, err)
			}
		}
	}
	if len(told) > 0 {
		g.t.Errorf("events without checkpoints: %v", told)
	}
	g.nothingTemporary(w)
}

func (g *repository) nothingTemporary(w *workspace.Workspace) {
	g.t.Helper()
	g.must(w.Recover(g.t.Context()))
	left, err := filepath.Glob(filepath.Join(w.Dir(), workspace.TempDir, "*"))
	g.must(err)
	g.must(filepath.WalkDir(g.dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".ac-") {
			left = append(left, name)
		}
		return err
	}))
	if len(left) > 0 {
		g.t.Errorf("left: %v", left)
	}
}

// finish reverts everything, the newest first, so that the repository is as it was.
func (g *repository) finish() {
	g.t.Helper()
	s, ask := g.server()
	for _, a := range g.appliers {
		if a.over {
			continue
		}
		for n := len(a.applied); n > 0 && !g.t.Failed(); n = len(a.applied) {
			last := a.applied[n-1]
			a.pending = &request{revert: last.checkpoint, params: a.params(object{"checkpoint_id": last.checkpoint}), before: a.files, after: last.before}
			var got outcome
			ask.do(a.pending.method(), a.pending.params, &got)
			a.acknowledge(got)
		}
		a.holds("everything was taken back", map[string]string{"kept": "0\n"})
	}
	if err := s.stdin.Close(); err != nil {
		g.t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		g.t.Errorf("the server: %v", err)
	}
}
