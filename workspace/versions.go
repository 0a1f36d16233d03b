package workspace

import (
	"sync"

	"ac/internal/durable"
)

// maxCached bounds each of the caches below. When it is exceeded the cache is
// cleared.
const maxCached = 50_000

// versions caches values derived from files, by name and version of the file.
// It is safe for concurrent use.
type versions[V any] struct {
	weigh func(V) int // the weight of a value; nil for 1 each

	mu    sync.Mutex
	seen  map[string]versioned[V]
	total int
}

type versioned[V any] struct {
	version durable.Version
	value   V
}

func newVersions[V any](weigh func(V) int) *versions[V] {
	if weigh == nil {
		weigh = func(V) int { return 1 }
	}
	return &versions[V]{weigh: weigh, seen: map[string]versioned[V]{}}
}

// last returns the cached value of a file, of any version.
func (c *versions[V]) last(name string) (known versioned[V], ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok = c.seen[name]
	return known, ok
}

// get returns the cached value of one version of a file.
func (c *versions[V]) get(name string, version durable.Version) (value V, ok bool) {
	known, ok := c.last(name)
	return known.value, ok && known.version == version
}

func (c *versions[V]) put(name string, version durable.Version, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.seen[name]; ok {
		c.total -= c.weigh(before.value)
	}
	if c.total += c.weigh(value); c.total > maxCached {
		clear(c.seen)
		c.total = c.weigh(value)
	}
	c.seen[name] = versioned[V]{version, value}
}
