package transcript

// Texts that grow piece by piece: a long answer comes in thousands of pieces, and what
// stands there already is not copied for each of them.

import (
	"strings"

	"ac/internal/clip"
)

// growing is a text that pieces are added to.
type growing struct{ b *strings.Builder }

// size is how much memory it holds, 0 for a text that never grew.
func (g *growing) size() int {
	if g.b == nil {
		return 0
	}
	return g.b.Cap()
}

// add appends a piece to a text and returns the result, which the next call expects.
// Earlier results stay as they are; a text from elsewhere is taken over.
func (g *growing) add(text, piece string) string {
	// A copy of an item has the builder of the one it was copied from: the first to
	// go on keeps it. Comparing a text with itself costs nothing.
	if g.b == nil || g.b.String() != text {
		g.b = &strings.Builder{}
		g.b.Grow(2 * (len(text) + len(piece)))
		g.b.WriteString(text)
	}
	g.b.WriteString(piece)
	return g.b.String()
}

// addTail is add for the last n bytes of a text.
func (g *growing) addTail(text, piece string, n int) string {
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
