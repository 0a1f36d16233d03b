package carrier

// Detection of store failures in the embedded server's log.

import (
	"fmt"
	"log/slog"
	"sync"

	"ac/internal/lazyregexp"
)

// storeFailure matches the server's message about a failed stream store. Errors that a client
// caused do not match, since they begin with the client's identity.
var storeFailure = lazyregexp.New(`^(?:JetStream (?:failed to store a msg on stream|stream|consumer) '\S+ > ([^' ]+)(?: > [^' ]+)?'(?:: | critical write error: | errored while updating state: )|Filestore \[([^\]]+)\] Critical write error: )`)

// brokenStream returns the stream whose store an error message names, or "" for other errors.
func brokenStream(text string) string {
	m := storeFailure().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// failedStores is the set of streams whose stores failed.
type failedStores struct {
	news chan struct{} // capacity 1; holds a value while streams were added

	mu      sync.Mutex
	streams map[string]bool
}

func (b *failedStores) add(stream string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[stream] = true
	select {
	case b.news <- struct{}{}:
	default: // a notification is already pending
	}
}

// drain returns the streams added since the last call.
func (b *failedStores) drain() (streams []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for stream := range b.streams {
		streams = append(streams, stream)
	}
	clear(b.streams)
	return streams
}

// warnings logs the server's warnings and errors, and records which stores failed.
type warnings struct {
	log    *slog.Logger
	broken *failedStores
}

func (w warnings) Warnf(format string, v ...any)  { w.log.Warn(fmt.Sprintf(format, v...)) }
func (w warnings) Fatalf(format string, v ...any) { w.log.Error(fmt.Sprintf(format, v...)) }

// Errorf logs an error and records the stream if its store failed.
func (w warnings) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	w.log.Error(text)
	if stream := brokenStream(text); stream != "" {
		w.broken.add(stream)
	}
}

func (warnings) Noticef(string, ...any) {}
func (warnings) Debugf(string, ...any)  {}
func (warnings) Tracef(string, ...any)  {}
