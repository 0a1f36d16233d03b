package floors

import (
	"path/filepath"
	"testing"
)

const (
	mostFileLines    = 450
	mostPackageLines = 5000
)

// TestFilesAndPackagesAreSmall limits the lines of each file and package of production code.
func TestFilesAndPackagesAreSmall(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, s := range sources(t) {
		n := s.fset.File(s.file.FileStart).LineCount() - 1 // LineCount counts an empty line after the last one
		if lines[s.pkg] += n; n > mostFileLines {
			t.Errorf("%s has %d lines, more than %d: it holds several ideas", filepath.Join(s.pkg, s.name), n, mostFileLines)
		}
	}
	for pkg, n := range lines {
		if n > mostPackageLines {
			t.Errorf("package %s has %d lines, more than %d: split it by idea", pkg, n, mostPackageLines)
		}
	}
}
