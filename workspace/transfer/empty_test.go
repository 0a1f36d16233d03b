package transfer_test

import (
	"os"
	"path/filepath"
	"testing"

	"ac/workspace"
)

// TestEmptyTarget transfers a workspace into an existing empty directory.
func TestEmptyTarget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	for _, target := range []string{"b", "c"} {
		target = filepath.Join(dir, target)
		if err := os.Mkdir(target, 0o750); err != nil {
			t.Fatal(err)
		}
		o := order(from, target)
		o.Force, o.Import = target == "b", target == "c"
		if _, err := o.Run(t.Context()); err != nil {
			t.Errorf("force %v, import %v: %v", o.Force, o.Import, err)
		}
		if _, err := os.Stat(filepath.Join(target, workspace.CompanyFile)); err != nil {
			t.Error(err)
		}
	}
}
