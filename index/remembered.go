package index

// Answers that are remembered: a client that polls asks the same questions
// again, and between two polls the index has mostly not changed.
//
// A connection remembers what it was asked for one content of the file, and
// forgets everything once a transaction of it sees another one. SQLite itself
// tells when another connection, of whatever process, committed something
// (data_version); what this connection commits itself is told by the generation
// of the index, which each transaction of a writer changes. Both are read within
// the transaction that the answer is for.

import "context"

// content tells apart what a connection can find in the file.
type content struct{ generation, version int64 }

// question is what was asked: the list, and its filter.
type question struct {
	list string
	of   any // comparable
}

// maxRemembered bounds what a connection remembers, in bytes as estimated.
const maxRemembered = 512 << 10

// answers is what a connection remembers. It belongs to whoever has the
// connection.
type answers struct {
	of    content
	known map[question]any
	bytes int
}

// seen forgets the answers when the connection finds another content.
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

// remembered gives the answer to a question, asking only for what is not known
// yet. A list that is given out is shared: it is not to be changed. Lists of more
// than there is room for are asked for each time.
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
