package workspace_test

// Other programs may change a workspace at any moment. A workspace that was open all the time
// must report the same as one opened now.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/internal/clock"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/validate"
)

var foreignChanges = flag.Int("foreign-changes", 40, "how many changes are made behind each open workspace")

// told returns everything that is cached of a workspace, as text.
func told(v *validate.Validator, w *workspace.Workspace, ids []string) string {
	var text strings.Builder
	say := func(what string, got any, err error) { fmt.Fprintf(&text, "%s: %+v, %v\n", what, got, err) }
	say("open", v.ValidateQuickly(), nil)
	say("validate", v.Validate(), nil)
	agents, err := w.Agents()
	say("agents", agents, err)
	teams, err := w.Teams()
	say("teams", teams, err)
	projects, err := w.Projects()
	say("projects", projects, err)
	listed, err := runs.List(w, "")
	say("runs", listed, err)
	for _, id := range ids {
		agent, err := w.Agent(id)
		say(id, agent, err)
	}
	return text.String()
}

// watched is a workspace that stays open while its folder changes.
type watched struct {
	*testing.T
	w      *workspace.Workspace
	v      *validate.Validator
	random *rand.Rand
	ahead  atomic.Int64 // how far its clock is ahead, in nanoseconds
	ids    []string     // the agents' ids
	rest   []string     // other files
	made   int
	ticks  time.Duration // the tick of the file system's clock, 0 for the real one
}

func watch(t *testing.T, env workspace.Env, ticks time.Duration, seed uint64) *watched {
	t.Helper()
	s := &watched{T: t, ticks: ticks, random: rand.New(rand.NewPCG(seed, 0))}
	env.Clock = clock.New(func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }, 0)
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(ctx, env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	s.w = opened(t, env, dir)
	s.v = validate.New(s.w)
	team, err := s.w.NewTeam(ctx, "Team")
	s.must(err)
	for i := range 5 {
		id, err := s.w.NewAgent(ctx, workspace.AgentSpec{Name: fmt.Sprintf("Agent %d", i), Role: "worker", Provider: "cmd", TeamID: team})
		s.must(err)
		s.ids = append(s.ids, id)
	}
	s.rest = []string{workspace.CompanyFile, workspace.PolicyFile, workspace.TeamFile(team)}
	for range 2 {
		project, err := s.w.NewProject(ctx, "Project")
		s.must(err)
		run, err := runs.Create(ctx, s.w, project, s.ids[0], "cmd")
		s.must(err)
		s.rest = append(s.rest, workspace.ProjectFile(project), workspace.RunFile(project, run.RunID), workspace.LogFile(project, run.RunID))
	}
	return s
}

func (s *watched) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *watched) at(name string) string { return filepath.Join(s.w.Dir(), filepath.FromSlash(name)) }

// aside returns an unused name outside the workspace.
func (s *watched) aside() string {
	s.made++
	return filepath.Join(filepath.Dir(s.w.Dir()), fmt.Sprintf("aside-%d", s.made))
}

// remember lets the workspace cache everything, by advancing its clock until all files count as
// old. It then waits for the file system's next timestamp.
func (s *watched) remember() {
	s.Helper()
	s.tick()
	s.ahead.Store(int64(time.Hour))
	told(s.v, s.w, s.ids)
	s.ahead.Store(0)
	s.tick()
}

// tick waits until the file system stamps files with a new time.
func (s *watched) tick() {
	s.Helper()
	probe := s.aside()
	stamp := func() time.Time {
		s.must(os.WriteFile(probe, nil, 0o600))
		st, err := os.Stat(probe)
		s.must(err)
		if s.ticks > 0 {
			return st.ModTime().Truncate(s.ticks)
		}
		return st.ModTime()
	}
	for first := stamp(); !stamp().After(first); {
		s.must(os.Remove(probe))
	}
	s.must(os.Remove(probe))
}

// otherLetter returns a text of the same length with another name, or with another type, which
// validation reports.
func (s *watched) otherLetter(text string) string {
	field := []string{"\nname: ", "\ntype: "}[s.random.IntN(2)]
	i := min(strings.Index(text, field)+len(field), len(text))
	return text[:i] + string(rune('A'+s.random.IntN(26))) + text[min(i+1, len(text)):]
}

// change changes a file or its directory in one of many ways. They may already be in any state.
func (s *watched) change() (how string) {
	id := s.ids[s.random.IntN(len(s.ids))]
	file := s.at(workspace.AgentFile(id))
	if s.random.IntN(3) == 0 {
		file = s.at(s.rest[s.random.IntN(len(s.rest))])
	}
	dir, other := filepath.Dir(file), s.at(workspace.AgentFile(s.ids[s.random.IntN(len(s.ids))]))
	regular := false // opening a FIFO would block
	var before []byte
	if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
		regular = true
		before, err = os.ReadFile(file)
		s.must(err)
	}
	text := s.otherLetter(string(before))
	fresh := func(text string) string {
		name := s.aside()
		s.must(os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	overwrite := func(text string) error {
		if !regular {
			return os.ErrInvalid
		}
		return os.WriteFile(file, []byte(text), 0o600)
	}
	replace := func(by func() error) error { return errors.Join(os.RemoveAll(file), by()) }
	away := func(name string) (to string, err error) {
		to = s.aside()
		return to, os.Rename(name, to)
	}
	ways := []struct {
		how string
		do  func() error
	}{
		{"in place, of the same size", func() error { return overwrite(text) }},
		{"in place, with the old time", func() error {
			st, err := os.Stat(file)
			if err != nil {
				return err
			}
			return errors.Join(overwrite(text), os.Chtimes(file, st.ModTime(), st.ModTime()))
		}},
		{"renamed over", func() error { return os.Rename(fresh(text), file) }},
		{"truncated", func() error { return os.Truncate(file, int64(len(before)/2)) }},
		{"removed", func() error { return os.Remove(file) }},
		{"no longer YAML", func() error { return overwrite("a: [\n") }},
		{"a link inside", func() error { return replace(func() error { return os.Symlink(other, file) }) }},
		{"a relative link", func() error { return replace(func() error { return os.Symlink("../"+id+"/agent.yaml", file) }) }},
		{"a link to nothing", func() error { return replace(func() error { return os.Symlink("nothing", file) }) }},
		{"a link out", func() error { return replace(func() error { return os.Symlink(fresh(text), file) }) }},
		{"a FIFO", func() error { return replace(func() error { return syscall.Mkfifo(file, 0o600) }) }},
		{"a directory", func() error { return replace(func() error { return os.Mkdir(file, 0o700) }) }},
		{"back again", func() error {
			return errors.Join(os.MkdirAll(dir, 0o700), replace(func() error {
				return os.WriteFile(file, []byte("schema_version: 1\ntype: agent\nid: "+id+"\nname: Back\nrole: worker\nprovider: cmd\ncreated_at: 2026-11-20T14:59:44.066Z\nlauncher: {}\n"), 0o600)
			}))
		}},
		{"its directory replaced", func() error {
			if _, err := away(dir); err != nil {
				return err
			}
			return errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte(text), 0o600))
		}},
		{"its directory moved out and linked", func() error {
			to, err := away(dir)
			return errors.Join(err, os.Symlink(to, dir))
		}},
		{"its directory moved inside and linked", func() error {
			to := filepath.Join(s.w.Dir(), "inbox", filepath.Base(s.aside()))
			return errors.Join(os.Rename(dir, to), os.Symlink("../../inbox/"+filepath.Base(to), dir))
		}},
		{"its directory gone", func() error { return os.RemoveAll(dir) }},
		{"two directories swapped", func() error {
			to, err := away(dir)
			return errors.Join(err, os.Rename(filepath.Dir(other), dir), os.Rename(to, filepath.Dir(other)))
		}},
		{"a new directory", func() error {
			s.ids = append(s.ids, fmt.Sprintf("agent_new_%d", s.made))
			return os.MkdirAll(s.at(path.Dir(workspace.AgentFile(s.ids[len(s.ids)-1]))), 0o700)
		}},
		{"strays", func() error {
			return errors.Join(os.WriteFile(s.at("inbox/reviews/stray"), nil, 0o600), os.WriteFile(s.at("org/teams/stray"), nil, 0o600), os.WriteFile(s.at("inbox/comments.yaml"), nil, 0o600))
		}},
		{"the folder of all agents replaced by a copy", func() error {
			to, err := away(s.at(workspace.AgentsDir))
			return errors.Join(err, os.CopyFS(s.at(workspace.AgentsDir), os.DirFS(to)))
		}},
		{"the folder of all agents moved out, linked, and back", func() error {
			all := s.at(workspace.AgentsDir)
			to, err := away(all)
			err = errors.Join(err, os.Symlink(to, all))
			s.compare("the folder of all agents moved out")
			return errors.Join(err, os.Remove(all), os.Rename(to, all))
		}},
	}
	way := ways[s.random.IntN(len(ways))]
	if err := way.do(); err != nil {
		return way.how + " " + filepath.Base(dir) + ", as far as it went: " + err.Error()
	}
	return way.how + " " + filepath.Base(dir)
}

// compare compares the open workspace with a freshly opened one.
func (s *watched) compare(after string) {
	s.Helper()
	cold, err := workspace.Open(s.w.Env, s.w.Dir())
	if err != nil { // without company.yaml it is no workspace
		dir := filepath.Dir(s.at(workspace.CompanyFile))
		s.must(os.RemoveAll(dir))
		s.must(os.MkdirAll(dir, 0o700))
		s.must(os.WriteFile(s.at(workspace.CompanyFile), []byte("type: company\n"), 0o600))
		return
	}
	want := told(validate.New(cold), cold, s.ids)
	s.must(cold.Close())
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(told(s.v, s.w, s.ids), "\n")); diff != "" {
		s.Fatalf("%s: (-fresh +open)\n%s", after, diff)
	}
}

// TestForeignChanges changes documents under an open workspace in every way, some of them twice
// within a tick of the file system's clock.
func TestForeignChanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := watch(t, workspace.SystemEnv(), 0, seed)
			for range *foreignChanges {
				if s.random.IntN(3) > 0 {
					s.remember()
				}
				s.compare(s.change())
			}
		})
	}
}
