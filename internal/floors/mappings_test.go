package floors

import (
	"regexp"
	"strings"
	"testing"
)

// TestMappingsAreHeld checks that each test that docs/mappings.md names exists: the function and
// the row of its table.
func TestMappingsAreHeld(t *testing.T) {
	t.Parallel()
	page := texts(t, func(name string) bool { return strings.HasSuffix(name, "mappings.md") }, "docs")
	named := regexp.MustCompile("`((?:runs|internal)/[a-z]+) (Test\\w+)(?:/([^`]+))?`").FindAllStringSubmatch(page, -1)
	if len(named) < 100 {
		t.Fatalf("docs/mappings.md names %d tests", len(named))
	}
	tests := map[string]string{}
	for _, m := range named {
		where, function, row := m[1], m[2], m[3]
		if _, known := tests[where]; !known {
			tests[where] = texts(t, ending("_test.go"), where)
		}
		if !strings.Contains(tests[where], "func "+function+"(") {
			t.Errorf("%s has no %s", where, function)
		}
		if row != "" && !strings.Contains(tests[where], `"`+row+`"`) {
			t.Errorf("%s %s has no row %q", where, function, row)
		}
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| ") && !strings.Contains(line, "Test") && !strings.Contains(line, "| test") && !strings.Contains(line, "| codex | claude") {
			t.Errorf("no test holds the row: %s", line)
		}
	}
}
