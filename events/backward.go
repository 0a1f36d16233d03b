package events

// Reading a log from its end.

import (
	"bytes"
	"errors"
	"io"
	"slices"
)

// Blocks of a log that is read backwards: the first one, which is often enough, and the others,
// which grow while a line is longer.
const (
	tailBlock  = 16 << 10
	otherBlock = 256 << 10
)

// Backward passes the lines of a text of the given size to yield, the last one first, until it
// says false: with their LF, which only the last one may lack. A line is valid within the call.
// It holds about as much of the text at once as the longest line has.
func Backward(r io.ReaderAt, size int64, yield func(line []byte) bool) error {
	var text, other []byte // text is the file from start on, as far as it was not passed on
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
				break // the line begins before start
			}
			if !yield(text[at:]) {
				return nil
			}
			text = text[:at]
		}
	}
	return nil
}
