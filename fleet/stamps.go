package fleet

// Stamps: which requests of a worker were heard already.

// Stamps tells requests of a worker apart that were heard already. A worker's process is its
// boot; an earlier boot of it is not heard any more. The zero value has heard nothing.
type Stamps struct {
	boot    string
	earlier map[string]bool
	highest int64
	heard   map[int64]bool // those above highest - stampWindow
}

// stampWindow is how far requests of one process may overtake each other.
const stampWindow = 1024

// Fresh reports whether a stamp was not heard before, and remembers it.
func (s *Stamps) Fresh(stamp Stamp) bool {
	if stamp.Boot == "" || stamp.Seq <= 0 || s.earlier[stamp.Boot] {
		return false
	}
	if stamp.Boot != s.boot {
		if s.earlier == nil {
			s.earlier = map[string]bool{}
		}
		if s.boot != "" {
			s.earlier[s.boot] = true
		}
		s.boot, s.highest, s.heard = stamp.Boot, 0, map[int64]bool{}
	}
	if stamp.Seq <= s.highest-stampWindow || s.heard[stamp.Seq] {
		return false
	}
	if stamp.Seq > s.highest {
		s.forget(stamp.Seq - stampWindow)
		s.highest = stamp.Seq
	}
	s.heard[stamp.Seq] = true
	return true
}

// forget forgets what was heard up to a number.
func (s *Stamps) forget(last int64) {
	if last >= s.highest {
		clear(s.heard)
		return
	}
	for seq := max(s.highest-stampWindow+1, 1); seq <= last; seq++ {
		delete(s.heard, seq)
	}
}
