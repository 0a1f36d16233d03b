package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/durable"
	"ac/internal/fault"
	"ac/workspace/doc"
)

func membersOf(t *testing.T, w *Workspace, project, name string) []string {
	t.Helper()
	file := ProjectConversationDir(project, "conv_"+project+"_"+name) + "/" + ConversationFile
	c, err := Load(w, doc.ConversationCodec, file)
	if err != nil {
		t.Fatal(err)
	}
	return c.Participants.AgentIDs
}

func synced(t *testing.T, w *Workspace, project string, leader Leader) []string {
	t.Helper()
	ids, err := w.SyncProjectDefaults(context.Background(), project, leader)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestDefaultsFollowTheOrg updates a project's default conversations as people join and leave.
// Without an explicit leader they keep their leaders.
func TestDefaultsFollowTheOrg(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	made, err := w.CreateProjectWithDefaults(ctx, "P", "founder", nil)
	if err != nil {
		t.Fatal(err)
	}
	p := made.ID
	team, err := w.NewTeam(ctx, "Zahlungen für alle")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, role := range []string{"ceo", "director", "manager", "worker"} {
		if ids[role], err = w.NewAgent(ctx, AgentSpec{Name: role, Role: role, Provider: "cmd", TeamID: team}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(append(slices.Clone(made.ConversationIDs), "conv_"+p+"_team_"+team), synced(t, w, p, Leader{})); diff != "" {
		t.Error(diff)
	}
	top := []string{"founder", ids["ceo"], GlobalManagerID, SecretaryID(p)}
	if diff := cmp.Diff(top, membersOf(t, w, p, "home")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(slices.Clone(top), ids["director"], ids["manager"]), membersOf(t, w, p, "executive_meeting")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(append(slices.Clone(top), ids["director"], ids["manager"], ids["worker"]), membersOf(t, w, p, "team_"+team)); diff != "" {
		t.Error(diff)
	}

	// An agent with an unreadable document stays a member. One whose document is gone does not.
	file := filepath.Join(w.Dir(), filepath.FromSlash(AgentFile(ids["manager"])))
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("name: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	synced(t, w, p, Leader{})
	if !slices.Contains(membersOf(t, w, p, "executive_meeting"), ids["manager"]) {
		t.Error("an unreadable document expelled its agent")
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(filepath.Join(w.Dir(), filepath.FromSlash(AgentFile(ids["worker"]))))); err != nil {
		t.Fatal(err)
	}
	synced(t, w, p, Leader{})
	if slices.Contains(membersOf(t, w, p, "team_"+team), ids["worker"]) {
		t.Error("an agent who left is still there")
	}

	// An explicit leader replaces the present one.
	synced(t, w, p, Leader{ActorID: " boss ", EnrolMembers: true})
	if diff := cmp.Diff([]string{"boss", ids["ceo"], GlobalManagerID, SecretaryID(p)}, membersOf(t, w, p, "home")); diff != "" {
		t.Error(diff)
	}
	home, err := w.Home()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"founder", GlobalManagerID, "boss"}, home.Participants.AgentIDs); diff != "" {
		t.Errorf("the home of the company: %s", diff)
	}
}

// TestSyncWritesNothing checks that files that are up to date are not rewritten: they keep their
// bytes, inodes and times.
func TestSyncWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	made, err := w.CreateProjectWithDefaults(context.Background(), "P", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	before := identities(t, w.Dir())
	for range 3 {
		synced(t, w, made.ID, Leader{})
		if err := w.EnsureDefaults(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, identities(t, w.Dir())); diff != "" {
		t.Error(diff)
	}
}

func identities(t *testing.T, dir string) map[string]durable.Version {
	t.Helper()
	found := map[string]durable.Version{}
	err := filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := os.Lstat(name)
		if err != nil {
			return err
		}
		if !st.IsDir() {
			found[name] = durable.VersionOf(st)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestDefaultsGiveWay overwrites default conversations with invalid documents. The defaults are
// restored, the invalid text is kept in another file, and so are the messages.
func TestDefaultsGiveWay(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	made, err := w.CreateProjectWithDefaults(ctx, "P", "founder", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{HomeDir, ProjectConversationDir(made.ID, made.ConversationIDs[0])} {
		abs := filepath.Join(w.Dir(), filepath.FromSlash(dir))
		for name, text := range map[string]string{ConversationFile: "id: [", MessagesFile: "{}\n"} {
			if err := os.WriteFile(filepath.Join(abs, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.EnsureDefaults(ctx); err != nil {
			t.Fatal(err)
		}
		synced(t, w, made.ID, Leader{FallbackID: "actor"})
		if _, err := Load(w, doc.ConversationCodec, dir+"/"+ConversationFile); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
		for name, want := range map[string]string{ConversationFile + ".replaced": "id: [", MessagesFile: "{}\n"} {
			if got, err := os.ReadFile(filepath.Join(abs, name)); err != nil || string(got) != want {
				t.Errorf("%s/%s: %q (%v)", dir, name, got, err)
			}
		}
	}
	if got := membersOf(t, w, made.ID, "home"); got[0] != "actor" {
		t.Errorf("a home made anew is led by %v", got)
	}
	if _, err := w.SyncProjectDefaults(ctx, "proj_none", Leader{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown project: %v", err)
	}
}

// TestStandInLeadsWhatIsNew creates a project's conversations with an agent as fallback leader.
// The agent leads the home and the other conversations.
func TestStandInLeadsWhatIsNew(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	p, err := w.NewProject(t.Context(), "P")
	if err != nil {
		t.Fatal(err)
	}
	id, err := w.NewAgent(t.Context(), AgentSpec{Name: "D", Role: "director", Provider: "cmd"})
	if err != nil {
		t.Fatal(err)
	}
	synced(t, w, p, Leader{FallbackID: id})
	top := []string{id, GlobalManagerID, SecretaryID(p)}
	for _, name := range []string{"home", "executive_meeting"} {
		if diff := cmp.Diff(top, membersOf(t, w, p, name)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestHomeEnrols checks who is added to an existing home: nobody by a mere sync, and the global
// manager and a named CEO by an operation.
func TestHomeEnrols(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	ctx := context.Background()
	made, err := w.CreateProjectWithDefaults(ctx, "P", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	file := HomeDir + "/" + ConversationFile
	home, err := w.Home()
	if err != nil {
		t.Fatal(err)
	}
	home.Participants.AgentIDs = []string{"guest"}
	if err := w.Update(ctx, func(u *Unit) error { return Put(u, doc.ConversationCodec, file, home, 0o644) }); err != nil {
		t.Fatal(err)
	}
	expect := func(want ...string) {
		t.Helper()
		home, err := w.Home()
		if diff := cmp.Diff(want, home.Participants.AgentIDs); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	synced(t, w, made.ID, Leader{FallbackID: "actor"})
	if err := w.EnsureDefaults(ctx); err != nil {
		t.Error(err)
	}
	expect("guest")
	synced(t, w, made.ID, Leader{EnrolMembers: true})
	expect("guest", GlobalManagerID)
	if _, err := w.CreateProjectWithDefaults(ctx, "Q", " boss ", nil); err != nil {
		t.Error(err)
	}
	expect("guest", GlobalManagerID, "boss")
}
