package terminal

// ring keeps the newest bytes of an output. Positions count from the first byte ever written.
type ring struct {
	bytes []byte // grows up to size, within its memory
	size  int
	end   int64 // the number of bytes written so far
}

// newRing creates a ring that uses all of memory and never reallocates it.
func newRing(memory []byte) ring { return ring{bytes: memory[:0], size: len(memory)} }

// start returns the position of the oldest byte kept.
func (r *ring) start() int64 { return r.end - min(int64(len(r.bytes)), r.end) }

// write appends bytes and overwrites the oldest ones once the ring is full.
func (r *ring) write(p []byte) {
	if len(r.bytes) < r.size {
		n := min(len(p), r.size-len(r.bytes))
		r.bytes, p, r.end = append(r.bytes, p[:n]...), p[n:], r.end+int64(n)
	}
	for len(p) > 0 {
		n := copy(r.bytes[int(r.end%int64(r.size)):], p)
		p, r.end = p[n:], r.end+int64(n)
	}
}

// read copies up to most bytes, starting at from or at the oldest byte kept, whichever is
// later. It uses buf if that is large enough.
func (r *ring) read(from int64, most int, buf []byte) (at int64, p []byte) {
	at = max(from, r.start())
	n := int(min(int64(most), r.end-at))
	if n <= 0 {
		return at, nil
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	p = buf[:n]
	first := int(at % int64(r.size))
	copied := copy(p, r.bytes[first:min(first+n, len(r.bytes))])
	copy(p[copied:], r.bytes)
	return at, p
}
