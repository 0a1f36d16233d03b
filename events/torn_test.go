package events

// Damaged logs: cut, zeroed, with flipped bits or moved lines, at every position. Verification
// accepts no damage and reports its exact place. Appends keep the prefix before it.

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sector is the unit in which disks write, in bytes.
const sector = 512

// torn is the whole log of an ended run, with the checkpoint that the run's record keeps.
type torn struct {
	*fixture
	whole   []byte
	lines   [][]byte
	offsets []int64
	mark    Checkpoint
}

func newTorn(t *testing.T, n int) *torn {
	t.Helper()
	f := newFixture(t)
	log := OpenLog(f.root, FileName)
	var drafts []Draft
	for i := range n - 1 {
		drafts = append(drafts, f.draft(t, "x.note", strings.Repeat("é\u2028\x00 ", 3+i*7%29)))
	}
	if err := log.Append(context.Background(), append(drafts, f.draft(t, RunEnded, nil))...); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	s := &torn{fixture: f, whole: f.read(t)}
	s.lines = bytes.SplitAfter(s.whole, []byte("\n"))[:n]
	at := int64(0)
	for _, line := range s.lines {
		s.offsets = append(s.offsets, at)
		at += int64(len(line))
	}
	s.mark = Checkpoint{Count: int64(n - 1), Head: sealOf(s.lines[n-2])}
	if report := s.verify(t, s.whole); !report.Sound() {
		t.Fatalf("the whole log: %+v", report)
	}
	return s
}

func (s *torn) verify(t *testing.T, log []byte) *Report {
	t.Helper()
	report, err := Verify(bytes.NewReader(log), &s.mark, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// lineAt returns the line that contains a byte. The LF belongs to its line.
func (s *torn) lineAt(offset int64) int {
	i, found := slices.BinarySearch(s.offsets, offset)
	if !found {
		i--
	}
	return i
}

// told checks that verification reports damage at the line that begins at place.
func (s *torn) told(t *testing.T, what string, log []byte, place int64) {
	t.Helper()
	report := s.verify(t, log)
	if report.Sound() || report.FirstFault != place {
		t.Errorf("%s: sound %v, place %d, want %d: %+v", what, report.Sound(), report.FirstFault, place, report)
	}
}

// appended appends to a damaged log and checks that the text before the damage is
// unchanged, and that verification still reports the same place.
func (s *torn) appended(t *testing.T, what string, text []byte, place int64) {
	t.Helper()
	name := filepath.Join(s.root.Path(), FileName)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	log := OpenLog(s.root, FileName)
	if err := log.Append(context.Background(), s.draft(t, "x.later", nil)); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	after := s.read(t)
	if !bytes.HasPrefix(after, s.whole[:place]) {
		t.Errorf("%s: what was before the damage has changed", what)
	}
	s.told(t, what+", appended to", after, place)
}

// TestCutIsToldExactly cuts a log at every byte and checks the report.
func TestCutIsToldExactly(t *testing.T) {
	t.Parallel()
	s := newTorn(t, 9)
	for cut := range s.whole {
		i := s.lineAt(int64(cut))
		whole, place := i, s.offsets[i]
		switch {
		case int64(cut) == place: // between two lines: only the checkpoint shows it
			place = -1
		case cut == int(place)+len(s.lines[i])-1: // the LF alone is missing
			whole, place = i+1, -1
		}
		report := s.verify(t, s.whole[:cut])
		if report.Events != int64(whole) || report.FirstFault != place || report.Sound() != (cut == len(s.whole)-1) {
			t.Fatalf("cut at %d: %+v, want %d events and place %d", cut, report, whole, place)
		}
	}
}

// TestSectorsZeroed zeroes each sector of a log, as a file system may leave its end
// after a crash.
func TestSectorsZeroed(t *testing.T) {
	t.Parallel()
	s := newTorn(t, 32)
	for at := 0; at < len(s.whole); at += sector {
		log := bytes.Clone(s.whole)
		clear(log[at:min(len(log), at+sector)])
		place := s.offsets[s.lineAt(int64(at))]
		s.told(t, "zeroed", log, place)
		s.appended(t, "zeroed", log, place)
	}
}

// TestBitsInTheMiddle flips each bit of an event in the middle of a log, including its
// LF.
func TestBitsInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newTorn(t, 5)
	const i = 2
	for n := range s.lines[i] {
		for bit := range 8 {
			log := bytes.Clone(s.whole)
			log[int(s.offsets[i])+n] ^= 1 << bit
			s.told(t, "flipped", log, s.offsets[i])
		}
	}
}

// TestLinesMoved duplicates, deletes and swaps lines.
func TestLinesMoved(t *testing.T) {
	t.Parallel()
	s := newTorn(t, 12)
	end := len(s.lines) - 1
	for i, line := range s.lines {
		doubled := slices.Concat(bytes.Join(s.lines[:i+1], nil), line, bytes.Join(s.lines[i+1:], nil))
		s.told(t, "doubled", doubled, s.offsets[i]+int64(len(line)))
		deleted := slices.Concat(bytes.Join(s.lines[:i], nil), bytes.Join(s.lines[i+1:], nil))
		place := s.offsets[i]
		if i == end { // no line follows: only the checkpoint shows it
			place = -1
		}
		s.told(t, "deleted", deleted, place)
		for j := i + 1; j <= end; j++ {
			swapped := slices.Clone(s.lines)
			swapped[i], swapped[j] = swapped[j], swapped[i]
			s.told(t, "swapped", bytes.Join(swapped, nil), s.offsets[i])
		}
	}
}
