package rpc

import (
	"fmt"
	"strings"
	"testing"

	"ac/internal/fault"
)

// TestPathsThatNoSystemTakes shows that a path beyond what a system takes is refused
// before anything looks for it, and that a deep one costs few looks.
func TestPathsThatNoSystemTakes(t *testing.T) {
	t.Parallel()
	table := NewTable("test")
	for name, c := range map[string]struct {
		dir    string
		refuse bool
	}{
		"20,000 components": {strings.Repeat("/a", 20_000), true},
		"one long name":     {"/" + strings.Repeat("n", 256), true},
		"the longest name":  {"/" + strings.Repeat("n", 255), false},
		"2,000 components":  {strings.Repeat("/a", 2_000), false},
	} {
		m := table.byName["workspace.open"]
		_, _, err := m.prepare(m.params(), fmt.Appendf(nil, `{"workspace_dir":%q}`, c.dir))
		if c.refuse != fault.Is(err, fault.InvalidParams) || (!c.refuse && err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
