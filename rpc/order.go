package rpc

// The order of requests. Each workspace and each subscription has a chain of
// writes. A request starts when the earlier writes of its chains are done.

import (
	"slices"
	"strings"
	"sync"
)

// order assigns positions in the chains, in the order of the calls to admit. It is safe for
// concurrent use.
type order struct {
	mu    sync.Mutex
	tails map[string]*link // the last unfinished write of each key
}

// link is a write that later requests may have to wait for.
type link struct{ done chan struct{} }

const (
	// everywhere is the key of requests that name no workspace.
	everywhere = "*"
	// subscriptionKey is the prefix of the keys of subscriptions. Keys without
	// a prefix are absolute paths.
	subscriptionKey = "subscription:"
	// indexKey is the prefix of the keys of workspace indexes.
	indexKey = "index:"
)

func newOrder() *order { return &order{tails: map[string]*link{}} }

// admit queues a request after the earlier writes to its keys, and to those in behind. before holds
// the channels to wait for. Reads and waits do not delay later requests. Writes and inline requests
// do, until they call leave, which is idempotent.
func (o *order) admit(access Access, keys, behind []string) (before []<-chan struct{}, leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for tailKey, tail := range o.tails {
		concerns := func(key string) bool { return keysConflict(key, tailKey) }
		if slices.ContainsFunc(keys, concerns) || slices.ContainsFunc(behind, concerns) {
			before = append(before, tail.done)
		}
	}
	if access == Read || access == Wait {
		return before, func() {}
	}
	mine := &link{done: make(chan struct{})}
	for _, key := range keys {
		o.tails[key] = mine
	}
	return before, sync.OnceFunc(func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, key := range keys {
			if o.tails[key] == mine {
				delete(o.tails, key)
			}
		}
		close(mine.done)
	})
}

// keysConflict reports whether two keys conflict.
func keysConflict(a, b string) bool {
	if isOwn(a) || isOwn(b) {
		return a == b
	}
	return a == b || a == everywhere || b == everywhere
}

// isOwn reports whether a key conflicts only with itself.
func isOwn(key string) bool {
	return strings.HasPrefix(key, subscriptionKey) || strings.HasPrefix(key, indexKey)
}
