package search

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"ac/internal/fault"
	"ac/workspace"
)

func newStore(t testing.TB) *Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s := For(w)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// listed returns a function that lists sources for Update.
func listed(sources ...Source) func(context.Context) ([]Source, error) {
	return func(context.Context) ([]Source, error) { return sources, nil }
}

// source returns a source whose rows replace all earlier ones.
func source(name, guard string, rows ...Row) Source {
	for i := range rows {
		rows[i].Number = int64(i)
	}
	return Source{
		Name: name, Version: fmt.Sprintf("%x", sha256.Sum256([]byte(fmt.Sprint(rows)))), Kind: rows[0].Kind, Ref: rows[0].Ref, Project: "p", Agent: "agent_kei Kei", Status: "failed", Guard: guard,
		At: rows[0].At, Rows: func(context.Context, int64, int) (Rows, error) { return Rows{List: rows, ReplaceAll: true}, nil },
	}
}

func everybody(string, string, string, string) bool { return true }

func (s *Store) query(t testing.TB, text string, may CanSee) []Hit {
	t.Helper()
	q, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	hits, _, err := s.Find(t.Context(), q, time.Unix(1_000_000, 0), 0, 100, may)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return hits
}

func refs(hits []Hit) string {
	var list []string
	for _, h := range hits {
		list = append(list, h.Ref)
	}
	return strings.Join(list, " ")
}

// TestFind checks what a query finds and in which order.
func TestFind(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := int64(1_000_000_000)
	month := (30 * 24 * time.Hour).Milliseconds()
	sources := []Source{
		source("a", "", Row{Kind: KindTask, Ref: "task_01AAAAAAABCDEF", Title: "Harden the queue", Body: "the ledger", At: now}, Row{Kind: KindMilestone, Ref: "ms_1", Title: "Zürich build", Body: "first", At: now}),
		source("b", "", Row{Kind: KindRun, Ref: "run_b", Run: "run_b", Title: "Review", Body: "harden_me in go", At: now}, Row{Kind: KindRun, Ref: "run_b", Run: "run_b", Seq: 7, Body: "The Queue is full 😀 of queues", At: now}),
		source("c", "", Row{Kind: KindMessage, Ref: "msg_c", Title: "general", Body: "queue queue queue", At: now - 12*month}),
		source("d", "managers", Row{Kind: KindArtifact, Ref: "art_d", Title: "secret queue", Body: "queue", At: now}),
	}
	if behind, err := s.Update(t.Context(), time.Minute, listed(sources...)); err != nil || behind != 0 {
		t.Fatal(behind, err)
	}
	few := func(_, _, _, guard string) bool { return guard != "managers" }
	for query, want := range map[string]string{
		"queue": "task_01AAAAAAABCDEF run_b msg_c", "QUE": "task_01AAAAAAABCDEF run_b msg_c", "queue full": "run_b", `"queue is"`: "run_b", `"is queue"`: "",
		"zurich": "ms_1", "task_01AAAAAAABCDEF": "task_01AAAAAAABCDEF", "abcdef": "task_01AAAAAAABCDEF", "harden_me": "run_b",
		"kind:task queue": "task_01AAAAAAABCDEF", "kind:milestone": "ms_1", "agent:kei kind:run": "run_b run_b", "agent:nobody": "", "status:done": "",
		"project:p kind:message": "msg_c", "queue -full": "run_b", "queue OR": "", "NEAR(queue": "", "title:queue": "", "...": "", "queue ...": "task_01AAAAAAABCDEF run_b msg_c",
		"after:1970-01-10 queue": "task_01AAAAAAABCDEF run_b",
	} {
		if got := refs(s.query(t, query, few)); got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
	if got := s.query(t, "secret", everybody); len(got) != 1 || got[0].Ref != "art_d" {
		t.Errorf("%+v", got)
	}
	for _, query := range []string{"kind:wish", "after:soon", "agent:"} {
		if _, err := Parse(query); !fault.Is(err, fault.BadQuery) {
			t.Errorf("%q: %v", query, err)
		}
	}
	hits := s.query(t, "full queues", few)
	if len(hits) != 1 || hits[0].Title != "Review" || hits[0].Seq != 7 || len(hits[0].Marks) == 0 {
		t.Fatalf("%+v", hits)
	}
	units := utf16.Encode([]rune(hits[0].Snippet))
	for _, m := range hits[0].Marks {
		if word := strings.ToLower(string(utf16.Decode(units[m[0]:m[1]]))); word != "full" && word != "queues" {
			t.Errorf("a mark is around %q", word)
		}
	}
}

// TestUpdate checks that sources are replaced, continued and dropped. An update without time
// left reports how many sources are behind, and a damaged file is rebuilt.
func TestUpdate(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	row := Row{Kind: KindTask, Ref: "task_a", Title: "one"}
	log := Source{Name: "log", Version: "1", Kind: KindRun, Ref: "run_a", Rows: func(_ context.Context, since int64, _ int) (Rows, error) {
		if since >= 3 {
			return Rows{Seq: since}, nil
		}
		return Rows{List: []Row{{Number: since + 1, Kind: KindRun, Ref: "run_a", Seq: since + 1, Body: "piece"}}, Seq: since + 1, More: since < 2}, nil
	}}
	update := func(sources ...Source) {
		t.Helper()
		if behind, err := s.Update(t.Context(), time.Minute, listed(sources...)); err != nil || behind != 0 {
			t.Fatal(behind, err)
		}
	}
	update(source("a", "", row), log)
	if got := s.query(t, "piece", everybody); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	row.Title = "two"
	update(source("a", "", row))
	if got := refs(s.query(t, "one", everybody)) + refs(s.query(t, "piece", everybody)); got != "" {
		t.Errorf("what is gone is found: %s", got)
	}
	if got := refs(s.query(t, "two", everybody)); got != "task_a" {
		t.Error(got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if behind, err := s.Update(over, time.Minute, listed(source("a", "", row), log)); err != nil || behind == 0 {
		t.Errorf("%d behind, %v", behind, err)
	}
	name := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.SearchFile))
	other := filepath.Join(t.TempDir(), "other")
	db, err := sql.Open("sqlite", other)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "CREATE TABLE of_somebody(x)")
		err = errors.Join(err, db.Close())
	}
	foreign, readErr := os.ReadFile(other)
	if err := errors.Join(err, readErr); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"no database", "", strings.Repeat("no database", 1000), string(foreign)} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		update(source("a", "", row))
		if got := refs(s.query(t, "two", everybody)); got != "task_a" {
			t.Errorf("over %.20q: %q", text, got)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if behind, err := s.Update(over, time.Minute, listed(source("a", "", row))); err != nil || behind != 1 {
		t.Errorf("no file, and no time left: %d behind, %v", behind, err)
	}
	update(source("a", "", row))
}

// TestMasked checks that the file contains no secret, and that a hit's snippet contains no
// control characters.
func TestMasked(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	secret := "ghp_" + strings.Repeat("Ab1", 12)
	if _, err := s.Update(t.Context(), time.Minute, listed(source("a", "", Row{Kind: KindRun, Ref: "run_a", Title: "token " + secret, Body: "a\x01b\x02c key=" + secret + "\u202e"}))); err != nil {
		t.Fatal(err)
	}
	hits := s.query(t, "token", everybody)
	if len(hits) != 1 || strings.Contains(hits[0].Title+hits[0].Snippet, secret) || strings.ContainsAny(hits[0].Snippet, "\x01\x02\u202e") {
		t.Errorf("%+v", hits)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(s.w.Dir(), ".local", "search.sqlite*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret (%v)", file, err)
		}
	}
}

// TestEveryQuery queries for every byte and for pairs of possible syntax. Each query is either
// rejected as bad or searched without an error.
func TestEveryQuery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if _, err := s.Update(t.Context(), time.Minute, listed(source("a", "", Row{Kind: KindRun, Ref: "run_a", Title: "x", Body: "y"}))); err != nil {
		t.Fatal(err)
	}
	var texts []string
	for b := range 256 {
		texts = append(texts, string([]byte{byte(b)}), "x"+string([]byte{byte(b)})+"y", string([]byte{byte(b)})+" x")
	}
	signs := []string{`"`, `""`, "*", "^", "(", ")", "{", "}", "+", "-", ":", "AND", "OR", "NOT", "NEAR", "'", ";", "--", "\x00", "%", "_", "kind", "x:", ":x", `a:"b`}
	for _, a := range signs {
		for _, b := range signs {
			texts = append(texts, a+b, a+" "+b, "x "+a+b+" y")
		}
	}
	for _, text := range texts {
		q, err := Parse(text)
		if fault.Is(err, fault.BadQuery) {
			continue
		}
		if err == nil {
			_, _, err = s.Find(t.Context(), q, time.Unix(0, 0), 0, 10, everybody)
		}
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// BenchmarkQuery searches 100,000 rows.
func BenchmarkQuery(b *testing.B) {
	s := newStore(b)
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.2, 8, 20_000)
	word := func() string { // as in real texts, few words are frequent
		n := zipf.Uint64()
		return string([]byte{byte('a' + n*7%26), byte('a' + n/26*11%26), byte('a' + n/676*5%26)}) + fmt.Sprint(n%97)
	}
	var sources []Source
	n := 0
	for i := range 200 {
		var rows []Row
		for range 500 {
			n++
			text := make([]string, 28)
			for k := range text {
				text[k] = word()
			}
			rows = append(rows, Row{Kind: KindRun, Ref: fmt.Sprint("run_", i), Title: text[0], Body: strings.Join(text, " "), At: int64(n)})
		}
		sources = append(sources, source(fmt.Sprint(i), "", rows...))
	}
	began := time.Now()
	if behind, err := s.Update(b.Context(), time.Minute, listed(sources...)); err != nil || behind != 0 {
		b.Fatal(behind, err)
	}
	b.Logf("%d rows in %s", n, time.Since(began).Round(time.Millisecond))
	for _, query := range []string{"haa1 oaa", "ha", "haa1", "ve ka"} {
		b.Run(query, func(b *testing.B) {
			q, err := Parse(query)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, _, err := s.Find(b.Context(), q, time.Unix(1, 0), 0, 30, everybody); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
