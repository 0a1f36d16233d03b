package workspace

// Reading many documents concurrently.

import (
	"runtime"
	"sync"
)

// perReader is the number of documents that justify one more goroutine.
const perReader = 16

// perWorker is the number of calls that justify one more goroutine.
const perWorker = 4

// Each calls fn for 0 to n-1, concurrently, and returns after all calls have ended.
func Each(n int, fn func(i int)) {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/perWorker))
	var wg sync.WaitGroup
	for at := range workers {
		wg.Go(func() {
			for i := at; i < n; i += workers {
				fn(i)
			}
		})
	}
	wg.Wait()
}

// ReadEach reads the documents of these ids concurrently. It returns them in the order of
// ids, without those that cannot be read. It calls read from several goroutines, which have
// ended when it returns.
func ReadEach[K, T any](ids []K, read func(id K) (T, error)) []T {
	type outcome struct {
		document T
		ok       bool
	}
	found := make([]outcome, len(ids))
	readers := max(1, min(runtime.GOMAXPROCS(0), len(ids)/perReader))
	var wg sync.WaitGroup
	for r := range readers {
		wg.Go(func() {
			for i := r; i < len(ids); i += readers {
				document, err := read(ids[i])
				found[i] = outcome{document, err == nil}
			}
		})
	}
	wg.Wait()
	documents := make([]T, 0, len(ids))
	for _, f := range found {
		if f.ok {
			documents = append(documents, f.document)
		}
	}
	return documents
}
