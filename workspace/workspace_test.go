package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace/doc"
)

// newWorkspaceDir creates a workspace in a temporary folder.
func newWorkspaceDir(t testing.TB, env Env) *Workspace {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := Init(context.Background(), env, dir, InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func TestInitAndFirstMembers(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	team, err := w.NewTeam(ctx, "Front End & UX")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.NewAgent(ctx, AgentSpec{Name: "Ann", Role: "worker", Provider: "codex", TeamID: team}); err != nil {
		t.Fatal(err)
	}
	made, err := w.CreateProjectWithDefaults(ctx, "日本", "", []string{" zeta ", "alpha", "alpha", " "})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]doc.RepoLink{{RepoID: "alpha"}, {RepoID: "zeta"}}, made.RepoLinks); diff != "" {
		t.Error(diff)
	}
	if len(made.ConversationIDs) != 3 {
		t.Errorf("conversations: %v", made.ConversationIDs)
	}
	home, err := Load(w, doc.ConversationCodec, filepath.ToSlash(filepath.Join(ProjectConversationDir(made.ID, made.ConversationIDs[0]), "conversation.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"human_ceo", GlobalManagerID, made.SecretaryID}, home.Participants.AgentIDs); diff != "" {
		t.Error(diff)
	}
}

// TestInitForceKeeps checks that a forced init keeps ids, unknown keys and foreign files, and an
// invalid document under another name.
func TestInitForceKeeps(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	before, err := w.Company()
	if err != nil {
		t.Fatal(err)
	}
	write(t, w, CompanyFile, strings.Replace(read(t, w, CompanyFile), "name: Acme", "x_mine: 1\nname: Acme", 1))
	write(t, w, PolicyFile, "type: nonsense\n")
	write(t, w, "README", "mine")
	if err := Init(context.Background(), w.Env, w.Dir(), InitOptions{CompanyName: "New"}); !fault.Is(err, fault.NotEmpty) {
		t.Fatalf("without force: %v", err)
	}
	if err := Init(context.Background(), w.Env, w.Dir(), InitOptions{CompanyName: "New", Force: true}); err != nil {
		t.Fatal(err)
	}
	after, err := w.Company()
	if err != nil {
		t.Fatal(err)
	}
	if after.ID != before.ID || after.Name != "New" || after.CreatedAt != before.CreatedAt {
		t.Errorf("company: %+v, was %+v", after, before)
	}
	if !strings.Contains(read(t, w, CompanyFile), "x_mine: 1") || read(t, w, "README") != "mine" {
		t.Error("something was lost")
	}
	kept, err := filepath.Glob(filepath.Join(w.Dir(), "company", "policy.yaml.invalid-*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("invalid policy kept as %v (%v)", kept, err)
	}
}

func read(t testing.TB, w *Workspace, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t testing.TB, w *Workspace, name, text string) {
	t.Helper()
	file := filepath.Join(w.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLinksOfTwoProcesses links repositories concurrently through two openings of one workspace.
// No link is lost.
func TestLinksOfTwoProcesses(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	project, err := w.NewProject(ctx, "P")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, side := range []string{"a", "b"} {
		group.Go(func() {
			other, err := Open(SystemEnv(), w.Dir())
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 10 {
				if _, err := other.LinkRepo(ctx, project, side+string(rune('0'+i)), ""); err != nil {
					t.Error(err)
				}
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	links, err := w.RepoLinks(project)
	if err != nil || len(links) != 20 {
		t.Errorf("%d links (%v)", len(links), err)
	}
}

// TestUnitAllOrNothing checks that if the function of a unit fails, nothing is written or left
// behind.
func TestUnitAllOrNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	stop := errors.New("stop")
	err := w.Update(ctx, func(u *Unit) error {
		if err := u.Write("company/note.yaml", []byte("a: 1\n"), 0o644); err != nil {
			return err
		}
		if err := u.Create("org/teams/team_x", Tree{Files: []TreeFile{{"team.yaml", nil}}}); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) || w.Exists("company/note.yaml") || w.Exists("org/teams/team_x") {
		t.Errorf("after an error: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(w.Dir(), ".local/tmp/*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestJournalAtEveryStep interrupts a unit after each of its steps. The next writer must complete
// it, with each event once.
func TestJournalAtEveryStep(t *testing.T) {
	t.Parallel()
	for steps := 0; steps <= 4; steps++ {
		w := newWorkspaceDir(t, SystemEnv())
		ctx := context.Background()
		write(t, w, "work/projects/p/runs/r/run.yaml", "old\n")
		draft, err := w.Events.Draft(events.Draft{RunID: "r", SessionRef: "s", Actor: "system", Visibility: "org", Type: "x.y"}, map[string]string{"html": "<&>"})
		if err != nil {
			t.Fatal(err)
		}
		u := &Unit{w: w, pending: map[string][]byte{}}
		if err := u.Write("work/projects/p/runs/r/run.yaml", []byte("new\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := u.Create("org/teams/team_x", Tree{Files: []TreeFile{{"team.yaml", []byte("x\n")}}}); err != nil {
			t.Fatal(err)
		}
		u.Append("work/projects/p/runs/r/events.jsonl", draft)
		if err := u.Write("company/new.yaml", []byte("n\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := u.writeIntent(); err != nil {
			t.Fatal(err)
		}
		for i := range steps {
			if err := w.apply(ctx, &u.ops[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Recover(ctx); err != nil {
			t.Fatalf("after %d steps: %v", steps, err)
		}
		if read(t, w, "work/projects/p/runs/r/run.yaml") != "new\n" || read(t, w, "company/new.yaml") != "n\n" || !w.Exists("org/teams/team_x/team.yaml") {
			t.Errorf("after %d steps: documents not finished", steps)
		}
		log := read(t, w, "work/projects/p/runs/r/events.jsonl")
		report, err := events.Verify(strings.NewReader(log), nil, false, nil)
		if err != nil || report.Events != 1 || !report.Sound() || !strings.Contains(log, "<&>") {
			t.Errorf("after %d steps: log %s (%v)", steps, log, err)
		}
		left, err := filepath.Glob(filepath.Join(w.Dir(), ".local/journal/*"))
		if err != nil || len(left) > 0 {
			t.Errorf("journal left: %v", left)
		}
	}
}

// TestForeignChangeDropsUnit checks that an unapplied unit is dropped if another program changed
// its files since.
func TestForeignChangeDropsUnit(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	write(t, w, "company/a.yaml", "old\n")
	u := &Unit{w: w, pending: map[string][]byte{}}
	if err := errors.Join(u.Write("company/a.yaml", []byte("ours\n"), 0o644), u.Write("company/b.yaml", []byte("b\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := u.writeIntent(); err != nil {
		t.Fatal(err)
	}
	write(t, w, "company/a.yaml", "theirs\n")
	if err := w.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	if read(t, w, "company/a.yaml") != "theirs\n" || w.Exists("company/b.yaml") {
		t.Error("the unit was applied over a foreign change")
	}
}

func TestSymlinkOut(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(w.Dir(), "org", "teams", "team_out")); err != nil {
		t.Fatal(err)
	}
	err := w.Update(context.Background(), func(u *Unit) error {
		return u.Write("org/teams/team_out/team.yaml", []byte("x"), 0o644)
	})
	if err == nil {
		t.Error("a write left the workspace through a symlink")
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("outside: %v (%v)", entries, err)
	}
}

// TestForeignLockFile checks the lock protocol with other programs. A live owner is waited for
// and named, a dead one is not.
func TestForeignLockFile(t *testing.T) {
	t.Parallel()
	env := SystemEnv()
	env.LockPatience = 60e6
	w := newWorkspaceDir(t, env)
	lockFile := filepath.Join(w.Dir(), writeLockFile)
	write(t, w, writeLockFile, `{"pid":1,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n")
	err := w.Recover(context.Background())
	if !fault.Is(err, fault.Locked) || !strings.Contains(err.Error(), "process 1 ") {
		t.Errorf("live owner: %v", err)
	}
	write(t, w, writeLockFile, `{"pid":999999999,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n")
	old := env.Clock.Now().Add(-5e9)
	if err := os.Chtimes(lockFile, old, old); err != nil {
		t.Fatal(err)
	}
	w.Env.LockPatience = time.Minute // a dead owner is not waited for; the machine may be slow
	if err := w.Recover(context.Background()); err != nil {
		t.Errorf("dead owner: %v", err)
	}
	if _, err := os.Stat(lockFile); err == nil {
		t.Error("the lock file stays")
	}
}

func TestEncodeRef(t *testing.T) {
	t.Parallel()
	if got := EncodeRef("my ref/é%.."); got != "my%20ref%2F%C3%A9%25.." {
		t.Error(got)
	}
	if ref, ok := DecodeRef("my%20ref%2F%C3%A9%25.."); !ok || ref != "my ref/é%.." {
		t.Error(ref, ok)
	}
	for _, bad := range []string{"%", "%2", "%2f", "a b", "%zz"} {
		if ref, ok := DecodeRef(bad); ok {
			t.Errorf("%q decoded to %q", bad, ref)
		}
	}
}

func TestSlug(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Front End & UX": "front-end-ux", "日本": "", "--a--": "a", "Ärger": "rger",
		strings.Repeat("abc ", 20): strings.Repeat("abc-", 16), strings.Repeat("x", 70): strings.Repeat("x", 64),
	} {
		if got := Slug(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

// TestNote checks that a best-effort event that its log cannot take is lost, and nothing else.
func TestNote(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := Init(t.Context(), SystemEnv(), dir, InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := Open(SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.Update(t.Context(), func(u *Unit) error {
		u.AppendBestEffort("company/none/events.jsonl", events.Draft{ID: "evt_1", Type: "test.note", Payload: []byte("{}")})
		u.AppendBestEffort("company/log.jsonl", events.Draft{ID: "evt_2", Type: "test.note", Payload: []byte("{}")})
		return u.Write("company/note.txt", []byte("x"), 0o644)
	})
	if err != nil || !w.Exists("company/note.txt") || !w.Exists("company/log.jsonl") || w.Exists("company/none") || w.NeedsRecovery() {
		t.Errorf("%v", err)
	}
}
