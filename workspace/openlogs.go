package workspace

// The logs that are being appended to: requests that append to one log at the same
// time share its file, so that one sync makes the events of all of them durable.

import (
	"sync"

	"ac/events"
	"ac/internal/durable"
)

// openLogs are the logs that somebody appends to right now. It holds no file that
// nobody uses: a run's folder can be moved and removed between appends.
type openLogs struct {
	mu     sync.Mutex
	byName map[string]*openLog
}

type openLog struct {
	*events.Log
	users int
}

// open gives the log of a name, which close gives back.
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

// close closes a log that nobody else uses.
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
