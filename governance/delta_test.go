package governance

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ac/governance/policy"
	"ac/internal/fault"
	"ac/internal/yamldoc"
	"ac/workspace"
	"ac/workspace/doc"
)

const memory = "# Memory\n\n## Decisions\n\n- old\n\n## Links\n"

func (c *company) write(t testing.TB, name, text string) {
	t.Helper()
	if err := c.Replace(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *company) text(t testing.TB, name string) string {
	t.Helper()
	text, err := c.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (c *company) spec(lines ...string) DeltaSpec {
	return DeltaSpec{
		ProjectID: c.project, Title: "T", Under: "## Decisions", Lines: lines, Visibility: "managers", ProducedBy: c.worker, RunID: c.run, ContextPackID: "ctx_1",
	}
}

func (c *company) propose(t testing.TB, spec DeltaSpec) DeltaProposal {
	t.Helper()
	made, err := ProposeDelta(t.Context(), c.Workspace, spec)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (c *company) ruling(id, decision string) Ruling {
	return Ruling{Item: Item{c.project, id}, Decision: decision, Actor: policy.Actor{ID: "ann", Role: "human"}}
}

func (c *company) approve(t testing.TB, id string) error {
	t.Helper()
	_, err := DecideDelta(t.Context(), c.Workspace, c.ruling(id, Approved))
	return err
}

// files lists everything in the workspace but logs, locks and the audit log.
func (c *company) files(t testing.TB) (names []string) {
	t.Helper()
	err := filepath.WalkDir(c.Dir(), func(name string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.Contains(name, "/.local/") && e.Name() != "events.jsonl" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDeltaOnDisk(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.write(t, workspace.MemoryFile(c.project), memory)
	spec := c.spec("- one ```` two", "- b\n- c\r\n- d")
	spec.Title, spec.Evidence = "T: it's", []string{"art_x", "art_y"}
	made := c.propose(t, spec)
	want := "---\nschema_version: 1\ntype: memory_delta\nid: " + made.ArtifactID + "\ncreated_at: "
	got := c.text(t, made.ArtifactRelpath)
	if !strings.HasPrefix(got, want) {
		t.Errorf("head: %s", got)
	}
	_, body, _ := strings.Cut(got, "evidence:\n  - art_x\n  - art_y\n---\n")
	want = "\n# T: it's\n\n## Summary\n\n## Changes\n\n- target_file: `" + made.TargetFile + "`\n- patch_file: `" + made.PatchRelpath +
		"`\n- inserted_under: `## Decisions`\n\n`````text\n- one ```` two\n- b\n- c\n- d\n`````\n\n## Evidence\n\n- art_x\n- art_y\n"
	if body != want {
		t.Errorf("body: %q\nwant  %q", body, want)
	}
	if issues := ValidateArtifact([]byte(got)); len(issues) > 0 {
		t.Errorf("%+v", issues)
	}
	name := workspace.MemoryFile(c.project)
	want = "--- a/" + name + "\n+++ b/" + name + "\n@@ -1,7 +1,12 @@\n # Memory\n \n ## Decisions\n \n+- one ```` two\n+- b\n+- c\n+- d\n+\n - old\n \n ## Links\n"
	if got := c.text(t, made.PatchRelpath); got != want {
		t.Errorf("patch: %s", got)
	}
	if c.text(t, name) != memory {
		t.Error("the target was touched")
	}
	if log := c.events(t, workspace.LogFile(c.project, c.run), 1); len(log) > 0 {
		t.Errorf("events: %+v", log)
	}
}

// TestTargets checks that a proposal for an invalid target is rejected, writes nothing and does
// not hang.
func TestTargets(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	dir := c.Dir()
	outside := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	text := "## Decisions\n"
	must(os.WriteFile(filepath.Join(outside, "m.md"), []byte(text), 0o600))
	for _, name := range []string{
		".local/m.md", "notes.txt", "work/projects/" + c.project + "/tasks/task_1.md", "work/projects/" + c.project + "/artifacts/art_1.md",
		"inbox/reviews/r.md", "inbox/help_requests/h.md", "good/m.md", "org/UPPER.MD",
	} {
		c.write(t, name, text)
	}
	must(os.Symlink(outside, filepath.Join(dir, "out")))
	must(os.Symlink(filepath.Join(outside, "m.md"), filepath.Join(dir, "out.md")))
	must(os.Symlink(".local", filepath.Join(dir, "hidden")))
	must(os.Symlink("work/projects/"+c.project+"/artifacts/art_1.md", filepath.Join(dir, "artifact.md")))
	must(os.Symlink("loop.md", filepath.Join(dir, "loop.md")))
	must(os.Mkdir(filepath.Join(dir, "dir.md"), 0o750))
	must(syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o600))
	before := c.files(t)
	for _, target := range []string{
		"../m.md", "good/../../m.md", filepath.Join(dir, "good/m.md"), "/etc/motd.md", "out/m.md", "out.md", "loop.md", "hidden/m.md", "artifact.md",
		".local/m.md", "./.local/m.md", "good/../.local/m.md", ".LOCAL/m.md", "notes.txt", "org/UPPER.MD", ".", "", " ", "..", "good", "dir.md", "fifo.md",
		"work/projects/" + c.project + "/tasks/task_1.md", "work/projects/" + c.project + "/artifacts/art_1.md",
		"work/projects/" + c.project + "/./artifacts//art_1.md", "inbox/reviews/r.md", "inbox/help_requests/h.md", "none.md", "good/m.md/x.md",
		"good\\m.md", "good/m.md\x00.md", "good/\nm.md", strings.Repeat("x/", 5000) + "m.md",
	} {
		spec := c.spec("- n")
		if spec.TargetFile = target; target == "" {
			spec.TargetFile = "good/"
		}
		if made, err := ProposeDelta(t.Context(), c.Workspace, spec); err == nil || fault.Is(err, fault.InvalidParams) {
			t.Errorf("%.60q was taken: %+v, %v", target, made, err)
		}
	}
	if after := c.files(t); !slices.Equal(before, after) {
		t.Errorf("something was written: %v", after)
	}
	// A link inside the workspace is allowed: the approval changes the file that it points to.
	must(os.Symlink("good", filepath.Join(dir, "link")))
	spec := c.spec("- n")
	spec.TargetFile = "./link//m.md"
	made := c.propose(t, spec)
	if made.TargetFile != "link/m.md" {
		t.Errorf("%+v", made)
	}
	must(c.approve(t, made.ArtifactID))
	if got := c.text(t, "good/m.md"); got != "## Decisions\n\n- n\n" {
		t.Errorf("%q", got)
	}
}

// TestTamperedDelta changes the files of a delta between proposal and decision. It checks that
// approval is refused, the memory stays unchanged, and a denial is still possible and idempotent.
func TestTamperedDelta(t *testing.T) {
	t.Parallel()
	for what, tamper := range map[string]func(c *company, made DeltaProposal, text string) (name, changed string){
		"target outside": func(_ *company, made DeltaProposal, text string) (string, string) {
			return made.ArtifactRelpath, strings.Replace(text, "target_file: "+made.TargetFile, "target_file: ../m.md", 1)
		},
		"target local": func(_ *company, made DeltaProposal, text string) (string, string) {
			return made.ArtifactRelpath, strings.Replace(text, "target_file: "+made.TargetFile, "target_file: .local/machine.md", 1)
		},
		"patch elsewhere": func(_ *company, made DeltaProposal, text string) (string, string) {
			return made.ArtifactRelpath, strings.Replace(text, "patch_file: "+made.PatchRelpath, "patch_file: other.patch", 1)
		},
		"unknown field": func(_ *company, made DeltaProposal, text string) (string, string) {
			return made.ArtifactRelpath, strings.Replace(text, "type: memory_delta\n", "type: memory_delta\nsurprise: 1\n", 1)
		},
		"no target": func(_ *company, made DeltaProposal, text string) (string, string) {
			return made.ArtifactRelpath, strings.Replace(text, "target_file: w", "x: w", 1)
		},
		"hollow patch": func(_ *company, made DeltaProposal, _ string) (string, string) {
			return made.PatchRelpath, "--- a/m\n+++ b/m\n"
		},
		"foreign patch": func(_ *company, made DeltaProposal, _ string) (string, string) {
			return made.PatchRelpath, "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-nothing here\n+x\n"
		},
		"two sections": func(_ *company, made DeltaProposal, _ string) (string, string) {
			section := "--- a/m\n+++ b/m\n@@ -1 +1 @@\n-# Memory\n+# M\n"
			return made.PatchRelpath, section + section
		},
		"no patch at all": func(_ *company, made DeltaProposal, _ string) (string, string) { return made.PatchRelpath, "" },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			c.write(t, workspace.MemoryFile(c.project), memory)
			made := c.propose(t, c.spec("- n"))
			name, changed := tamper(c, made, c.text(t, made.ArtifactRelpath))
			c.write(t, name, changed)
			if err := c.approve(t, made.ArtifactID); err == nil || fault.Is(err, fault.InvalidParams) {
				t.Errorf("approved: %v", err)
			}
			if c.text(t, workspace.MemoryFile(c.project)) != memory {
				t.Error("the memory was changed")
			}
			if reviews, err := Reviews(c.Workspace, 9); err != nil || len(reviews) != 0 {
				t.Errorf("%+v, %v", reviews, err)
			}
			first, err := DecideDelta(t.Context(), c.Workspace, c.ruling(made.ArtifactID, Denied))
			if err != nil {
				t.Fatal(err)
			}
			if again, err := DecideDelta(t.Context(), c.Workspace, c.ruling(made.ArtifactID, Denied)); err != nil || again != first {
				t.Errorf("%s, then %s: %v", first, again, err)
			}
		})
	}
}

// TestNotAnItem checks that files that are not items cannot be decided: a stray copy, another
// type, another project's item, invalid front matter.
func TestNotAnItem(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.write(t, workspace.MemoryFile(c.project), memory)
	made := c.propose(t, c.spec("- n"))
	text := c.text(t, made.ArtifactRelpath)
	at := func(id, text string) { c.write(t, ArtifactFile(c.project, id), text) }
	at("art_copy", text)
	at("art_type", strings.NewReplacer("type: memory_delta", "type: proposal", made.ArtifactID, "art_type").Replace(text))
	at("art_project", strings.NewReplacer("project_id: "+c.project, "project_id: proj_other", "id: "+made.ArtifactID, "id: art_project").Replace(text))
	at("art_seen", strings.NewReplacer("visibility: managers", "visibility: all", "id: "+made.ArtifactID, "id: art_seen").Replace(text))
	at("art_plain", "hello\n")
	at("art_yaml", "---\nid: [\n---\n")
	for _, id := range []string{"art_copy", "art_type", "art_project", "art_seen", "art_plain", "art_yaml", "art_none"} {
		for _, decision := range []string{Approved, Denied} {
			if review, err := DecideDelta(t.Context(), c.Workspace, c.ruling(id, decision)); err == nil || fault.Is(err, fault.InvalidParams) {
				t.Errorf("%s %s: %s, %v", id, decision, review, err)
			}
		}
	}
	elsewhere := c.ruling(made.ArtifactID, Approved)
	elsewhere.ProjectID = "proj_none"
	if _, err := DecideDelta(t.Context(), c.Workspace, elsewhere); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if reviews, err := Reviews(c.Workspace, 9); err != nil || len(reviews) != 0 {
		t.Errorf("%+v, %v", reviews, err)
	}
	// A review that is broken or a stray copy has no effect.
	if err := c.approve(t, made.ArtifactID); err != nil {
		t.Fatal(err)
	}
	reviews, err := Reviews(c.Workspace, 9)
	if err != nil || len(reviews) != 1 {
		t.Fatalf("%+v, %v", reviews, err)
	}
	file := ReviewFile(reviews[0].ID)
	review := c.text(t, file)
	c.write(t, path.Join(workspace.ReviewsDir, "rev_copy.yaml"), review)
	c.write(t, path.Join(workspace.ReviewsDir, "rev_broken.yaml"), "{")
	if err := c.FS.Remove(file); err != nil {
		t.Fatal(err)
	}
	if state, err := StateOf(c.Workspace, Item{c.project, made.ArtifactID}, KindMemoryDelta); err != nil || !state.Pending() {
		t.Errorf("%+v, %v", state, err)
	}
	// An unreadable review could belong to any item, so the state of every item is an error.
	huge := path.Join(workspace.ReviewsDir, "rev_huge.yaml")
	c.write(t, huge, "")
	if err := os.Truncate(filepath.Join(c.Dir(), huge), yamldoc.MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := StateOf(c.Workspace, Item{c.project, made.ArtifactID}, KindMemoryDelta); err == nil {
		t.Error("an unreadable review was passed over")
	}
	if err := errors.Join(c.FS.Remove(huge), os.Symlink("/nowhere", filepath.Join(c.Dir(), huge))); err != nil {
		t.Fatal(err)
	}
	// A review with unknown fields of other programs still counts.
	c.write(t, file, review+"seal: x\n")
	if state, err := StateOf(c.Workspace, Item{c.project, made.ArtifactID}, KindMemoryDelta); err != nil || state.Approval == nil {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestApprovals approves deltas one after another and checks the resulting memory.
func TestApprovals(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	name := workspace.MemoryFile(c.project)
	for _, k := range []struct{ before, after string }{
		{memory, "# Memory\n\n## Decisions\n\n- a\n\n- b `é\u2028`\n\n- old\n\n## Links\n"},
		{strings.ReplaceAll(memory, "\n", "\r\n"), "# Memory\r\n\r\n## Decisions\r\n\r\n- a\r\n\r\n- b `é\u2028`\r\n\r\n- old\r\n\r\n## Links\r\n"},
		{"## Decisions\n- old", "## Decisions\n- a\n\n- b `é\u2028`\n\n- old"},
		{"## Decisions \n\nx\n## Decisions\n", "## Decisions \n\n- a\n\n- b `é\u2028`\n\nx\n## Decisions\n"},
	} {
		c.write(t, name, k.before)
		first, second := c.propose(t, c.spec("- a")), c.propose(t, c.spec("- b `é\u2028`"))
		for _, id := range []string{first.ArtifactID, second.ArtifactID} {
			seen, err := PreviewDelta(c.Workspace, Item{c.project, id})
			if err != nil || seen.Hash == "" || seen.Decision != Pending {
				t.Fatalf("%+v, %v", seen, err)
			}
			r := c.ruling(id, Approved)
			r.ExpectHash = seen.Hash
			if _, err := DecideDelta(t.Context(), c.Workspace, r); err != nil {
				t.Fatalf("%q: %v", k.before, err)
			}
		}
		if got := c.text(t, name); got != k.after {
			t.Errorf("%q became %q, not %q", k.before, got, k.after)
		}
	}
	st, err := c.FS.Stat(name)
	if err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

// TestStalePreview checks that a changed patch or a changed memory invalidates the preview hash.
func TestStalePreview(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.write(t, workspace.MemoryFile(c.project), memory)
	made := c.propose(t, c.spec("- n"))
	seen, err := PreviewDelta(c.Workspace, Item{c.project, made.ArtifactID})
	if err != nil {
		t.Fatal(err)
	}
	r := c.ruling(made.ArtifactID, Approved)
	r.ExpectHash = seen.Hash
	patch := c.text(t, made.PatchRelpath)
	c.write(t, made.PatchRelpath, strings.Replace(patch, "+- n", "+- give me everything", 1))
	if _, err := DecideDelta(t.Context(), c.Workspace, r); !fault.Is(err, fault.PreviewChanged) {
		t.Errorf("another patch: %v", err)
	}
	c.write(t, made.PatchRelpath, patch)
	c.write(t, workspace.MemoryFile(c.project), memory+"\nmore\n")
	if _, err := DecideDelta(t.Context(), c.Workspace, r); !fault.Is(err, fault.PreviewChanged) {
		t.Errorf("another memory: %v", err)
	}
	c.write(t, workspace.MemoryFile(c.project), memory)
	if _, err := DecideDelta(t.Context(), c.Workspace, r); err != nil {
		t.Error(err)
	}
	if seen, err = PreviewDelta(c.Workspace, r.Item); err != nil || seen.Decision != Approved || seen.ReviewID == "" {
		t.Errorf("%+v, %v", seen, err)
	}
}

func TestHugeMemory(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	name := workspace.MemoryFile(c.project)
	c.write(t, name, memory+strings.Repeat("- a line like all the others\n", 150_000))
	made := c.propose(t, c.spec(strings.Repeat("x", 1<<20)))
	if err := c.approve(t, made.ArtifactID); err != nil {
		t.Fatal(err)
	}
	c.write(t, name, memory+strings.Repeat("0123456789abcde\n", 1<<20-100))
	if _, err := ProposeDelta(t.Context(), c.Workspace, c.spec(strings.Repeat("x", 1<<20))); !fault.Is(err, fault.Conflict) {
		t.Errorf("over the limit: %v", err)
	}
}

// TestReviewsOfAnotherKind checks that a milestone review with the same artifact id does not
// decide a delta.
func TestReviewsOfAnotherKind(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	made := c.propose(t, c.spec("- a"))
	text, err := doc.ReviewCodec.Encode(doc.Review{
		SchemaVersion: 1, Type: "review", ID: "rev_1", CreatedAt: "2026-11-20T14:59:44.147Z", ActorID: "ann", ActorRole: "human", Decision: Approved,
		Subject: doc.ReviewSubject{Kind: KindMilestone, ArtifactID: made.ArtifactID, ProjectID: c.project},
		Policy:  doc.ReviewPolicy{Allowed: true, RuleID: "vis.org", Reason: "org_visible"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, ReviewFile("rev_1"), string(text))
	if err := c.approve(t, made.ArtifactID); err != nil {
		t.Error(err)
	}
	if err := c.approve(t, made.ArtifactID); !fault.Is(err, fault.Conflict) {
		t.Errorf("the second approval: %v", err)
	}
}

// reviews writes n reviews of other items.
func (c *company) reviews(t testing.TB, n int) {
	t.Helper()
	for range n {
		id := c.Env.IDs.New("rev")
		text, err := doc.ReviewCodec.Encode(doc.Review{
			SchemaVersion: 1, Type: "review", ID: id, CreatedAt: "2026-11-20T14:59:44.147Z", ActorID: "ann", ActorRole: "human", Decision: Denied,
			Subject: doc.ReviewSubject{Kind: KindMilestone, ArtifactID: c.Env.IDs.New("art"), ProjectID: c.project},
			Policy:  doc.ReviewPolicy{Allowed: true, RuleID: "vis.org", Reason: "org_visible"},
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(c.Dir(), ReviewFile(id)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkStateOf(b *testing.B) {
	c := newCompany(b)
	c.reviews(b, 3000)
	for b.Loop() {
		if _, err := StateOf(c.Workspace, Item{c.project, "art_x"}, KindMemoryDelta); err != nil {
			b.Fatal(err)
		}
	}
}
