package web

import (
	"os"
	"strings"
	"testing"
)

// TestCallableIsDocumented holds docs/web.md to the methods that the page may call.
func TestCallableIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/web.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range callable() {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/web.md does not name %s", name)
		}
	}
}
