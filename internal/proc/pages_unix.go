//go:build unix

package proc

// Memory beside the heap.

import "syscall"

// Pages returns size bytes of memory beside the heap, which take room once they are written:
// what is kept for long in it makes the collector wait for no garbage of the same size.
// release frees it; nothing may use the memory from then on.
func Pages(size int) (memory []byte, release func(), err error) {
	memory, err = syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, err
	}
	return memory, func() { _ = syscall.Munmap(memory) }, nil // it was mapped
}
