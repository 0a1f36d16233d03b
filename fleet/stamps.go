package fleet

// Detection of repeated requests.

// Stamps detects repeated requests of a worker. A boot identifies one process of the worker;
// requests of earlier boots are rejected. The zero value has seen no request.
type Stamps struct {
	boot    string
	earlier map[string]bool
	highest int64
	seen    map[int64]bool // seen sequence numbers above highest - stampWindow
}

// stampWindow is how far requests of one process may be reordered.
const stampWindow = 1024

// Accept reports whether a stamp is new, and remembers it.
func (s *Stamps) Accept(stamp Stamp) bool {
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
		s.boot, s.highest, s.seen = stamp.Boot, 0, map[int64]bool{}
	}
	if stamp.Seq <= s.highest-stampWindow || s.seen[stamp.Seq] {
		return false
	}
	if stamp.Seq > s.highest {
		s.forget(stamp.Seq - stampWindow)
		s.highest = stamp.Seq
	}
	s.seen[stamp.Seq] = true
	return true
}

// forget drops the sequence numbers up to last.
func (s *Stamps) forget(last int64) {
	if last >= s.highest {
		clear(s.seen)
		return
	}
	for seq := max(s.highest-stampWindow+1, 1); seq <= last; seq++ {
		delete(s.seen, seq)
	}
}
