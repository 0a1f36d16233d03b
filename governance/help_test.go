package governance

import (
	"testing"

	"ac/internal/fault"
)

// noReader fails the test that reads from it.
type noReader struct{ t *testing.T }

func (r noReader) Read(name string) ([]byte, error) {
	r.t.Errorf("%s is read", name)
	return nil, fault.New(fault.NotFound, "%s does not exist", name)
}

// TestHelpOfAnUnsafeID checks that Help rejects an unsafe id before it reads any file.
func TestHelpOfAnUnsafeID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", ".", "..", "../help_a", "help_a/../../company", "/etc/passwd", "help\x00a"} {
		if _, err := Help(noReader{t}, id); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}
