package search

// Finding hits: what the reader may see, ranked by how well it matches, then by age.

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// Hit is a search result. Marks are the ranges of the matches in the snippet, in UTF-16 code
// units, as browsers count.
type Hit struct {
	Kind      string   `json:"kind"`
	Ref       string   `json:"ref"`
	ProjectID string   `json:"project_id"`
	RunID     string   `json:"run_id,omitempty"`
	Seq       int64    `json:"seq,omitempty"`
	Title     string   `json:"title"`
	Snippet   string   `json:"snippet"`
	Marks     [][2]int `json:"marks"`
	At        int64    `json:"at"`
	Score     float64  `json:"score"`
	// Of is the ref of the whole that a part belongs to: the task of a milestone, the
	// conversation of a message.
	Of string `json:"of,omitempty"`

	row int64
}

// CanSee reports whether a reader may see a source, given its kind, ID, project and guard.
type CanSee func(kind, ref, project, guard string) bool

const (
	// maxCandidates bounds the hits that are ranked by age, broad the rows that are ranked at all.
	maxCandidates = 1000
	maxRanked     = 4000
	// snippetWords is the length of a snippet, in tokens.
	snippetWords = 24
	// idSuffixLen is the length of the ID suffix that may stand for the ID.
	idSuffixLen = 6
)

// Find returns at most limit hits, starting at position from, and whether there are more. Hits
// by ID come first, then the best by rank and age. Positions count only what the reader may
// see.
func (s *Store) Find(ctx context.Context, q Query, now time.Time, from, limit int, may CanSee) (hits []Hit, more bool, err error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, false, err
	}
	all, err := s.candidates(ctx, db, q, now, may)
	if err != nil {
		return nil, false, s.removeIfUnusable(err)
	}
	if from >= len(all) {
		return nil, false, nil
	}
	hits = all[from:min(len(all), from+limit)]
	more = from+limit < len(all)
	return hits, more, s.removeIfUnusable(snippets(ctx, db, q, hits))
}

func (s *Store) candidates(ctx context.Context, db *sql.DB, q Query, now time.Time, may CanSee) ([]Hit, error) {
	known, err := visibleSources(ctx, db, q, may)
	if err != nil {
		return nil, err
	}
	named, err := byID(ctx, db, q, known)
	if err != nil {
		return nil, err
	}
	if q.match == "" && !q.filters() {
		return named, nil
	}
	found, err := rankedHits(ctx, db, q, known)
	if err != nil {
		return nil, err
	}
	there := map[int64]bool{}
	for _, h := range named {
		there[h.row] = true
	}
	found = slices.DeleteFunc(found, func(h Hit) bool { return there[h.row] })
	for i := range found {
		age := max(0, now.UnixMilli()-found[i].At)
		found[i].Score *= math.Exp2(-float64(age) / float64(halfLife.Milliseconds()))
	}
	slices.SortStableFunc(found, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.At, a.At), cmp.Compare(b.row, a.row))
	})
	return append(named, found...), nil
}

func (q *Query) filters() bool {
	return len(q.kinds)+len(q.projects)+len(q.agents)+len(q.statuses) > 0 || q.after > 0
}

// visibleSources returns the sources that match the filters and that the reader may see.
func visibleSources(ctx context.Context, db *sql.DB, q Query, may CanSee) (map[int64]bool, error) {
	where, args := "1", []any{}
	for _, agent := range q.agents {
		where, args = where+" AND instr(agent, ?)>0", append(args, strings.ToLower(agent))
	}
	add := func(column string, values []string) {
		if len(values) > 0 {
			where += " AND " + column + " IN (?" + strings.Repeat(",?", len(values)-1) + ")"
			for _, v := range values {
				args = append(args, v)
			}
		}
	}
	add("status", q.statuses)
	for _, project := range q.projects {
		add("project", []string{project})
	}
	rows, err := db.QueryContext(ctx, "SELECT id, kind, ref, project, guard FROM sources WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	known := map[int64]bool{}
	for rows.Next() {
		var id int64
		var kind, ref, project, guard string
		if err := rows.Scan(&id, &kind, &ref, &project, &guard); err != nil {
			return nil, err
		}
		if guard == "" || may(kind, ref, project, guard) {
			known[id] = true
		}
	}
	return known, rows.Err()
}

const shift = "32" // sourceShift

const hitColumns = "h.rowid, h.kind, h.ref, h.project, h.run, h.seq, h.title, h.at"

// byID returns the rows of the sources that the query's only word names, by their full ID or
// its suffix.
func byID(ctx context.Context, db *sql.DB, q Query, known map[int64]bool) ([]Hit, error) {
	if len(q.id) < idSuffixLen {
		return nil, nil
	}
	text, arg := "SELECT id FROM sources WHERE ref=?", q.id
	if len(q.id) == idSuffixLen {
		text, arg = "SELECT id FROM sources WHERE lower(substr(ref,-6))=?", strings.ToLower(q.id)
	}
	return collect(ctx, db, known, q, "SELECT "+hitColumns+", 0.0 FROM hits h WHERE h.rowid IN (SELECT id<<"+shift+" FROM ("+text+"))", arg)
}

// rankedHits returns the best rows for the query's words, or the newest rows if it has none. It
// ranks all rows first, and then reads only the best.
func rankedHits(ctx context.Context, db *sql.DB, q Query, known map[int64]bool) ([]Hit, error) {
	where, args := "1", []any{}
	if q.match != "" {
		where, args = "hits MATCH ?", append(args, q.match)
	}
	if len(q.kinds) > 0 {
		where += " AND h.kind IN (?" + strings.Repeat(",?", len(q.kinds)-1) + ")"
		for _, kind := range q.kinds {
			args = append(args, kind)
		}
	}
	if q.after > 0 {
		where, args = where+" AND h.at>=?", append(args, q.after)
	}
	if q.match == "" {
		return collect(ctx, db, known, q, "SELECT "+hitColumns+", 1.0 FROM hits h WHERE "+where+" ORDER BY h.at DESC", args...)
	}
	from, err := newestMatches(ctx, db, q)
	if err != nil {
		return nil, err
	}
	if from > 0 {
		where, args = where+" AND h.rowid>=?", append(args, from)
	}
	best, err := ranks(ctx, db, known, "SELECT h.rowid, -bm25(hits, 8.0, 1.0) FROM hits h WHERE "+where, args...)
	if err != nil {
		return nil, err
	}
	return readHits(ctx, db, best)
}

// newestMatches returns the lowest row ID to rank, 0 for all. It excludes all but the newest
// broad matches: ranking a query that matches nearly everything is slow, and its oldest rows
// are worthless.
func newestMatches(ctx context.Context, db *sql.DB, q Query) (from int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT rowid FROM hits WHERE hits MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?", q.match, maxRanked).Scan(&from)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return from, err
}

// rank is a row and its match score; higher is better.
type rank struct {
	row   int64
	score float64
}

// ranks returns the best rows among those of known sources.
func ranks(ctx context.Context, db *sql.DB, known map[int64]bool, text string, args ...any) (best []rank, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r rank
		if err := rows.Scan(&r.row, &r.score); err != nil {
			return nil, err
		}
		if known[r.row>>sourceShift] {
			best = append(best, r)
		}
	}
	slices.SortFunc(best, func(a, b rank) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.row, a.row)) })
	return best[:min(len(best), maxCandidates)], rows.Err()
}

// readHits reads the columns of a hit for each row.
func readHits(ctx context.Context, db *sql.DB, best []rank) ([]Hit, error) {
	read, err := db.PrepareContext(ctx, "SELECT "+hitColumns+" FROM hits h WHERE h.rowid=?")
	if err != nil {
		return nil, err
	}
	defer read.Close()
	hits := make([]Hit, 0, len(best))
	for _, r := range best {
		h := Hit{Score: r.score}
		err := read.QueryRowContext(ctx, r.row).Scan(&h.row, &h.Kind, &h.Ref, &h.ProjectID, &h.RunID, &h.Seq, &h.Title, &h.At)
		if errors.Is(err, sql.ErrNoRows) {
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, nil
}

// collect reads rows of known sources, up to the limit candidates.
func collect(ctx context.Context, db *sql.DB, known map[int64]bool, q Query, text string, args ...any) (hits []Hit, err error) {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() && len(hits) < maxCandidates {
		var h Hit
		if err := rows.Scan(&h.row, &h.Kind, &h.Ref, &h.ProjectID, &h.RunID, &h.Seq, &h.Title, &h.At, &h.Score); err != nil {
			return nil, err
		}
		if known[h.row>>sourceShift] && (len(q.kinds) == 0 || slices.Contains(q.kinds, h.Kind)) {
			hits = append(hits, h)
		}
	}
	return hits, rows.Err()
}

// Marks that SQLite puts around matches. Indexed text never contains them.
const markBegin, markEnd = '\x01', '\x02'

// snippets adds snippets and marks to hits.
func snippets(ctx context.Context, db *sql.DB, q Query, hits []Hit) error {
	for i := range hits {
		h := &hits[i]
		h.Marks = [][2]int{}
		var text string
		var err error
		if q.match != "" {
			err = db.QueryRowContext(ctx, "SELECT snippet(hits, 1, char(1), char(2), '…', ?) FROM hits WHERE hits MATCH ? AND rowid=?", snippetWords, q.match, h.row).Scan(&text)
		}
		if q.match == "" || errors.Is(err, sql.ErrNoRows) { // found by its id
			err = db.QueryRowContext(ctx, "SELECT substr(body,1,160) FROM hits WHERE rowid=?", h.row).Scan(&text)
		}
		if err != nil {
			return err
		}
		h.Snippet, h.Marks = unmark(text)
		var of, title string
		err = db.QueryRowContext(ctx, "SELECT s.ref, m.title FROM sources s JOIN hits m ON m.rowid=s.id<<"+shift+" WHERE s.id=?", h.row>>sourceShift).Scan(&of, &title)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if h.Title = cmp.Or(h.Title, title); of != h.Ref {
			h.Of = of
		}
	}
	return nil
}

// unmark removes the marks from a snippet and returns their positions.
func unmark(text string) (plain string, marks [][2]int) {
	marks = [][2]int{}
	var b strings.Builder
	at, begin := 0, -1
	for _, r := range text {
		switch r {
		case markBegin:
			begin = at
		case markEnd:
			if begin >= 0 {
				marks = append(marks, [2]int{begin, at})
			}
			begin = -1
		default:
			b.WriteRune(r)
			at += utf16.RuneLen(r)
		}
	}
	return b.String(), marks
}
