package search

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"ac/internal/lock"
	"ac/internal/redact"
	"ac/workspace"
)

// TestDroppedByTwo drops a source that another process drops at the same time, and whose ID
// then goes to a new source. The rows of the new source stay.
func TestDroppedByTwo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	s := newStore(t)
	other := For(s.w)
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	old := source("old", "", Row{Kind: KindTask, Ref: "task_old", Title: "old"})
	kept := source("kept", "", Row{Kind: KindTask, Ref: "task_kept", Title: "kept", At: time.Hour.Milliseconds()})
	fresh := source("fresh", "", Row{Kind: KindTask, Ref: "task_fresh", Title: "fresh"})
	if behind, err := s.Update(ctx, time.Minute, listed(old, kept)); err != nil || behind != 0 {
		t.Fatal(behind, err)
	}
	db, err := other.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	before, err := loadSourceStates(ctx, db)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := other.writer.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Update(ctx, time.Minute, listed(kept))
		ended <- err
	}()
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		if waits, err = lock.Busy(s.w.FS, workspace.LockFile("search")+".turn"); err != nil || ctx.Err() != nil {
			t.Fatal("it does not wait for the lock", err)
		}
	}
	u := updater{db: db, redactor: redact.NewRedactor(nil)}
	if err := u.drop(ctx, "old", before["old"].id); err != nil {
		t.Error(err)
	}
	if err := u.write(ctx, &fresh); err != nil {
		t.Error(err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	after, err := loadSourceStates(ctx, db)
	if err != nil || len(after) != 2 || after["fresh"].id != before["old"].id {
		t.Errorf("%+v, %v", after, err)
	}
	for text, want := range map[string]string{"old": "", "fresh": "task_fresh", "kept": "task_kept"} {
		if got := refs(s.query(t, text, everybody)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// TestAddedWhileListed checks that an update keeps a source that another process adds while the
// update lists the sources.
func TestAddedWhileListed(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	other := For(s.w)
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	kept := source("kept", "", Row{Kind: KindTask, Ref: "task_kept", Title: "kept"})
	fresh := source("fresh", "", Row{Kind: KindTask, Ref: "task_fresh", Title: "fresh"})
	_, err := s.Update(t.Context(), time.Minute, func(ctx context.Context) ([]Source, error) {
		_, err := other.Update(ctx, time.Minute, listed(kept, fresh))
		return []Source{kept}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := refs(s.query(t, "fresh", everybody)); got != "task_fresh" {
		t.Errorf("%q is found", got)
	}
	if _, err := s.Update(t.Context(), time.Minute, listed(kept)); err != nil {
		t.Fatal(err)
	}
	if got := refs(s.query(t, "fresh", everybody)); got != "" {
		t.Errorf("%q is found after it went", got)
	}
}

// TestBusyIndex updates an index that another process is still creating, which takes longer than
// the patience of the update. All sources are behind then, and nothing has failed.
func TestBusyIndex(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := os.MkdirAll(filepath.Join(s.w.Dir(), workspace.LocalDir), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.SearchFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	one := source("a", "", Row{Kind: KindTask, Ref: "task_a", Title: "one"})
	if behind, err := s.Update(t.Context(), 20*time.Millisecond, listed(one)); err != nil || behind != 1 {
		t.Errorf("%d behind, %v", behind, err)
	}
	if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if behind, err := s.Update(t.Context(), time.Minute, listed(one)); err != nil || behind != 0 {
		t.Errorf("%d behind, %v", behind, err)
	}
}

// TestUnitPanics panics in a transaction of an update, as in a request whose caller recovers.
// The next update can still write.
func TestUnitPanics(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	db, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	u := updater{db: db, redactor: redact.NewRedactor(nil)}
	func() {
		defer func() { _ = recover() }() // as planned
		_ = u.inTx(t.Context(), func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "DELETE FROM sources"); err != nil {
				t.Error(err)
			}
			panic("as planned")
		})
	}()
	if behind, err := s.Update(t.Context(), time.Minute, listed(source("a", "", Row{Kind: KindTask, Ref: "task_a", Title: "one"}))); err != nil || behind != 0 {
		t.Error(behind, err)
	}
}
