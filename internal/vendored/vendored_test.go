package vendored

import (
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// TestEveryByte checks that the vendored files match vendor.json, and that a changed byte, a
// missing file and an extra file are found.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	own := fstest.MapFS{}
	disk := os.DirFS("../../web/vendor")
	err := fs.WalkDir(disk, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(disk, name)
		own[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(own); err != nil {
		t.Fatal(err)
	}
	for name := range own {
		if name == Index {
			continue
		}
		changed := maps.Clone(own)
		text := append([]byte{}, own[name].Data...)
		text[len(text)/2] ^= 1
		changed[name] = &fstest.MapFile{Data: text}
		if err := Check(changed); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s with another byte: %v", name, err)
		}
		delete(changed, name)
		if err := Check(changed); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	more := maps.Clone(own)
	more["marked@18.2.1/more.js"] = &fstest.MapFile{}
	if err := Check(more); err == nil || !strings.Contains(err.Error(), "more.js is not in") {
		t.Errorf("a file too many: %v", err)
	}
}
