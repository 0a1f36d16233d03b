package durable

// Files that consist of lines.

import (
	"bytes"
	"io"
)

// WholeLines returns the end of the last complete line within the first size bytes of a file:
// the offset after its LF, 0 if there is none. What follows it is a torn tail.
func WholeLines(file io.ReaderAt, size int64) (end int64, err error) {
	block := make([]byte, 64<<10)
	for size > 0 {
		from := max(0, size-int64(len(block)))
		read := block[:size-from]
		if _, err := file.ReadAt(read, from); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(read, '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		size = from
	}
	return 0, nil
}
