//go:build !unix

package proc

// Memory beside the heap, on systems where it is of the heap.

// Pages returns size bytes of memory. release frees it; nothing may use the memory from
// then on.
func Pages(size int) (memory []byte, release func(), err error) {
	return make([]byte, size), func() {}, nil
}
