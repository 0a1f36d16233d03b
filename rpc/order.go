package rpc

// The order of requests. Each workspace and each subscription has the chain of
// what changes it; a request starts when the changes before it are done.

import (
	"slices"
	"strings"
	"sync"
)

// order hands out places. It is safe for concurrent use, but the order is that
// of the calls to admit.
type order struct {
	mu    sync.Mutex
	tails map[string]*link // the last unfinished change of each key
}

// link is one change that others may have to wait for.
type link struct{ done chan struct{} }

const (
	// everywhere is the key of requests that name no workspace.
	everywhere = "*"
	// subscriptionKey begins the keys of subscriptions. The others are absolute
	// paths.
	subscriptionKey = "subscription:"
	// indexKey begins the keys of the indexes of workspaces.
	indexKey = "index:"
)

func newOrder() *order { return &order{tails: map[string]*link{}} }

// admit gives a request its place behind the earlier changes of its keys. Reads
// and waits are only behind; others follow writes and inline requests. leave
// gives the place up and may be called more than once.
func (o *order) admit(access Access, keys ...string) (before []<-chan struct{}, leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for tailKey, tail := range o.tails {
		if slices.ContainsFunc(keys, func(key string) bool { return meet(key, tailKey) }) {
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

// meet reports whether two keys concern the same.
func meet(a, b string) bool {
	if isOwn(a) || isOwn(b) {
		return a == b
	}
	return a == b || a == everywhere || b == everywhere
}

// isOwn reports whether a key is that of something that only those concern who
// name it.
func isOwn(key string) bool {
	return strings.HasPrefix(key, subscriptionKey) || strings.HasPrefix(key, indexKey)
}
