package rpc

import (
	"fmt"
	"strings"
	"testing"

	"ac/internal/fault"
)

// TestPathsThatNoSystemTakes checks that paths too long for any system are refused as
// invalid params. Deep paths and names at the limit are accepted.
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
