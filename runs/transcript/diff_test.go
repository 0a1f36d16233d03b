package transcript

import (
	"strings"
	"testing"
)

// TestChanged checks that changed lines count even if they look like file headers, and that
// file headers do not.
func TestChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		diff           string
		added, removed int
	}{
		"none":                         {"", 0, 0},
		"a comment of SQL and a sum":   {unifiedDiff("a", "x\n-- old\n", "x\n++ new\n"), 1, 1},
		"a new file":                   {unifiedDiff("a", "", "++ x\n++ y\n"), 2, 0},
		"a deleted file":               {unifiedDiff("a", "-- x\n", ""), 0, 1},
		"two files":                    {unifiedDiff("a", "-- x\n", "y\n") + unifiedDiff("b", "x\n", "++ y\n"), 2, 2},
		"two hunks":                    {"--- a/a\n+++ b/a\n@@ -1 +1 @@ f\n--- x\n+++ y\n@@ -9,2 +9,3 @@\n \n+++ z\n\n", 2, 1},
		"a hunk without its last line": {unifiedDiff("a", "", "x\ny") + "\\ No newline at end of file\n", 2, 0},
		"a hunk that was cut":          {"--- /dev/null\n+++ b/a\n@@ -0,0 +1,9 @@\n+x\n--- a/b\n+++ b/b\n", 1, 0},
		"a head without numbers":       {"--- a/a\n+++ b/a\n@@\n-x\n+y\n--- a/b\n+++ b/b\n@@ ... @@\n+z\n", 2, 1},
		"a large change":               {unifiedDiff("a", "-- x\n", strings.Repeat("++ y\n", maxCompared/4)), 1 + maxDiff/5, 1},
	} {
		if added, removed := CountChangedLines(c.diff); added != c.added || removed != c.removed {
			t.Errorf("%s: +%d -%d\n%.400s", name, added, removed, c.diff)
		}
	}
}
