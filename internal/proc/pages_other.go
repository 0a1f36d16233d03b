//go:build !unix

package proc

// Memory outside the heap. On this system it comes from the heap.

// Pages returns size bytes of memory. release frees it; the memory must not be used afterwards.
func Pages(size int) (memory []byte, release func(), err error) {
	return make([]byte, size), func() {}, nil
}
