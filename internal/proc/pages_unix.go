//go:build unix

package proc

// Memory outside the heap.

import "syscall"

// Pages returns size bytes of memory outside the heap, which take up room only once they are
// written. Data that is kept there for long does not count as live heap, so the garbage
// collector does not let an equal amount of garbage accumulate. release frees the memory; it
// must not be used afterwards.
func Pages(size int) (memory []byte, release func(), err error) {
	memory, err = syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return memory, func() { _ = syscall.Munmap(memory) }, nil // cannot fail: it was mapped
}
