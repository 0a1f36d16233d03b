package page

import (
	"bytes"
	"testing"
)

func TestDocumentIsTheSameAtEveryCall(t *testing.T) {
	t.Parallel()
	first, script, style, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	again, script2, style2, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, again) || script != script2 || style != style2 {
		t.Error("two calls gave two documents")
	}
}
