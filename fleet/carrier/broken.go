package carrier

// Which errors of the embedded server mean that a store failed.

import (
	"fmt"
	"log/slog"
	"sync"

	"ac/internal/lazyregexp"
)

// storeFailure is an error of the store of a stream in the server's words. What clients do
// wrong begins with who they are.
var storeFailure = lazyregexp.New(`^(?:JetStream (?:failed to store a msg on stream|stream|consumer) '\S+ > ([^' ]+)(?: > [^' ]+)?'(?:: | critical write error: | errored while updating state: )|Filestore \[([^\]]+)\] Critical write error: )`)

// brokenStream is the stream of an error of its store, "" for other errors.
func brokenStream(text string) string {
	m := storeFailure().FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// broken are streams whose stores failed.
type broken struct {
	news chan struct{} // holds one when there are some

	mu      sync.Mutex
	streams map[string]bool
}

func (b *broken) add(stream string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[stream] = true
	select {
	case b.news <- struct{}{}:
	default: // it is known
	}
}

// take returns the streams that were added since.
func (b *broken) take() (streams []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for stream := range b.streams {
		streams = append(streams, stream)
	}
	clear(b.streams)
	return streams
}

// warnings passes on what the server warns of, and notes which stores failed.
type warnings struct {
	log    *slog.Logger
	broken *broken
}

func (w warnings) Warnf(format string, v ...any)  { w.log.Warn(fmt.Sprintf(format, v...)) }
func (w warnings) Fatalf(format string, v ...any) { w.log.Error(fmt.Sprintf(format, v...)) }

// Errorf is for what the server could not do.
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
