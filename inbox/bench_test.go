package inbox

import (
	"testing"

	"ac/governance"
	"ac/workspace"
)

// BenchmarkResolve approves items of all types, one after the other, on the real file system with
// every sync.
func BenchmarkResolve(b *testing.B) {
	s := newStage(b, 0)
	w, err := workspace.Open(workspace.SystemEnv(), s.dir)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := w.Close(); err != nil {
			b.Error(err)
		}
	})
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		made := s.add(b, w, kindsOfItems()[i%4], i)
		b.StartTimer()
		if _, err := Resolve(b.Context(), w, s.ruling(made.artifact, governance.Approved), jobs{s.project}); err != nil {
			b.Fatal(err)
		}
	}
}
