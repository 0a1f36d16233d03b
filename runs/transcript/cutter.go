package transcript

import "bytes"

// Cutter splits chunks of text into lines. It skips lines longer than 8 MiB, in bounded memory.
// The zero value is ready for use.
type Cutter struct {
	kept []byte
	skip bool
	most int // largest line in bytes, 0 for maxLine
}

const (
	// maxLine bounds the length of a decoded line, in bytes.
	maxLine = 8 << 20
	// keptCap bounds the memory that a cutter keeps between lines, in bytes.
	keptCap = 64 << 10
)

func (c *Cutter) tooLong(n int) bool {
	most := c.most
	if most == 0 {
		most = maxLine
	}
	return c.skip || n > most
}

// Add processes the next chunk and calls line for each completed line, without its newline. line
// must not keep its argument.
func (c *Cutter) Add(text []byte, line func([]byte)) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			if c.skip = c.tooLong(len(c.kept) + len(text)); c.skip {
				c.kept = nil
			} else {
				c.kept = append(c.kept, text...)
			}
			return
		}
		switch {
		case c.tooLong(len(c.kept) + i):
		case len(c.kept) == 0:
			line(text[:i])
		default:
			line(append(c.kept, text[:i]...))
		}
		if c.kept, c.skip, text = c.kept[:0], false, text[i+1:]; cap(c.kept) > keptCap {
			c.kept = nil
		}
	}
}

// End passes the incomplete last line to line.
func (c *Cutter) End(line func([]byte)) {
	if len(c.kept) > 0 && !c.skip {
		line(c.kept)
	}
	c.kept, c.skip = nil, false
}

func (c *Cutter) clone() Cutter { return Cutter{bytes.Clone(c.kept), c.skip, c.most} }
