package events

// Reading a log backwards from its end.

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Block sizes for reading backwards. The first block often suffices. Later blocks grow with the
// length of a line.
const (
	tailBlock  = 16 << 10
	otherBlock = 256 << 10
)

// Backward calls yield for the lines of a text of the given size, last line first, until yield
// returns false. Lines include their LF, which only the last one may lack. A line is valid only
// during the call. Memory use is about the length of the longest line.
func Backward(r io.ReaderAt, size int64, yield func(line []byte) bool) error {
	var text, other []byte // text is the unprocessed rest of the file from start on
	for start := size; start > 0; {
		block := min(start, max(otherBlock, 2*int64(len(text))))
		if start == size {
			block = min(start, tailBlock)
		}
		whole := slices.Grow(other[:0], int(block)+len(text))[:int(block)+len(text)]
		copy(whole[block:], text)
		start -= block
		if _, err := r.ReadAt(whole[:block], start); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text, other = whole, text
		for len(text) > 0 {
			at := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
			if at == 0 && start > 0 {
				break // the line starts before start
			}
			if !yield(text[at:]) {
				return nil
			}
			text = text[:at]
		}
	}
	return nil
}
