package terminal

// The line that shows the progress of a long operation.

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ProgressEvery is how often the line is drawn, progressAfter how long nothing is shown.
const (
	ProgressEvery = 100 * time.Millisecond
	progressAfter = time.Second
)

// Progress is a line on a terminal that is redrawn until the operation ends, and then erased.
// Nothing is drawn in the first second. A nil Progress draws nothing. Its methods are safe for
// concurrent use.
type Progress struct {
	out     io.Writer
	label   string
	columns int
	unicode bool

	mu          sync.Mutex
	began       time.Time
	done, total int
	unit        string
	drawn       bool

	once sync.Once
	stop chan struct{}
	over chan struct{}
}

// StartProgress starts a line that is drawn at each tick, until End.
func StartProgress(out io.Writer, label string, columns int, unicode bool, began time.Time, ticks <-chan time.Time) *Progress {
	p := &Progress{out: out, label: label, columns: columns, unicode: unicode, began: began, stop: make(chan struct{}), over: make(chan struct{})}
	go func() { // End waits for it
		defer close(p.over)
		for {
			select {
			case <-p.stop:
				return
			case now := <-ticks:
				p.draw(now)
			}
		}
	}()
	return p
}

// Count sets how much is done, out of total. A total of 0 means that it is unknown.
func (p *Progress) Count(done, total int, unit string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.unit = done, total, unit
}

// End erases the line. It is idempotent.
func (p *Progress) End() {
	if p == nil {
		return
	}
	p.once.Do(func() {
		close(p.stop)
		<-p.over
		if p.drawn {
			_, _ = io.WriteString(p.out, "\r\x1b[K") // best effort
		}
	})
}

func (p *Progress) draw(now time.Time) {
	took := now.Sub(p.began)
	if took < progressAfter {
		return
	}
	p.mu.Lock()
	text := p.text(took)
	p.drawn = true
	p.mu.Unlock()
	_, _ = io.WriteString(p.out, "\r"+text+"\x1b[K")
}

// barColumns is the width of the bar.
const barColumns = 12

// text returns the line. It leaves the last column free, so that no terminal wraps it.
func (p *Progress) text(took time.Duration) string {
	parts := []string{p.label}
	switch {
	case p.unit == "":
		parts = append(parts, strconv.Itoa(int(took/time.Second))+" s")
	case p.total <= 0:
		parts = append(parts, FormatGrouped(p.done)+" "+p.unit)
	default:
		filled := min(barColumns, p.done*barColumns/p.total)
		full, empty := "#", "."
		if p.unicode {
			full, empty = "█", "░"
		}
		parts = append(parts, fmt.Sprintf("%s / %s %s", FormatGrouped(p.done), FormatGrouped(p.total), p.unit), strings.Repeat(full, filled)+strings.Repeat(empty, barColumns-filled))
		if p.done > 0 && p.done <= p.total {
			left := time.Duration(float64(took) / float64(p.done) * float64(p.total-p.done))
			parts = append(parts, strconv.Itoa(int(left/time.Second))+" s left")
		}
	}
	text := strings.Join(parts, "  ")
	return strings.TrimRight(Fit(text, min(Columns(text), max(1, p.columns-1))), " ")
}
