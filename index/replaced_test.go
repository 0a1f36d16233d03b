package index

import (
	"testing"
	"time"

	"ac/index/source"
	"ac/internal/durable"
)

// TestReplacedWhileRead checks that a document replaced between the walk and its reading does
// not go missing, and is read with its new version.
func TestReplacedWhileRead(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	const name = "work/projects/p/runs/r0/run.yaml"
	var walked source.File
	list := source.Walk{FS: w.FS, Found: func(s source.File) {
		if s.Path == name {
			walked = s
		}
	}}
	must(list.Run())
	c.replace(name, runYAML("r0", "a1", "failed"))
	p := &pass{w: w, known: newFileStates(), now: time.Now()}
	r := p.read(walked)
	st, err := w.FS.Stat(name)
	if err != nil || r.gone || r.doc.Claim == "" || r.source.Version != durable.VersionOf(st) {
		t.Errorf("read as %+v (%v)", r, err)
	}
}
