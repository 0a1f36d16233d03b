package hub

// Sealing compared with a list, known IDs, torn lines, and fences compared with leases.

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/fleet"
	"ac/workspace/doc"
)

// modelLog is a log, with its durable part and its durable checkpoint.
type modelLog struct {
	lines      []string
	synced     int
	checkpoint fleet.LogCheckpoint // its offset counts lines
}

// crash loses a random part of the unsynced lines and starts over, as the next hub does.
func (m *modelLog) crash(t *rapid.T, s *sealing) {
	m.lines = m.lines[:rapid.IntRange(m.synced, len(m.lines)).Draw(t, "kept")]
	m.synced = len(m.lines)
	*s = sealing{}
	m.recover(s)
}

// recover reads the log from the checkpoint on.
func (m *modelLog) recover(s *sealing) {
	s.begin(m.checkpoint.N)
	for _, id := range m.lines[m.checkpoint.Offset:] {
		s.found[id] = true
	}
}

// own returns the lines of the worker's drafts.
func (m *modelLog) own() (lines []string) {
	for _, line := range m.lines {
		if strings.HasPrefix(line, "evt_") {
			lines = append(lines, line)
		}
	}
	return lines
}

// TestSealingIsAList compares sealing with a list. Batches are lost, duplicated, reordered and sent
// again, and the hub crashes at any time. Each draft is in the log once and in order, everything
// reported as sealed stays, and the checkpoint reaches the end of the log.
func TestSealingIsAList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		drafts := rapid.IntRange(1, 30).Draw(t, "drafts")
		id := func(n int64) string { return fmt.Sprintf("evt_%d", n) }
		log, s, told, sent, others := &modelLog{}, &sealing{}, int64(0), int64(0), 0
		take := func(first int64, count int) {
			from, gap := s.firstNew(first, count)
			if gap {
				return
			}
			n := s.written
			for range count - from {
				n++
				if !s.consumeFound(id(n)) {
					log.lines = append(log.lines, id(n))
				}
			}
			s.written, sent = n, max(sent, n)
		}
		sync := func(checkpoint bool) {
			log.synced, s.sealed = len(log.lines), s.written
			told = max(told, s.sealed)
			if checkpoint {
				log.checkpoint = s.checkpoint(log.checkpoint, int64(len(log.lines)))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"batch": func(t *rapid.T) {
				first := rapid.IntRange(1, drafts).Draw(t, "first")
				take(int64(first), rapid.IntRange(0, drafts-first+1).Draw(t, "count"))
			},
			"sync":      func(t *rapid.T) { sync(rapid.Bool().Draw(t, "checkpoint")) },
			"crash":     func(t *rapid.T) { log.crash(t, s) },
			"lost sync": func(*rapid.T) { log.recover(s) },
			"hello":     func(t *rapid.T) { s.setMaxFound(rapid.Int64Range(sent, int64(drafts)).Draw(t, "has")) },
			"other": func(*rapid.T) { // such as the answer to a question
				others++
				log.lines = append(log.lines, fmt.Sprintf("other_%d", others))
			},
			"": func(t *rapid.T) {
				if own := log.own(); len(own) < int(told) {
					t.Fatalf("%d were said to be sealed, the log has %d", told, len(own))
				} else {
					for i, line := range own {
						if line != id(int64(i+1)) {
							t.Fatalf("the log is %v", log.lines)
						}
					}
				}
			},
		})
		s.setMaxFound(int64(drafts))
		take(1, drafts)
		sync(true)
		if len(log.own()) != drafts {
			t.Fatalf("in the end the log has %d of %d", len(log.own()), drafts)
		}
		if want := (fleet.LogCheckpoint{N: int64(drafts), Offset: int64(len(log.lines))}); log.checkpoint != want {
			t.Fatalf("the next hub reads from %+v on, not from %+v", log.checkpoint, want)
		}
	})
}

func TestRecentIdsAreKnown(t *testing.T) {
	t.Parallel()
	var r recent
	for i := range 3 * remembered {
		id := fmt.Sprint(i)
		if r.add(id) || !r.add(id) {
			t.Fatal(id)
		}
	}
	if len(r.ids) != remembered || len(r.ring) != remembered {
		t.Error(len(r.ids), len(r.ring))
	}
	if !r.add(fmt.Sprint(2*remembered)) || r.add("0") {
		t.Error("it forgets what is new, or keeps what is old")
	}
}

// TestATornLineIsNoDraft checks that no prefix of a line counts as its draft, so that the draft is
// written again.
func TestATornLineIsNoDraft(t *testing.T) {
	t.Parallel()
	const line = `{"event_id":"evt_1","type":"provider.raw","payload":{"chunk":"a"}}`
	if id, kind, _, ok := idOf([]byte(line)); id != "evt_1" || kind != "provider.raw" || !ok {
		t.Error(id, kind, ok)
	}
	for cut := range len(line) {
		if id, _, _, ok := idOf([]byte(line[:cut])); ok {
			t.Errorf("%q has %s", line[:cut], id)
		}
	}
}

// TestNoFenceBeforeTheWorkerStopped checks that the hub fences only after the worker has stopped.
// The worker counts its lease from the last answered beat, by its own clock. The hub must wait
// longer, at least by the time a stop takes. This holds for a clock drift of up to one in a
// thousand, and however late the beat arrives.
func TestNoFenceBeforeTheWorkerStopped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		settings := fleet.Defaults()
		settings.LeaseMarginMS = rapid.Int64Range(5_000, 120_000).Draw(t, "margin")
		record := fleet.AttemptRecord{
			State: rapid.SampledFrom([]string{fleet.AttemptClaimed, fleet.AttemptStarted}).Draw(t, "state"), OnCutOff: fleet.CutOffStop,
			LeaseS: rapid.Int64Range(1, 7*86_400).Draw(t, "lease"),
		}
		drift := 1 + rapid.Float64Range(-0.001, 0.001).Draw(t, "drift")
		travel := time.Duration(rapid.Int64Range(0, 60_000).Draw(t, "travel")) * time.Millisecond
		// Both are true times since the beat was sent: when the worker has stopped, and when the
		// hub fences.
		stopped := time.Duration(float64(time.Duration(record.LeaseS)*time.Second) / drift)
		var quiet time.Duration
		for step := time.Duration(record.LeaseS) * time.Second; step > time.Millisecond; {
			if timeoutActionOf(record, settings, doc.ReachUnreachable, true, quiet+step, 0) == actionFence {
				step /= 2
			} else {
				quiet += step
			}
		}
		if fenced := travel + quiet; fenced < stopped+4*time.Second {
			t.Fatalf("the hub fences after %s, the worker stops after %s", fenced, stopped)
		}
		record.OnCutOff = fleet.CutOffContinue
		if timeoutActionOf(record, settings, doc.ReachUnreachable, true, 1000*time.Hour*24, 0) == actionFence {
			t.Fatal("a session that goes on for ever is given up")
		}
	})
}
