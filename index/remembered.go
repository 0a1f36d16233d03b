package index

// A query cache. A client that polls repeats its queries, and mostly the index has not changed
// in between.
//
// A connection caches the results for one state of the file. It invalidates all of them once
// one of its transactions sees another state. SQLite reports commits by other connections, in
// any process (data_version). The connection's own commits change the generation of the index,
// as every writer's transaction does. Both are read within the transaction of the query.

import "context"

// content identifies a state of the file, as a connection sees it.
type content struct{ generation, version int64 }

// question is a query: the list and its filter.
type question struct {
	list string
	of   any // a comparable filter
}

// maxRemembered bounds a connection's cache, in estimated bytes.
const maxRemembered = 512 << 10

// answers is the cache of a connection, owned by the connection's user.
type answers struct {
	of    content
	known map[question]any
	bytes int
}

// seen invalidates the cache if the state of the file has changed.
func (l *link) seen(ctx context.Context, generation int64) error {
	found := content{generation: generation}
	if err := l.askOne(ctx, "PRAGMA data_version", nil, &found.version); err != nil {
		return err
	}
	if found != l.answers.of {
		l.answers = answers{of: found}
	}
	return nil
}

// remembered returns the cached result of a query, or runs the query. The list is shared and
// must not be changed. Lists that are too large are not cached.
func remembered[R any](v *View, asked question, size func(*R) int, ask func() ([]R, error)) ([]R, error) {
	kept := &v.conn.answers
	if list, ok := kept.known[asked].([]R); ok {
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
	if kept.bytes+bytes <= maxRemembered {
		if kept.known == nil {
			kept.known = map[question]any{}
		}
		kept.known[asked], kept.bytes = list[:len(list):len(list)], kept.bytes+bytes
	}
	return list[:len(list):len(list)], nil
}
