package transcript

// Texts that grow in pieces. A long answer arrives in thousands of pieces, and appending one does
// not copy the text before it.

import (
	"strings"

	"ac/internal/clip"
)

// textBuffer is the buffer of a text that grows.
type textBuffer struct{ b *strings.Builder }

// size returns the allocated memory in bytes, 0 for a text that never grew.
func (g *textBuffer) size() int {
	if g.b == nil {
		return 0
	}
	return g.b.Cap()
}

// add appends a piece to a text and returns the result, to be passed to the next call. Earlier
// results stay valid. A text that is not the last result is copied first.
func (g *textBuffer) add(text, piece string) string {
	// A copied item shares the builder with its original. The first one to append keeps it.
	// Comparing a text with itself is free.
	if g.b == nil || g.b.String() != text {
		g.b = &strings.Builder{}
		g.b.Grow(2 * (len(text) + len(piece)))
		g.b.WriteString(text)
	}
	g.b.WriteString(piece)
	return g.b.String()
}

// addTail is add, limited to the last n bytes of the text.
func (g *textBuffer) addTail(text, piece string, n int) string {
	piece = clip.Tail(piece, n)
	if g.b == nil || g.b.Len()+len(piece) > 4*n || !strings.HasSuffix(g.b.String(), text) {
		text = clip.Tail(text, n)
		g.b = &strings.Builder{}
		g.b.Grow(min(4*n, 2*(len(text)+len(piece))))
		g.b.WriteString(text)
	}
	g.b.WriteString(piece)
	return clip.Tail(g.b.String(), n)
}
