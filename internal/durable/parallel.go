package durable

// Waiting for several syncs at once.

import "sync"

// How many calls Parallel makes at once, and from how many on.
const (
	parallelCalls = 8
	parallelFrom  = 16
)

// Parallel calls do for 0 to n-1 and returns their errors. Few calls come one after the
// other; of many some go on side by side, since what they wait for is mostly the disk. It
// returns when all are done.
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
