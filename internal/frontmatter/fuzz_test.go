package frontmatter

import (
	"bytes"
	"testing"
)

// FuzzSplit checks that splitting and joining keeps the head, and the body up to one line end
// before it. A second round changes nothing.
func FuzzSplit(f *testing.F) {
	f.Add([]byte("---\na: 1\n---\n\n# T\n"))
	f.Add([]byte("---\r\na: 1\r\n---\r\nbody"))
	f.Add([]byte("---\n---\n---\n"))
	f.Add([]byte("---\na\n --- \n---"))
	f.Fuzz(func(t *testing.T, record []byte) {
		head, body, err := Split(record)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(record, body) || !bytes.Contains(record, head) {
			t.Fatalf("%q was split into %q and %q", record, head, body)
		}
		againHead, againBody, err := Split(Join(head, body))
		if err != nil || !bytes.Equal(againHead, head) || !bytes.HasSuffix(againBody, body) || len(againBody)-len(body) > 1 {
			t.Fatalf("%q and %q came back as %q and %q (%v)", head, body, againHead, againBody, err)
		}
		if twiceHead, twiceBody, err := Split(Join(againHead, againBody)); err != nil || !bytes.Equal(twiceHead, head) || !bytes.Equal(twiceBody, againBody) {
			t.Fatalf("%q became %q (%v)", againBody, twiceBody, err)
		}
	})
}
