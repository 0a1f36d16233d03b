package transfer_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"ac/workspace"
)

// TestBillsTravel checks that providers' statements belong to the workspace, not to the machine:
// they are copied without the rest of .local.
func TestBillsTravel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	put(t, filepath.Join(from, filepath.FromSlash(workspace.StatementsFile)), "{}\n")
	out := order(from, filepath.Join(dir, "b"))
	if report, err := out.Run(t.Context()); err != nil || !slices.Contains(report.Entries, ".local") {
		t.Fatalf("%+v (%v)", report, err)
	}
	back := order(out.To, filepath.Join(dir, "c"))
	back.Import = true
	if _, err := back.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, copied := range []string{out.To, back.To} {
		local := slices.Sorted(maps.Keys(tree(t, copied, ".local/billing")))
		if !slices.Equal(local, []string{".local/billing", workspace.StatementsFile}) {
			t.Errorf("%s: %v", copied, local)
		}
	}
	if local := slices.Sorted(maps.Keys(tree(t, out.To, ".local"))); len(local) != 3 {
		t.Errorf("more than the bills was copied: %v", local)
	}
}
