package sharepack

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ac/events"
	"ac/internal/fault"
	"ac/workspace"
	"ac/workspace/doc"
)

func (f *fixture) manifest(t testing.TB, id string, change func(*doc.SharePack)) {
	t.Helper()
	bundle := workspace.SharePackDir(f.project, id) + "/bundle"
	pack := doc.SharePack{
		SchemaVersion: 1, Type: "share_pack", ID: id, CreatedAt: "2026-01-02T03:04:05.678Z", ProjectID: f.project, CreatedBy: "ann", Visibility: "managers",
		IncludedArtifacts: []doc.IncludedArtifact{}, IncludedRuns: []doc.IncludedRun{{RunID: "run_1", SourceRelpath: "x", BundleRelpath: bundle + "/run_events/run_1.events.jsonl"}},
	}
	change(&pack)
	text, err := doc.SharePackCodec.Encode(pack)
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, workspace.SharePackFile(f.project, id), string(text))
	f.write(t, bundle+"/run_events/run_1.events.jsonl", "{\"a\":1}\nno JSON\n{\"a\":2}\n")
}

func TestReplay(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.manifest(t, "share_1", func(*doc.SharePack) {})
	runs, err := Replay(f.w, f.project, "share_1", "", events.ReplayOptions{})
	if err != nil || len(runs) != 1 || len(runs[0].Events) != 2 || len(runs[0].ParseIssues) != 1 || len(runs[0].VerificationIssues) != 0 || runs[0].DeterministicOK {
		t.Errorf("raw: %+v (%v)", runs, err)
	}
	runs, err = Replay(f.w, f.project, "share_1", "run_1", events.ReplayOptions{Verify: true, Tail: 1})
	if err != nil || len(runs[0].Events) != 1 || runs[0].VerificationIssues[0].Seq != 2 || runs[0].ParseIssues[0].Seq != 2 {
		t.Errorf("verified: %+v (%v)", runs, err)
	}
	// A manifest written by another program, without the optional lists.
	f.write(t, workspace.SharePackFile(f.project, "share_old"), "schema_version: 1\ntype: share_pack\nid: share_old\ncreated_at: 2026-01-02T03:04:05Z\nproject_id: "+f.project+"\ncreated_by: human\nvisibility: managers\nincluded_artifacts: []\n")
	runs, err = Replay(f.w, f.project, "share_old", "", events.ReplayOptions{})
	if err != nil || runs == nil || len(runs) != 0 {
		t.Errorf("old: %+v (%v)", runs, err)
	}
}

func TestReplayRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.write(t, workspace.LogFile(f.project, "run_1"), "{}\n")
	inPack := func(id string) string { return workspace.SharePackDir(f.project, id) + "/bundle/run_events/" }
	link := func(to string) func(*testing.T, string) {
		return func(t *testing.T, id string) {
			if err := os.Symlink(to, f.path(inPack(id)+"link")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		relpath string // %s is the pack's run_events directory
		prepare func(*testing.T, string)
		change  func(*doc.SharePack)
		run     string
		reason  fault.Reason
	}{
		"dots":           {relpath: "%s../../../../runs/run_1/events.jsonl", reason: fault.InvalidFile},
		"outside bundle": {relpath: workspace.LogFile(f.project, "run_1"), reason: fault.InvalidFile},
		"absolute":       {relpath: outside, reason: fault.InvalidFile},
		"backslash":      {relpath: `%s..\..\x`, reason: fault.InvalidFile},
		"the directory":  {relpath: "%s.", reason: fault.InvalidFile},
		"no file":        {relpath: "%snothing", reason: fault.NotFound},
		"a directory":    {relpath: "%sdir", prepare: func(t *testing.T, id string) { f.write(t, inPack(id)+"dir/x", "") }, reason: fault.InvalidFile},
		"link away":      {relpath: "%slink", prepare: link(outside), reason: fault.InvalidFile},
		"link inside":    {relpath: "%slink", prepare: link("../../../../runs/run_1/events.jsonl"), reason: fault.InvalidFile},
		"link to dir":    {relpath: "%slink/events.jsonl", prepare: link("../../../../runs/run_1"), reason: fault.InvalidFile},
		"dangling":       {relpath: "%slink", prepare: link("nothing"), reason: fault.InvalidFile},
		"other project":  {change: func(p *doc.SharePack) { p.ProjectID = "proj_else" }, reason: fault.Conflict},
		"other id":       {change: func(p *doc.SharePack) { p.ID = "share_else" }, reason: fault.InvalidFile},
		"run not there":  {run: "run_2", reason: fault.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			id := "share_" + strings.ReplaceAll(name, " ", "_")
			f.manifest(t, id, func(p *doc.SharePack) {
				if c.relpath != "" {
					p.IncludedRuns[0].BundleRelpath = strings.ReplaceAll(c.relpath, "%s", inPack(id))
				}
				if c.change != nil {
					c.change(p)
				}
			})
			if c.prepare != nil {
				c.prepare(t, id)
			}
			if runs, err := Replay(f.w, f.project, id, c.run, events.ReplayOptions{}); fault.ReasonOf(err) != c.reason || err == nil {
				t.Errorf("%+v, error %v, want %s", runs, err, c.reason)
			}
		})
	}
	if _, err := Replay(f.w, f.project, "share_none", "", events.ReplayOptions{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("no pack: %v", err)
	}
	f.write(t, workspace.SharePackFile(f.project, "share_bad"), "schema_version: 1\nunknown: 1\n")
	if _, err := Replay(f.w, f.project, "share_bad", "", events.ReplayOptions{}); !fault.Is(err, fault.InvalidFile) {
		t.Errorf("bad manifest: %v", err)
	}
}

// TestReplayOfSome checks that events left out of a pack are reported as missing, not as a
// broken chain, and that a broken chain is still reported.
func TestReplayOfSome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		visibilities string // one letter per event: o is org, p is private
		want         []string
	}{
		"none left out":  {"oooo", nil},
		"in the middle":  {"oppo", []string{"2: 2 events are not in this pack"}},
		"first and last": {"poop", []string{"1: 2 events are not in this pack"}},
		"one":            {"opo", []string{"2: 1 event is not in this pack"}},
		"many places":    {"popopopo", []string{"1: 4 events are not in this pack"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.artifact(t, "art_1.md", "art_1", "org", "run_1", "", "")
			if err := os.MkdirAll(filepath.Dir(f.path(workspace.LogFile(f.project, "run_1"))), 0o750); err != nil {
				t.Fatal(err)
			}
			for i, v := range c.visibilities {
				visibility := map[rune]string{'o': events.VisibilityOrg, 'p': "private_agent"}[v]
				draft, err := f.w.Events.Draft(events.Draft{RunID: "run_1", SessionRef: "s", Actor: "a", Visibility: visibility, Type: "note.said"}, map[string]int{"n": i})
				if err == nil {
					err = f.w.Append(t.Context(), workspace.LogFile(f.project, "run_1"), draft)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			made, _ := f.create(t)
			replay := func() (told []string) {
				runs, err := Replay(f.w, f.project, made.ID, "", events.ReplayOptions{Verify: true})
				if err != nil || len(runs) != 1 || runs[0].DeterministicOK != (len(runs[0].VerificationIssues) == 0) {
					t.Fatalf("%+v (%v)", runs, err)
				}
				for _, issue := range runs[0].VerificationIssues {
					told = append(told, fmt.Sprintf("%d: %s", issue.Seq, issue.Message))
				}
				return told
			}
			if got := replay(); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			file := f.path(workspace.SharePackDir(f.project, made.ID) + "/bundle/run_events/run_1.events.jsonl")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, rest, _ := strings.Cut(string(text), "\n")
			if err := os.WriteFile(file, []byte(rest+first+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := replay(); len(got) <= len(c.want) {
				t.Errorf("events in another order: %q", got)
			}
		})
	}
}
