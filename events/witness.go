package events

// The witness of a log detects whether appended events disappear during the run.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"ac/internal/lock"
)

// maxWitnessed is how many bytes of lines a witness keeps.
const maxWitnessed = 1 << 20

// Witness detects tampering with a log while this process and others append to it. The last event
// that this process appended must still be in place, with its hash. If the log was emptied,
// truncated, replaced or removed, the next append or Check notices. A Witness belongs to one Log.
type Witness struct {
	// Tampered returns the event that records a loss. It is called under the log's lock and must
	// not block.
	Tampered func(Integrity) (Draft, error)

	before int64 // lines before this process's
	total  int64 // lines that must still exist, from this process and before
	end    int64 // end offset of the last line that must exist
	hash   string
	kept   []witnessedLine // newest lines of this process
	size   int
	lost   []witnessedLine // removed lines of this process, as far as they were kept
	broken *Integrity
}

// witnessedLine is a line of this process and its end offset.
type witnessedLine struct {
	line []byte
	end  int64
	hash string
}

// Watch sets the witness of a log and trusts its current state. lines is its current number of
// lines. Call it before the first append.
func (l *Log) Watch(ctx context.Context, w *Witness, lines int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	h, err := l.lock(ctx)
	if err != nil {
		return fmt.Errorf("watch %s: %w", l.name, err)
	}
	w.before, w.total, w.end, w.hash = lines, lines, h.size, h.head
	there, err := w.hasLine(h, w.end, w.hash)
	if err != nil {
		return errors.Join(fmt.Errorf("watch %s: %w", l.name, err), lock.Unlock(h.file))
	}
	if !there {
		w.end, w.hash = 0, "" // torn, or written by another program
	}
	l.witness = w
	return lock.Unlock(h.file)
}

// Check verifies that all appended lines still exist. If not, it appends the event that records
// the loss.
func (l *Log) Check(ctx context.Context) error {
	return l.Append(ctx)
}

// Loss returns what was lost, nil if nothing was, and the lost lines as far as they were kept.
// Call it after the last append: then both are final.
func (w *Witness) Loss() (i *Integrity, lost [][]byte) {
	if w.broken == nil {
		return nil, nil
	}
	for _, l := range w.lost {
		lost = append(lost, l.line)
	}
	return w.broken, lost
}

// checkLines compares the log with what it must contain. If lines are missing, it prepends the event
// that records the loss to the drafts. A read error does not count as a loss, and the next append
// checks again. The caller must hold the log's lock.
func (w *Witness) checkLines(h *handle, drafts []Draft) []Draft {
	if w.hash == "" {
		return drafts
	}
	if there, err := w.hasLine(h, w.end, w.hash); there || err != nil {
		return drafts
	}
	// The last remaining line of this process precedes the loss.
	at := len(w.kept)
	for ; at > 0; at-- {
		there, err := w.hasLine(h, w.kept[at-1].end, w.kept[at-1].hash)
		if err != nil {
			return drafts
		}
		if there {
			break
		}
	}
	lost := w.total
	if at > 0 {
		lost = int64(len(w.kept) - at)
	}
	w.lost = append(w.lost, w.kept[at:]...)
	if w.broken == nil {
		w.broken = &Integrity{State: "broken"}
	}
	w.broken.LostEvents += lost
	w.broken.LastHash = w.hash
	w.kept, w.total, w.hash = w.kept[:at], w.total-lost, ""
	if at > 0 {
		w.end, w.hash = w.kept[at-1].end, w.kept[at-1].hash
	}
	draft, err := w.Tampered(Integrity{State: "broken", LostEvents: lost, LastHash: w.broken.LastHash})
	if err != nil {
		return drafts
	}
	return append([]Draft{draft}, drafts...)
}

// hasLine reports whether a line with this hash ends at this offset.
func (w *Witness) hasLine(h *handle, end int64, hash string) (bool, error) {
	due := []byte(hashMember + hash + "\"}\n")
	if end > h.size || end < int64(len(due)) {
		return false, nil
	}
	found := make([]byte, len(due))
	if _, err := h.file.ReadAt(found, end-int64(len(due))); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return bytes.Equal(found, due), nil
}

// recordLines keeps the appended lines.
func (w *Witness) recordLines(h *handle, lines []byte, err error) {
	if _, partial := errors.AsType[*PartialError](err); err != nil && !partial {
		return
	}
	end := h.size - int64(len(lines))
	if err != nil {
		end = h.size // the written lines follow
	}
	for line := range bytes.Lines(lines) {
		end += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		hash := sealOf(line)
		w.kept = append(w.kept, witnessedLine{line: line, end: end, hash: hash})
		w.size += len(line)
		w.total, w.end, w.hash = w.total+1, end, hash
	}
	drop := 0
	for w.size > maxWitnessed && drop < len(w.kept)-1 {
		w.size -= len(w.kept[drop].line)
		drop++
	}
	w.kept = w.kept[drop:]
}
