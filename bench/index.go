package main

// The index: rebuilds, syncs and queries.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the bare database to compare with

	"ac/events"
	"ac/index"
	"ac/workspace"
)

const eventsPerRun = 200

// indexed is an open workspace with logs and an index.
type indexed struct {
	w    *workspace.Workspace
	ix   *index.Index
	runs int
	logs int64 // bytes
}

func (x *indexed) close() error { return errors.Join(x.ix.Close(), x.w.Close()) }

func indexRun(i int) string { return fmt.Sprintf("run_%05d", i) }

// indexFixture creates a workspace with runs of eventsPerRun events each.
func (b *bench) indexFixture(ctx context.Context, name string, runs int) (*indexed, error) {
	return b.indexFixtureOf(ctx, name, runs, eventsPerRun)
}

// indexFixtureOf creates a workspace with runs of the given number of events each.
func (b *bench) indexFixtureOf(ctx context.Context, name string, runs, each int) (*indexed, error) {
	dir := b.path(name)
	if err := workspace.Init(ctx, workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Bench"}); err != nil {
		return nil, err
	}
	log := events.Encode(drafts(source(), each)...)
	for i := range runs {
		record := fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: proj\nagent_id: agent_%d\nprovider: cmd\ncreated_at: 2026-01-01T00:00:00.%03dZ\nstatus: ended\ncontext_pack_id: ctx\nevents_relpath: x\n", indexRun(i), i%20, i%1000)
		place := filepath.Join(dir, filepath.FromSlash(workspace.RunDir("proj", indexRun(i))))
		if err := errors.Join(os.MkdirAll(place, 0o755), os.WriteFile(filepath.Join(place, "run.yaml"), []byte(record), 0o644),
			os.WriteFile(filepath.Join(place, events.FileName), log, 0o644)); err != nil {
			return nil, err
		}
	}
	w, err := workspace.Open(workspace.SystemEnv(), workspace.Canonical(dir))
	if err != nil {
		return nil, err
	}
	return &indexed{w: w, ix: index.For(w), runs: runs, logs: int64(runs) * int64(len(log))}, age(ctx)
}

func measureIndex(ctx context.Context, b *bench) (found []figure, err error) {
	for _, of := range []struct {
		runs   int
		target float64 // of a no-op sync, in ms
	}{{500, 8}, {2000, 25}} {
		x, err := b.indexFixture(ctx, fmt.Sprintf("index%d", of.runs), of.runs)
		if err != nil {
			return nil, err
		}
		some, err := x.measure(ctx, b, of.target)
		if err == nil {
			var staying []figure
			staying, err = x.staying(ctx, float64(of.runs)/250)
			some = append(some, staying...)
		}
		if err = errors.Join(err, x.close()); err != nil {
			return nil, err
		}
		found = append(found, some...)
		peak, err := b.rebuildPeak(ctx, x)
		if err != nil {
			return nil, err
		}
		found = append(found, figure{
			Name: fmt.Sprintf("peak of index:rebuild of %d events", x.runs*eventsPerRun), Unit: "MB", Seen: peak, Target: 64 << 20 / 1e6,
			Note: "VmHWM of the whole process",
		})
	}
	x, err := b.indexFixtureOf(ctx, "index10000", 10_000, 2)
	if err != nil {
		return nil, err
	}
	some, err := x.staying(ctx, 10)
	return append(found, some...), errors.Join(err, x.close())
}

// staying measures syncs of a long-running process such as a server. It watches the files and reads
// only those with a reported change.
func (x *indexed) staying(ctx context.Context, target float64) (found []figure, err error) {
	ix := index.For(x.w)
	ix.EnableWatch()
	defer func() { err = errors.Join(err, ix.Close()) }()
	sync := func() error { _, err := ix.Sync(ctx); return err }
	if _, err := repeat(2, sync); err != nil { // from then on, the watch is active
		return nil, err
	}
	idle, err := repeat(20, sync)
	if err != nil {
		return nil, err
	}
	appended, err := x.appended(ctx, ix)
	of := fmt.Sprintf(" of %d runs, staying", x.runs)
	return []figure{
		{Name: "index sync, unchanged" + of, Unit: "ms", Seen: ms(idle.median()), Target: target, Note: idle.spread()},
		{Name: "index sync after one event" + of, Unit: "ms", Seen: ms(appended.median()), Target: target + 1, Note: appended.spread()},
	}, err
}

func (x *indexed) measure(ctx context.Context, b *bench, target float64) ([]figure, error) {
	total := x.runs * eventsPerRun
	bare, err := b.insertRows(ctx, total)
	if err != nil {
		return nil, err
	}
	c, err := x.cost(ctx, 3, 20)
	if err != nil {
		return nil, err
	}
	listed, err := repeat(20, func() error {
		return x.ix.View(ctx, func(v *index.View) error {
			rows, err := v.Events(index.EventFilter{RunID: indexRun(x.runs / 2), Limit: 500})
			if err == nil && len(rows) != eventsPerRun {
				err = fmt.Errorf("%d events listed", len(rows))
			}
			return err
		})
	})
	of := fmt.Sprintf(" of %d runs", x.runs)
	return []figure{
		{Name: "index rebuild" + of, Unit: "/s", Seen: rate(total, c.built.median()), Target: 120_000, AtLeast: true, Limit: rate(total, bare), By: "bare rows into SQLite", Note: c.built.spread()},
		{Name: "index size, share of the logs" + of, Unit: "", Seen: float64(c.size) / float64(x.logs), Target: 0.2, Note: fmt.Sprintf("logs of %d MB", x.logs/1e6)},
		{Name: "index sync, unchanged" + of, Unit: "ms", Seen: ms(c.idle.median()), Target: target, Limit: ms(c.looks.median()), By: "lstat of the same files", Note: c.idle.spread()},
		{Name: "index sync after one event" + of, Unit: "ms", Seen: ms(c.appended.median()), Target: ms(c.idle.median()) + 3, Limit: ms(c.idle.median()), By: "sync, unchanged", Note: c.appended.spread()},
		{Name: "index events of a run" + of, Unit: "ms", Seen: ms(listed.median()), Target: 5, Note: listed.spread()},
	}, err
}

// cost is the cost of an index: rebuilds, lstat of its sources, syncs without and with a new event,
// and its size on disk.
type cost struct {
	built, looks, idle, appended samples
	size                         int64
}

// cost measures the given numbers of rebuilds and of syncs.
func (x *indexed) cost(ctx context.Context, rebuilds, syncs int) (c cost, err error) {
	if c.built, err = repeat(rebuilds, func() error { _, err := x.ix.Rebuild(ctx); return err }); err != nil {
		return c, err
	}
	if c.looks, err = repeat(syncs, x.look); err != nil {
		return c, err
	}
	if c.idle, err = repeat(syncs, func() error { _, err := x.ix.Sync(ctx); return err }); err != nil {
		return c, err
	}
	if c.appended, err = x.appended(ctx, x.ix); err != nil {
		return c, err
	}
	c.size, err = indexSize(x.w.Dir())
	return c, err
}

// indexSize returns the size of the index on disk with its journal. After a rebuild, the journal is
// as large as the index until the next write.
func indexSize(dir string) (size int64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		st, err := os.Stat(index.Path(dir) + suffix)
		if err != nil && !os.IsNotExist(err) {
			return 0, err
		}
		if err == nil {
			size += st.Size()
		}
	}
	return size, nil
}

// rebuildPeak returns the peak memory of a process that rebuilds the index.
func (b *bench) rebuildPeak(ctx context.Context, x *indexed) (float64, error) {
	cmd := exec.CommandContext(ctx, b.program, "index:rebuild", x.w.Dir())
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	highest := watchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	return highest(), err
}

// look calls lstat on every file that a full sync checks.
func (x *indexed) look() error {
	for i := range x.runs {
		for _, name := range []string{workspace.RunFile("proj", indexRun(i)), workspace.LogFile("proj", indexRun(i))} {
			if _, err := os.Lstat(filepath.Join(x.w.Dir(), filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	return nil
}

// appended times syncs that each read one new event, in logs without other recent writes.
func (x *indexed) appended(ctx context.Context, ix *index.Index) (all samples, err error) {
	s := source()
	for i := range 10 {
		if err := x.w.Append(ctx, workspace.LogFile("proj", indexRun(i*7%x.runs)), draft(s)); err != nil {
			return nil, err
		}
		began := time.Now()
		if _, err := ix.Sync(ctx); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}

// insertRows inserts n rows with as many columns as an event into a bare table.
func (b *bench) insertRows(ctx context.Context, n int) (took time.Duration, err error) {
	name := b.path("bare.sqlite")
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(), os.Remove(name)) }()
	const columns, rows = 12, 32
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	began := time.Now()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx, "CREATE TABLE bare(a INTEGER PRIMARY KEY,b,c,d,e,f,g,h,i,j,k,l)"); err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO bare VALUES "+strings.Repeat(one+",", rows-1)+one)
	if err != nil {
		return 0, errors.Join(err, tx.Rollback())
	}
	args := make([]any, columns*rows)
	for at := 0; at < n; at += rows {
		for i := range args {
			args[i] = int64(at*columns + i)
		}
		if _, err := insert.ExecContext(context.WithoutCancel(ctx), args...); err != nil {
			return 0, errors.Join(err, insert.Close(), tx.Rollback())
		}
	}
	err = errors.Join(insert.Close(), tx.Commit())
	return time.Since(began), err
}
