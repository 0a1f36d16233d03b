package workspace

// Units that a crash interrupted: how they are described, completed, rolled back and quarantined.

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"testing"

	"ac/events"
	"ac/internal/durable"
	"ac/internal/proc"
)

// interruptedUnit writes a unit's write-ahead intent without applying it.
func interruptedUnit(t *testing.T, w *Workspace, fill func(u *Unit) error) *Unit {
	t.Helper()
	u := &Unit{w: w, pending: map[string][]byte{}}
	if err := fill(u); err != nil {
		t.Fatal(err)
	}
	if _, err := u.writeIntent(); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestStepsOfInterruptedUnit checks the description of each kind of operation.
func TestStepsOfInterruptedUnit(t *testing.T) {
	t.Parallel()
	for want, op := range map[string]operation{
		"write company/a.yaml, 2 bytes":                           {Kind: opWrite, Name: "company/a.yaml", Content: []byte("a\n")},
		"remove company/a.yaml":                                   {Kind: opRemove, Name: "company/a.yaml"},
		"put org/teams/team_x in place":                           {Kind: opRename, Name: "org/teams/team_x"},
		"replace work with its staged tree":                       {Kind: opExchange, Name: "work"},
		"apply the files of checkpoint work/checkpoints/p/ckpt_1": {Kind: opFiles, Name: "work/checkpoints/p/ckpt_1"},
		"append 2 events to work/projects/p/runs/r/events.jsonl":  {Kind: opAppend, Name: "work/projects/p/runs/r/events.jsonl", Drafts: make([]draftRecord, 2)},
	} {
		if got := op.String(); got != want {
			t.Errorf("%s: %q, want %q", op.Kind, got, want)
		}
	}
}

// TestBestEffortNeverDropsUnit recovers a unit that was not applied at all. If a log cannot take
// its best-effort events, only they are lost. Before that, the unit must not be reported as one
// that cannot be completed.
func TestBestEffortNeverDropsUnit(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]string{
		"a directory":       "company",
		"no folder":         "company/none/events.jsonl",
		"below a file":      CompanyFile + "/events.jsonl",
		"a log that exists": "company/log.jsonl",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspaceDir(t, SystemEnv())
			write(t, w, "company/log.jsonl", "")
			interruptedUnit(t, w, func(u *Unit) error {
				u.AppendBestEffort(log, events.Draft{ID: "evt_1", Type: "test.note", Payload: []byte("{}")})
				return u.Write("company/note.txt", []byte("x"), 0o644)
			})
			if units, err := w.InterruptedUnits(); err != nil || len(units) != 1 || units[0].Reason != "" {
				t.Errorf("before: %+v (%v)", units, err)
			}
			if err := w.Recover(t.Context()); err != nil || w.NeedsRecovery() {
				t.Fatalf("it was not finished: %v", err)
			}
			if !w.Exists("company/note.txt") {
				t.Error("the whole unit was dropped")
			}
		})
	}
}

// TestRemovedDocumentKeepsItsMode rolls removals back. The documents get back the modes that they
// had, and one that the unit itself wrote does not exist.
func TestRemovedDocumentKeepsItsMode(t *testing.T) {
	t.Parallel()
	if !proc.HasModes {
		t.Skip("SKIPPED: this system has no modes")
	}
	w := newWorkspaceDir(t, SystemEnv())
	for name, perm := range map[string]fs.FileMode{"company/private": 0o600, "company/public": 0o644} {
		if err := durable.WriteNew(w.FS, name, []byte("x"), perm); err != nil {
			t.Fatal(err)
		}
	}
	err := w.Update(t.Context(), func(u *Unit) error {
		for _, name := range []string{"company/private", "company/public"} {
			if err := u.Remove(name); err != nil {
				return err
			}
		}
		if err := u.Write("company/fresh", []byte("x"), 0o600); err != nil {
			return err
		}
		if err := u.Remove("company/fresh"); err != nil {
			return err
		}
		u.Append("company/none/events.jsonl", events.Draft{ID: "evt_1", Type: "test.note", Payload: []byte("{}")})
		return nil
	})
	if err == nil || w.NeedsRecovery() {
		t.Fatalf("the unit was not rolled back: %v", err)
	}
	if w.Exists("company/fresh") {
		t.Error("a document that the unit wrote and removed is there")
	}
	for name, want := range map[string]fs.FileMode{"company/private": 0o600, "company/public": 0o644} {
		if st, err := w.FS.Stat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: %v, want the mode %v (%v)", name, st, want, err)
		}
	}
}

// TestQuarantineKeepsExchangedTrees quarantines a unit that exchanges two directories. It was
// interrupted after the first, and cannot continue because a person removed the second. The
// replaced tree of the first and the staged tree of the second are kept next to the intent.
func TestQuarantineKeepsExchangedTrees(t *testing.T) {
	t.Parallel()
	w := newWorkspaceDir(t, SystemEnv())
	const stage = ".workspace.tmp-1-2-aa"
	for _, name := range []string{"work/old", stage + "/work/new", stage + "/inbox/new"} {
		if err := durable.MkdirAll(w.FS, path.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, w, name, "x")
	}
	u := interruptedUnit(t, w, func(u *Unit) error {
		return errors.Join(u.exchangeFor("work", stage+"/work"), u.exchangeFor("inbox", stage+"/inbox"))
	})
	if err := errors.Join(w.apply(t.Context(), &u.ops[0]), os.RemoveAll(filepath.Join(w.Dir(), "inbox"))); err != nil {
		t.Fatal(err)
	}
	moved, err := w.QuarantineUnfinished(t.Context())
	if err != nil || len(moved) != 1 || moved[0].Reason == "" || w.NeedsRecovery() {
		t.Fatalf("%+v (%v)", moved, err)
	}
	quarantined := path.Join(QuarantineDir, path.Base(moved[0].Name))
	for _, name := range []string{"", ".reason", ".0.tree/old", ".1.tree/new"} {
		if !w.Exists(quarantined + name) {
			t.Errorf("not in the quarantine: %s", name)
		}
	}
	if entries, err := w.FS.ReadDir(stage); err != nil || len(entries) > 0 {
		t.Errorf("left in the stage, for the next one to remove: %v (%v)", entries, err)
	}
}
