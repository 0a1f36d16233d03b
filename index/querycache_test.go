package index

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"ac/workspace"
)

// seenBy returns what a view finds in the cached lists.
func seenBy(t *testing.T, ix *Index) (seen string) {
	t.Helper()
	err := ix.View(context.Background(), func(v *View) error {
		runs, err := v.Monitored(RunFilter{Limit: 100}, RunKey{"p", "r0"}, RunKey{"p", "none"})
		if err != nil {
			return err
		}
		events := int64(0)
		for _, r := range runs {
			events += r.Events
		}
		providers, err := v.ByProvider(RunFilter{})
		if err != nil {
			return err
		}
		agents, err := v.AgentCounters()
		if err != nil {
			return err
		}
		pending, err := v.PendingArtifacts("", 100)
		if err != nil {
			return err
		}
		decided, err := v.Decisions(ReviewFilter{})
		seen = fmt.Sprintf("%d runs %d events %d by provider %d of an agent %d pending %d decided",
			len(runs), events, providers[0].Runs, agents[0].TotalRuns, len(pending), len(decided))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// TestRememberedIsOfNow queries again after each kind of change. Cached results are never older
// than the file, whichever process changed it.
func TestRememberedIsOfNow(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	reader, other := For(w), For(w) // two connections, as in two processes
	defer reader.Close()
	defer other.Close()
	events, pending, decided := childRuns*30, 0, 0
	expect := func(after string) {
		t.Helper()
		want := fmt.Sprintf("%d runs %d events %d by provider %d of an agent %d pending %d decided", childRuns, events, childRuns, childRuns, pending, decided)
		for range 2 {
			if got := seenBy(t, reader); got != want {
				t.Errorf("after %s: %s instead of %s", after, got, want)
			}
		}
	}
	synced := func(after string) {
		t.Helper()
		for _, ix := range []*Index{other, reader} {
			if _, err := ix.Sync(ctx); err != nil {
				t.Fatal(err)
			}
			expect(after)
		}
	}
	synced("the first build")
	for round := range 3 {
		c.append("work/projects/p/runs/r1/events.jsonl", eventLine(round, "note")+"\n")
		expect("an event that nobody synced")
		events++
		synced("an event")
	}
	c.append("work/projects/p/runs/r1/events.jsonl", eventLine(9, "note")+"\n")
	if _, err := reader.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	events++
	expect("a sync of its own")
	c.put("work/projects/p/artifacts/a1.md", "---\ntype: memory_delta\nid: a1\ncreated_at: 2026-01-02T00:00:00Z\n---\n")
	pending++
	synced("an artifact")
	c.put("inbox/reviews/v1.yaml", "schema_version: 1\ntype: review\nid: v1\ncreated_at: 2026-01-02T00:00:00Z\nactor_id: h\nactor_role: human\ndecision: approved\nsubject:\n  kind: memory_delta\n  artifact_id: a1\n  project_id: p\npolicy:\n  allowed: true\n  rule_id: r\n  reason: r\n")
	pending, decided = pending-1, decided+1
	synced("a decision")
	db, err := sql.Open("sqlite", c.path(databaseFile))
	must(err)
	defer db.Close()
	if _, err := db.Exec("UPDATE ac_run_stats SET events=events+1 WHERE id=(SELECT min(id) FROM ac_run_stats)"); err != nil {
		t.Fatal(err)
	}
	events++
	expect("a change by another program") // a program that knows nothing of generations
	events--
	if _, err := other.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	expect("a rebuild by another process")
	must(os.Remove(c.path(databaseFile)))
	synced("a new file")
}

// TestRememberedWhileOthersWrite reads while another Index syncs the same file. What a reader
// sees never goes back, and includes every sync that has returned.
func TestRememberedWhileOthersWrite(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	reader, writer := For(w), For(w)
	defer reader.Close()
	defer writer.Close()
	if _, err := writer.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			last := int64(0)
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true
				default:
				}
				now := eventsSeen(t, reader)
				if now < last {
					t.Errorf("%d events after %d", now, last)
				}
				last = now
			}
			if want := int64(childRuns*30 + sized(60, 8)); last != want {
				t.Errorf("%d events at the end instead of %d", last, want)
			}
		})
	}
	for i := range sized(60, 8) {
		c.append("work/projects/p/runs/r2/events.jsonl", eventLine(i, "note")+"\n")
		if _, err := writer.Sync(ctx); err != nil {
			t.Error(err)
		}
		if got, want := eventsSeen(t, reader), int64(childRuns*30+i+1); got != want {
			t.Errorf("%d events seen instead of %d", got, want)
		}
	}
	close(done)
	wg.Wait()
}

func eventsSeen(t *testing.T, ix *Index) (events int64) {
	err := ix.View(context.Background(), func(v *View) error {
		runs, err := v.Monitored(RunFilter{})
		events = 0
		for _, r := range runs {
			events += r.Events
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return events
}

// TestRememberedIsBounded checks that many queries with long results keep the cache within its
// limit.
func TestRememberedIsBounded(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	payload := fmt.Sprintf(`{"type":"policy.decision","payload":{"reason":%q}}`+"\n", strings.Repeat("x", 50_000))
	for i := range childRuns {
		c.append(workspace.LogFile("p", fmt.Sprintf("r%d", i)), payload)
	}
	ix := For(w)
	defer ix.Close()
	if _, err := ix.Sync(context.Background()); err != nil {
		t.Fatal(err)
	}
	err := ix.View(context.Background(), func(v *View) error {
		for n := range childRuns {
			list, err := v.Monitored(RunFilter{Limit: n + 1})
			if err != nil || len(list) != min(n+1, childRuns) {
				return fmt.Errorf("%d runs, %w", len(list), err)
			}
		}
		if kept := v.conn.cache; kept.bytes > maxCachedBytes || kept.bytes == 0 {
			t.Errorf("%d bytes are kept", kept.bytes)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
