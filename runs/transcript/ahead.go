package transcript

// Reading a long log with two processors: one reads the lines, the other one applies them.

import (
	"ac/events"
)

const (
	// aheadBytes and aheadLines are about how much is read before it is handed over.
	aheadBytes = 256 << 10
	aheadLines = 1000
	// aheadReads is how many of such pieces there are: one that is read, one that is applied,
	// and one between them.
	aheadReads = 3
)

// readLine is a line of a log as it was read.
type readLine struct {
	seq   int64
	event Event
	sound bool // it is an event
	agentOutput
}

// piece is some lines, in memory that is used again.
type piece struct {
	lines []readLine
	text  []byte
	bytes int // of all lines
}

// AdvanceAll advances by all lines that read visits, which it does in a goroutine of its own
// while others are applied here. A line is valid until visit returns. It returns what read
// returns, once everything is applied.
func (f *Fold) AdvanceAll(read func(visit func(seq int64, line []byte)) error) error {
	ready, free := make(chan *piece, aheadReads), make(chan *piece, aheadReads)
	for range aheadReads {
		free <- &piece{text: make([]byte, 0, aheadBytes+aheadBytes/4)}
	}
	failed := make(chan error, 1)
	go func() { // ends with the lines
		defer close(ready)
		p := <-free
		failed <- read(func(seq int64, line []byte) {
			if p.add(seq, line); p.bytes < aheadBytes && len(p.lines) < aheadLines {
				return
			}
			ready <- p
			p = <-free
		})
		ready <- p
	}()
	f.quiet = true
	defer func() {
		f.quiet = false
		for p := range ready { // after a panic: nothing reads on behind who asked
			free <- p
		}
	}()
	for p := range ready {
		for i := range p.lines {
			f.advance(&p.lines[i])
		}
		clear(p.lines)
		p.lines, p.text, p.bytes = p.lines[:0], p.text[:0], 0
		free <- p
	}
	return <-failed
}

// add reads a line.
func (p *piece) add(seq int64, line []byte) {
	l := readLine{seq: seq}
	l.event, l.sound = readEvent(line)
	if l.sound && l.event.Type == events.ProviderRaw {
		if l.agentOutput = readChunk(l.event.Payload, p.text[len(p.text):]); l.said {
			p.took(len(l.chunk))
		}
		l.event.Payload = nil
	} else if l.sound {
		l.event.Payload = append(p.text[len(p.text):], l.event.Payload...)
		p.took(len(l.event.Payload))
	}
	p.lines = append(p.lines, l)
}

// took counts memory that a line took. What did not fit lies elsewhere.
func (p *piece) took(n int) {
	if p.bytes += n; len(p.text)+n <= cap(p.text) {
		p.text = p.text[:len(p.text)+n]
	}
}

func (f *Fold) advance(l *readLine) {
	if !l.sound {
		f.seq = l.seq // it counts
		return
	}
	f.apply(l.seq, l.event, l.agentOutput)
}
