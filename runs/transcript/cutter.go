package transcript

import "bytes"

// Cutter cuts chunks of text into lines. Lines beyond 8 MiB are passed over, in
// bounded memory. Its zero value is ready for use.
type Cutter struct {
	kept []byte
	skip bool
}

// maxLine bounds a line that is decoded.
const maxLine = 8 << 20

// Add takes the next chunk and calls line for each line that it ends, without
// the end. What line gets belongs to the cutter.
func (c *Cutter) Add(text []byte, line func([]byte)) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			if c.skip = c.skip || len(c.kept)+len(text) > maxLine; c.skip {
				c.kept = nil
			} else {
				c.kept = append(c.kept, text...)
			}
			return
		}
		switch {
		case c.skip || len(c.kept)+i > maxLine:
		case len(c.kept) == 0:
			line(text[:i])
		default:
			line(append(c.kept, text[:i]...))
		}
		c.kept, c.skip, text = c.kept[:0], false, text[i+1:]
	}
}

// End takes what is left as a line.
func (c *Cutter) End(line func([]byte)) {
	if len(c.kept) > 0 && !c.skip {
		line(c.kept)
	}
	c.kept = nil
}
