package index

import (
	"bytes"
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"ac/internal/fault"
)

// TestUnusableFiles puts files of many kinds in the index's place. Reads report that there is
// no index, and a snapshot replaces the file without an error.
func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	ix := For(w)
	if _, err := ix.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	must(ix.Close())
	good, err := os.ReadFile(c.path(databaseFile))
	must(err)
	// Keep the original's inode in use, so that a copy is a different file.
	must(os.Link(c.path(databaseFile), filepath.Join(t.TempDir(), "kept")))
	query := func(text string) func(name string) {
		return func(name string) {
			must(os.WriteFile(name, good, 0o644))
			db, err := sql.Open("sqlite", name)
			must(err)
			if _, err := db.Exec(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
			must(db.Close())
		}
	}
	write := func(content []byte) func(string) {
		return func(name string) { must(os.WriteFile(name, content, 0o644)) }
	}
	spoiltPages := bytes.Clone(good)
	for i := 4096; i < len(spoiltPages); i++ {
		spoiltPages[i] = byte(i)
	}
	for name, make := range map[string]func(name string){
		"empty":           write(nil),
		"text":            write([]byte("This is no database.")),
		"long text":       write(bytes.Repeat([]byte("no database "), 10_000)),
		"a piece":         write(good[:len(good)/2]),
		"odd end":         write(good[:len(good)-100]),
		"zeros":           write(make0(len(good))),
		"spoilt pages":    write(spoiltPages),
		"a header":        write(good[:100]),
		"a copy":          write(good),
		"other program":   query("PRAGMA application_id=7"),
		"other version":   query("PRAGMA user_version=999"),
		"no application":  query("PRAGMA application_id=0"),
		"a table missing": query("DROP TABLE ac_events"),
		"no state":        query("DELETE FROM ac_state"),
		"odd state":       query("UPDATE ac_files SET state=x'ff'"),
		"a link":          func(name string) { must(os.Symlink(filepath.Join(t.TempDir(), "elsewhere"), name)) },
		"a directory":     func(name string) { must(os.Mkdir(name, 0o755)) },
	} {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			must(os.RemoveAll(c.path(databaseFile + suffix)))
		}
		make(c.path(databaseFile))
		ix := For(w)
		if err := ix.View(ctx, whole); !fault.Is(err, fault.NoIndex) && name != "odd state" { // no list reads that state
			t.Errorf("%s: a read says %v", name, err)
		}
		done, err := look(ctx, ix, UpToDate, whole)
		if err != nil || !done.Rebuilt {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		if done, err := ix.Ensure(ctx, UpToDate); err != nil || done != (EnsureResult{Synced: true}) {
			t.Errorf("%s: then %+v, %v", name, done, err)
		}
		must(ix.Close())
	}
}

func make0(n int) []byte { return make([]byte, n) }

// TestDeletedUnderUs deletes the file while it is open. Reads then report that there is no
// index, and a snapshot rebuilds it.
func TestDeletedUnderUs(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	ix := For(w)
	defer ix.Close()
	for range 3 {
		if _, err := ix.Sync(ctx); err != nil {
			t.Fatal(err)
		}
		must(os.Remove(c.path(databaseFile)))
		if err := ix.View(ctx, whole); !fault.Is(err, fault.NoIndex) {
			t.Errorf("a read says %v", err)
		}
	}
	if done, err := look(ctx, ix, NoSync, whole); err != nil || !done.Rebuilt {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestOtherTables checks that a rebuild keeps other programs' tables in the file.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	c, w := filled(t)
	ctx := context.Background()
	ix := For(w)
	defer ix.Close()
	if _, err := ix.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", c.path(databaseFile))
	must(err)
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE theirs(a); INSERT INTO theirs VALUES (42); DELETE FROM ac_events WHERE seq=3"); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Rebuild(ctx); err != nil {
		t.Fatal(err)
	}
	var kept int
	if err := db.QueryRow("SELECT a FROM theirs").Scan(&kept); err != nil || kept != 42 {
		t.Errorf("their table: %d, %v", kept, err)
	}
	if err := ix.View(ctx, whole); err != nil {
		t.Error(err)
	}
}
