package transfer_test

import (
	"path/filepath"
	"testing"

	"ac/workspace"
)

// TestSecretsStay checks that an export never contains secrets.yaml, not even with the machine's
// files.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from := made(t, filepath.Join(dir, "a"))
	put(t, filepath.Join(from, filepath.FromSlash(workspace.SecretsFile)), "schema_version: 1\ntype: secrets\n")
	out := order(from, filepath.Join(dir, "b"))
	out.Local = true
	if _, err := out.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	local := tree(t, out.To, ".local")
	if _, there := local[workspace.SecretsFile]; there {
		t.Error("secrets.yaml was copied")
	}
	if _, there := local[workspace.MachineFile]; !there {
		t.Errorf("the machine's part was not copied: %v", local)
	}
}
