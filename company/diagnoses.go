package company

// What the room reports about the process: the features it serves, and the latest diagnosis of a
// folder.

import (
	"ac/doctor"
	"ac/internal/clock"
	"ac/snapshot/room"
)

// RecordDiagnosis records the latest diagnosis of a folder and notifies its room.
func (cs *Host) RecordDiagnosis(dir string, found doctor.Summary) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.diagnoses[dir] = room.Doctor{Pass: found.Pass, Warn: found.Warn, Fail: found.Fail, At: clock.Stamp(cs.env.Clock.Now())}
	for w, kept := range cs.rooms {
		if w.Dir() == dir {
			kept.news.add(func(n *roomNews) { n.tables = true })
		}
	}
}

// facts returns the features that the process serves, and the latest diagnosis of a folder, nil
// for none.
func (cs *Host) facts(dir string) (room.Serves, *room.Doctor) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if found, ok := cs.diagnoses[dir]; ok {
		return cs.serves, &found
	}
	return cs.serves, nil
}

// SetDialects records which protocols of other programs the process serves.
func (cs *Host) SetDialects(names []string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.serves.Dialects = names
}
