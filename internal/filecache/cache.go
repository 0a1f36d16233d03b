package filecache

// A cache keyed by file name and version.

import (
	"sync"

	"ac/internal/durable"
)

// maxCached bounds a cache; when it is exceeded, the whole cache is cleared.
const maxCached = 50_000

// Cache caches values by file name, each for one version of its file. It is safe for concurrent
// use.
type Cache[V any] struct {
	weigh func(V) int // share of the bound that a value takes

	mu    sync.Mutex
	seen  map[string]entry[V]
	total int
}

type entry[V any] struct {
	version durable.Version
	value   V
}

// New returns an empty cache. weigh returns how much of the bound a value takes; nil means one.
func New[V any](weigh func(V) int) *Cache[V] {
	if weigh == nil {
		weigh = func(V) int { return 1 }
	}
	return &Cache[V]{weigh: weigh, seen: map[string]entry[V]{}}
}

// Last returns the cached value of a file and the version that it is valid for.
func (c *Cache[V]) Last(name string) (value V, version durable.Version, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.seen[name]
	return known.value, known.version, ok
}

// Get returns the cached value of a version of a file.
func (c *Cache[V]) Get(name string, version durable.Version) (value V, ok bool) {
	value, known, ok := c.Last(name)
	return value, ok && known == version
}

// Put caches the value of a version of a file. The caller has checked that the version is
// Cacheable.
func (c *Cache[V]) Put(name string, version durable.Version, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.seen[name]; ok {
		c.total -= c.weigh(before.value)
	}
	if c.total += c.weigh(value); c.total > maxCached {
		clear(c.seen)
		c.total = c.weigh(value)
	}
	c.seen[name] = entry[V]{version, value}
}

// Len returns the number of cached values.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}
