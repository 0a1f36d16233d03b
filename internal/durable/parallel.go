package durable

// Running several syncs concurrently.

import "sync"

// parallelCalls is the number of goroutines of Parallel. It uses them for parallelFrom calls or
// more.
const (
	parallelCalls = 8
	parallelFrom  = 16
)

// Parallel calls do for 0 to n-1 and returns their errors, after all calls have returned. It
// makes few calls in sequence, and many concurrently, since they mostly wait for the disk.
func Parallel(n int, do func(i int) error) []error {
	errs := make([]error, n)
	if n < parallelFrom {
		for i := range n {
			errs[i] = do(i)
		}
		return errs
	}
	var wg sync.WaitGroup
	next := make(chan int)
	for range parallelCalls {
		wg.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errs
}
