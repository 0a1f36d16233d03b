package workspace

// Open logs: concurrent appends to one log share its file, so that one fsync makes the events
// of all of them durable.

import (
	"sync"

	"ac/events"
	"ac/internal/durable"
)

// openLogs holds the logs that are being appended to. It keeps no unused file open, since a
// run's folder can be moved or removed between appends.
type openLogs struct {
	mu     sync.Mutex
	byName map[string]*openLog
}

type openLog struct {
	*events.Log
	users int
}

// open returns the log of a name. Every open needs a close.
func (o *openLogs) open(fsys durable.FS, name string) *events.Log {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.byName[name]
	if l == nil {
		if o.byName == nil {
			o.byName = map[string]*openLog{}
		}
		l = &openLog{Log: events.OpenLog(fsys, name)}
		o.byName[name] = l
	}
	l.users++
	return l.Log
}

// close releases a log, and closes it after its last user.
func (o *openLogs) close(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.byName[name]
	if l.users--; l.users > 0 {
		return nil
	}
	delete(o.byName, name)
	return l.Close()
}
