package files

// Reading the changes of a run while a landing removes its worktree.

import (
	"errors"
	"os"
	"testing"

	"ac/runs/changes"
)

// TestChangesWhileItLands lands a run after its changes are listed and before their content is
// read. It checks that all changes are then read again from the commit.
func TestChangesWhileItLands(t *testing.T) {
	t.Parallel()
	s := newLanding(t)
	run, dir := s.run(t)
	unusualWork(t, dir)
	var states []string
	var failed error
	read := 0
	err := s.ReadChanges(t.Context(), s.project, run, func(set *changes.Set) error {
		states, read = append(states, set.State), 0
		if set.State != changes.Landed {
			if _, err := s.Land(t.Context(), s.landOrder(run)); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Fatal("the worktree stays")
			}
		}
		err := set.Each(t.Context(), set.Files, func(changes.File, changes.Content) error { read++; return nil })
		failed = errors.Join(failed, err)
		return err
	})
	if err != nil || read != 12 || len(states) != 2 || states[1] != changes.Landed || failed == nil {
		t.Errorf("%v: %d files (%v), at first %v", states, read, err, failed)
	}
}
