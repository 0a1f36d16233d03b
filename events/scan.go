package events

// Reading a log as a stream of lines, in memory bounded by the longest line
// allowed.

import (
	"bytes"
	"errors"
	"io"
)

// MaxLine is the maximum length of a line that is read completely, in bytes.
// Longer lines are counted and reported, never skipped silently.
const MaxLine = 64 << 20

// Line is one non-blank line of a log. Seq counts them from 1, including
// unreadable ones. Raw excludes the LF and is valid until the next call of Next.
type Line struct {
	Seq    int64
	Offset int64 // where the line begins
	Next   int64 // where the next line begins
	Raw    []byte
	Torn   bool // the log ends without LF here
	Long   bool // longer than the limit: Raw is its first LongStart bytes
}

// Scanner reads lines from an offset of a log.
type Scanner struct {
	r      io.Reader
	buf    []byte
	from   int // unread bytes are buf[from:to]
	to     int
	offset int64
	seq    int64
	eof    bool
	max    int
}

// A scanner reads blocks of firstBlock bytes, since most reads begin near the end of a log. As
// long as the log fills them, blocks grow up to scanBlock.
const (
	firstBlock = 16 << 10
	scanBlock  = 256 << 10
)

// LongStart is how many bytes of a too long line are kept.
const LongStart = 64 << 10

// NewScanner returns a scanner of r, which starts at the given offset after seq counted lines.
func NewScanner(r io.Reader, offset, seq int64) *Scanner {
	return &Scanner{r: r, offset: offset, seq: seq, max: MaxLine, buf: make([]byte, firstBlock)}
}

// LimitLines sets the maximum length of a line to n bytes.
func (s *Scanner) LimitLines(n int) { s.max = n }

// Reset restarts the scanner with another log and reuses its buffer.
func (s *Scanner) Reset(r io.Reader, offset, seq int64) {
	if len(s.buf) > scanBlock {
		s.buf = make([]byte, scanBlock)
	}
	*s = Scanner{r: r, offset: offset, seq: seq, max: s.max, buf: s.buf}
}

// Next returns the next non-blank line, and io.EOF at the end.
func (s *Scanner) Next() (Line, error) {
	for {
		line, err := s.line()
		if err != nil {
			return Line{}, err
		}
		if len(bytes.TrimSpace(line.Raw)) == 0 {
			continue
		}
		s.seq++
		line.Seq = s.seq
		return line, nil
	}
}

// line returns the next line, blank or not.
func (s *Scanner) line() (Line, error) {
	searched := s.from
	for {
		if i := bytes.IndexByte(s.buf[searched:s.to], '\n'); i >= 0 {
			end := searched + i
			line := Line{Offset: s.offset, Next: s.offset + int64(end+1-s.from), Raw: s.buf[s.from:end]}
			s.from, s.offset = end+1, line.Next
			return line, nil
		}
		if s.eof {
			if s.from == s.to {
				return Line{}, io.EOF
			}
			line := Line{Offset: s.offset, Next: s.offset + int64(s.to-s.from), Raw: s.buf[s.from:s.to], Torn: true}
			s.from, s.offset = s.to, line.Next
			return line, nil
		}
		if s.to-s.from > s.max {
			return s.longLine()
		}
		kept := s.to - s.from
		if err := s.fill(); err != nil {
			return Line{}, err
		}
		searched = s.from + kept
	}
}

// longLine skips the rest of a line that exceeds the limit.
func (s *Scanner) longLine() (Line, error) {
	line := Line{Offset: s.offset, Long: true, Raw: bytes.Clone(s.buf[s.from : s.from+min(LongStart, s.to-s.from)])}
	s.offset += int64(s.to - s.from)
	s.from, s.to = 0, 0
	s.buf = make([]byte, scanBlock)
	for !s.eof {
		if err := s.fill(); err != nil {
			return Line{}, err
		}
		if i := bytes.IndexByte(s.buf[:s.to], '\n'); i >= 0 {
			s.from, s.offset = i+1, s.offset+int64(i+1)
			line.Next = s.offset
			return line, nil
		}
		s.offset += int64(s.to)
		s.from, s.to = 0, 0
	}
	line.Next, line.Torn = s.offset, true
	return line, nil
}

func (s *Scanner) fill() error {
	if s.from > 0 {
		s.to = copy(s.buf, s.buf[s.from:s.to])
		s.from = 0
	}
	if s.to == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	room := len(s.buf) - s.to
	n, err := s.r.Read(s.buf[s.to:])
	s.to += n
	if n == room && len(s.buf) < scanBlock {
		s.buf = append(s.buf, make([]byte, 3*len(s.buf))...)
	}
	if errors.Is(err, io.EOF) {
		s.eof = true
		return nil
	}
	return err
}

// CountLines counts the non-blank lines of r and reports whether the last one
// lacks its LF.
func CountLines(r io.Reader) (lines int64, torn bool, err error) {
	buf := make([]byte, firstBlock)
	inLine := false // the current line holds more than white space
	for n := 0; ; {
		if n == len(buf) && n < scanBlock {
			buf = make([]byte, scanBlock)
		}
		n, err = r.Read(buf)
		for block := buf[:n]; len(block) > 0; {
			i := bytes.IndexByte(block, '\n')
			if i < 0 {
				inLine = inLine || len(bytes.TrimSpace(block)) > 0
				break
			}
			if inLine || len(bytes.TrimSpace(block[:i])) > 0 {
				lines++
			}
			inLine, block = false, block[i+1:]
		}
		if errors.Is(err, io.EOF) {
			if inLine {
				lines++
			}
			return lines, inLine, nil
		}
		if err != nil {
			return lines, inLine, err
		}
	}
}
