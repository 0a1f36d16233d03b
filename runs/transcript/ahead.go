package transcript

// Reading a long log on two cores: one goroutine parses the lines, another applies them.

import (
	"ac/events"
)

const (
	// aheadBytes and aheadLines are the approximate size of a piece.
	aheadBytes = 256 << 10
	aheadLines = 1000
	// aheadReads is the number of pieces: one being read, one being applied, and one in between.
	aheadReads = 3
)

// readLine is a parsed line of a log.
type readLine struct {
	seq     int64
	event   Event
	isEvent bool // the line is an event
	agentOutput
}

// piece is a batch of lines. Its memory is reused.
type piece struct {
	lines []readLine
	text  []byte
	bytes int // of all lines
}

// AdvanceAll advances by all lines that read visits. It runs read in a goroutine and applies the
// lines concurrently on the caller's. A line is valid until visit returns. AdvanceAll returns
// read's error, once everything is applied.
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
		for p := range ready { // after a panic, drain, so that read does not outlive the call
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

// add parses a line and adds it to the piece.
func (p *piece) add(seq int64, line []byte) {
	l := readLine{seq: seq}
	l.event, l.isEvent = readEvent(line)
	if l.isEvent && l.event.Type == events.ProviderRaw {
		if l.agentOutput = readChunk(l.event.Payload, p.text[len(p.text):]); l.hasChunk {
			p.took(len(l.chunk))
		}
		l.event.Payload = nil
	} else if l.isEvent {
		l.event.Payload = append(p.text[len(p.text):], l.event.Payload...)
		p.took(len(l.event.Payload))
	}
	p.lines = append(p.lines, l)
}

// took counts the memory of a line. What did not fit was allocated elsewhere.
func (p *piece) took(n int) {
	if p.bytes += n; len(p.text)+n <= cap(p.text) {
		p.text = p.text[:len(p.text)+n]
	}
}

func (f *Fold) advance(l *readLine) {
	if !l.isEvent {
		f.seq = l.seq // it counts as a line
		return
	}
	f.apply(l.seq, l.event, l.agentOutput)
}
