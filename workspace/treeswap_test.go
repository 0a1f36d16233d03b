package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/durable/faultfs"
	"ac/internal/fault"
)

// TestPlaceOverEmpty lets every call fail while a tree replaces an empty directory. Afterwards
// either the tree or the empty directory is there.
func TestPlaceOverEmpty(t *testing.T) {
	t.Parallel()
	for _, kind := range []faultfs.Kind{faultfs.Broken, faultfs.Late} {
		for n := 1; ; n++ {
			target := filepath.Join(t.TempDir(), "target")
			if err := os.Mkdir(target, 0o750); err != nil {
				t.Fatal(err)
			}
			plan := faultfs.NewPlan(n, kind)
			err := placeOne(plan, target)
			entries, readErr := os.ReadDir(target)
			if readErr != nil || (err == nil) != (len(entries) == 1) {
				t.Errorf("%v %s: %d entries (%v), %v", kind, plan.Hit(), len(entries), readErr, err)
			}
			if plan.Hit() == "" {
				if err != nil {
					t.Errorf("without a fault: %v", err)
				}
				break
			}
		}
	}
}

// placeOne places a tree with one file.
func placeOne(plan *faultfs.Plan, target string) error {
	env := SystemEnv()
	env.OpenFS = plan.Open
	site, err := NewTreeSwap(env, target)
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(site.Dir(), "file"), nil, 0o600)
	if err == nil {
		err = site.Place()
	}
	_ = site.Close() // best effort: the test ignores what it leaves
	return err
}

// TestPlaceOverFull checks that a directory that is no longer empty is not replaced.
func TestPlaceOverFull(t *testing.T) {
	t.Parallel()
	target := filepath.Join(t.TempDir(), "target")
	site, err := NewTreeSwap(SystemEnv(), target)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(target, 0o750), os.WriteFile(filepath.Join(target, "mine"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := site.Place(); !fault.Is(err, fault.NotEmpty) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(target, "mine")); err != nil {
		t.Error(err)
	}
	if err := site.Close(); err != nil {
		t.Error(err)
	}
}
