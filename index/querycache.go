package index

// A query cache. A client that polls repeats its queries, and mostly the index has not changed
// in between.
//
// A connection caches the results for one state of the file. It invalidates all of them once
// one of its transactions sees another state. SQLite reports commits by other connections, in
// any process (data_version). The connection's own commits change the generation of the index,
// as every writer's transaction does. Both are read within the transaction of the query.

import "context"

// dbState identifies a state of the file, as a connection sees it.
type dbState struct{ generation, version int64 }

// queryKey is a query: the list and its filter.
type queryKey struct {
	list   string
	filter any // a comparable filter
}

// maxCachedBytes bounds a connection's cache, in estimated bytes.
const maxCachedBytes = 512 << 10

// queryCache is the cache of a connection, owned by the connection's user.
type queryCache struct {
	state   dbState
	results map[queryKey]any
	bytes   int
}

// invalidateStale invalidates the cache if the state of the file has changed.
func (l *dbConn) invalidateStale(ctx context.Context, generation int64) error {
	found := dbState{generation: generation}
	if err := l.queryRow(ctx, "PRAGMA data_version", nil, &found.version); err != nil {
		return err
	}
	if found != l.cache.state {
		l.cache = queryCache{state: found}
	}
	return nil
}

// cachedQuery returns the cached result of a query, or runs the query. The list is shared and
// must not be changed. Lists that are too large are not cached.
func cachedQuery[R any](v *View, asked queryKey, size func(*R) int, ask func() ([]R, error)) ([]R, error) {
	kept := &v.conn.cache
	if list, ok := kept.results[asked].([]R); ok {
		return list, nil
	}
	list, err := ask()
	if err != nil {
		return nil, err
	}
	bytes := 0
	for i := range list {
		bytes += size(&list[i])
	}
	if kept.bytes+bytes <= maxCachedBytes {
		if kept.results == nil {
			kept.results = map[queryKey]any{}
		}
		kept.results[asked], kept.bytes = list[:len(list):len(list)], kept.bytes+bytes
	}
	return list[:len(list):len(list)], nil
}
