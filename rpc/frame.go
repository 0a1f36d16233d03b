package rpc

// Framing: one line of input is one message.

import (
	"bytes"
	"errors"
	"io"
	"runtime"
)

// MaxLine is the maximum length of a line, in bytes. Longer lines are refused and skipped in
// bounded memory.
const MaxLine = 64 << 20

const (
	readBlock = 64 << 10
	// keepBuffer is the size of the largest buffer that is reused after a long line.
	keepBuffer = 1 << 20
	// hugeBuffer is the size above which freeing a buffer triggers a garbage collection.
	hugeBuffer = 16 << 20
)

// errLong is returned for a line that is too long. The reader can continue with the next line.
var errLong = errors.New("line too long")

// frameReader splits a stream into lines. It is not safe for concurrent use.
type frameReader struct {
	r    io.Reader
	max  int
	buf  []byte
	from int
	to   int
	err  error // of the stream, once it has ended
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: r, max: MaxLine, buf: make([]byte, readBlock)}
}

// next returns the next non-blank line without its line end, valid until the
// next call. After the last one it returns the error that ended the stream,
// io.EOF for its end.
func (f *frameReader) next() ([]byte, error) {
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\uFEFF")))
		if len(line) > 0 {
			return line, nil
		}
	}
}

// ready reports whether another complete line is already in memory.
func (f *frameReader) ready() bool {
	return bytes.IndexByte(f.buf[f.from:f.to], '\n') >= 0
}

func (f *frameReader) line() ([]byte, error) {
	if f.from == f.to && len(f.buf) > keepBuffer {
		f.forget()
	}
	searched := f.from
	for {
		if i := bytes.IndexByte(f.buf[searched:f.to], '\n'); i >= 0 {
			line := f.buf[f.from : searched+i]
			f.from = searched + i + 1
			if len(line) > f.max {
				return nil, errLong
			}
			return line, nil
		}
		if f.err != nil {
			line := f.buf[f.from:f.to]
			f.from = f.to
			if len(line) > f.max {
				return nil, errLong
			}
			if len(line) == 0 {
				return nil, f.err
			}
			return line, nil
		}
		if f.to-f.from > f.max {
			f.skip()
			return nil, errLong
		}
		searched = f.fill()
	}
}

// fill reads more and returns the index of the new bytes.
func (f *frameReader) fill() int {
	if f.from > 0 && f.to == len(f.buf) {
		f.to = copy(f.buf, f.buf[f.from:f.to])
		f.from = 0
	}
	if f.to == len(f.buf) {
		f.grow()
	}
	at := f.to
	n, err := f.r.Read(f.buf[f.to:])
	f.to += n
	f.err = err
	return at
}

// grow quadruples the buffer, so that little garbage accumulates, up to the
// size that the longest line needs.
func (f *frameReader) grow() {
	size := 4 * len(f.buf)
	if size >= f.max {
		size = max(f.max, len(f.buf)) + readBlock
	}
	larger := make([]byte, size)
	copy(larger, f.buf[:f.to])
	f.buf = larger
}

// forget replaces a large buffer by a small one. It collects a huge one at once, so that the next
// long line does not need memory in addition to it.
func (f *frameReader) forget() {
	huge := len(f.buf) > hugeBuffer
	f.buf, f.from, f.to = make([]byte, readBlock), 0, 0
	if huge {
		runtime.GC()
	}
}

// skip skips the rest of a line that is too long.
func (f *frameReader) skip() {
	f.forget()
	for f.err == nil {
		f.from, f.to = 0, 0
		f.fill()
		if i := bytes.IndexByte(f.buf[:f.to], '\n'); i >= 0 {
			f.from = i + 1
			return
		}
	}
	f.from = f.to
}
