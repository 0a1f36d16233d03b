package main

// Event logs: appending, grouping, verifying.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable"
	"ac/internal/ulid"
)

// source returns a source of events.
func source() events.Source {
	c := clock.System()
	return events.Source{Clock: c, NewID: ulid.NewSource(c.Now).New}
}

// draft returns an event of provider output.
func draft(s events.Source) events.Draft {
	return s.Raw(events.Draft{
		RunID: "run_bench", SessionRef: "local_run_bench", Actor: "agent_bench", Visibility: events.VisibilityTeam,
		Type: events.ProviderRaw, Payload: []byte(`{"stream":"stdout","chunk":"` + strings.Repeat("some output ", 10) + `\n"}`),
	})
}

func drafts(s events.Source, n int) []events.Draft {
	all := make([]events.Draft, n)
	for i := range all {
		all[i] = draft(s)
	}
	return all
}

// rawLog opens a bare file in the same folder, for comparison with a log.
func rawLog(root *durable.Root, name string) (durable.File, error) {
	return root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
}

func writeAndSync(f durable.File, line []byte) error {
	if err := durable.WriteAll(f, line); err != nil {
		return err
	}
	return f.SyncData()
}

// measureEvent appends to a log and to a bare file in turn, so that the disk's load is the same for
// both.
func measureEvent(ctx context.Context, b *bench) (found []figure, err error) {
	root, err := durable.OpenRoot(b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	file, err := rawLog(root, "event.raw")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	s := source()
	log := events.OpenLog(root, "event.jsonl")
	defer func() { err = errors.Join(err, log.Close()) }()
	line := events.Encode(draft(s))
	var bare, seen, over samples
	for range 1500 {
		began := time.Now()
		if err := writeAndSync(file, line); err != nil {
			return nil, err
		}
		between := time.Now()
		if err := log.Append(ctx, draft(s)); err != nil {
			return nil, err
		}
		bare, seen = append(bare, between.Sub(began)), append(seen, time.Since(between))
		over = append(over, seen[len(seen)-1]-bare[len(bare)-1])
	}
	return []figure{
		{
			Name: "one durable event", Unit: "us", Seen: us(seen.median()), Target: us(bare.median()) + 50,
			Limit: us(bare.median()), By: "write + fdatasync", Note: fmt.Sprintf("%s; median difference of neighbours %s", seen.spread(), over.median().Round(100*time.Nanosecond)),
		},
	}, nil
}

const (
	writers      = 8
	perWriter    = 250
	writerEvents = writers * perWriter
)

// contend runs the writers concurrently and times each append.
func contend(write func(writer int) (one func() error, end func() error, err error)) (all samples, took time.Duration, err error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	began := time.Now()
	for w := range writers {
		wg.Go(func() {
			one, end, failed := write(w)
			var mine samples
			if failed == nil {
				mine, failed = repeat(perWriter, one)
				failed = errors.Join(failed, end())
			}
			mu.Lock()
			defer mu.Unlock()
			all, err = append(all, mine...), errors.Join(err, failed)
		})
	}
	wg.Wait()
	return all, time.Since(began), err
}

func measureWriters(ctx context.Context, b *bench) (found []figure, err error) {
	root, err := durable.OpenRoot(b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	s := source()
	line := events.Encode(draft(s))
	bare, bareTook, err := contend(func(int) (func() error, func() error, error) {
		file, err := rawLog(root, "writers.raw")
		if err != nil {
			return nil, nil, err
		}
		return func() error { return writeAndSync(file, line) }, file.Close, nil
	})
	if err != nil {
		return nil, err
	}
	seen, took, err := contend(func(int) (func() error, func() error, error) {
		log := events.OpenLog(root, "writers.jsonl")
		return func() error { return log.Append(ctx, draft(s)) }, log.Close, nil
	})
	if err != nil {
		return nil, err
	}
	what := "write + fdatasync by 8"
	return []figure{
		{Name: "8 writers of one log", Unit: "/s", Seen: rate(writerEvents, took), Limit: rate(writerEvents, bareTook), By: what, Note: "durable events, each writer with a Log of its own"},
		{Name: "8 writers of one log, p99", Unit: "ms", Seen: ms(seen.quantile(0.99)), Limit: ms(bare.quantile(0.99)), By: what},
	}, nil
}

func measureGrouped(ctx context.Context, b *bench) (found []figure, err error) {
	const total, group = 200_000, 250
	root, err := durable.OpenRoot(b.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	s := source()
	block := events.Encode(drafts(s, group)...)
	file, err := rawLog(root, "grouped.raw")
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for range total / group {
		if err := writeAndSync(file, block); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	bare := time.Since(began)
	if err := file.Close(); err != nil {
		return nil, err
	}
	log := events.OpenLog(root, "grouped.jsonl")
	began = time.Now()
	for range total / group {
		if err := errors.Join(log.Write(ctx, drafts(s, group)...), log.Sync()); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	seen := time.Since(began)
	return []figure{{
		Name: "grouped events", Unit: "/s", Seen: rate(total, seen), Target: 50_000, AtLeast: true,
		Limit: rate(total, bare), By: "the same bytes, write + fdatasync", Note: fmt.Sprintf("groups of %d, one sync each", group),
	}}, log.Close()
}

func measureVerify(_ context.Context, b *bench) ([]figure, error) {
	const size = 30 << 20
	s := source()
	one := events.Encode(draft(s))
	chain := events.Encode(drafts(s, size/len(one))...)
	name := b.path("chain.jsonl")
	if err := os.WriteFile(name, chain, 0o644); err != nil {
		return nil, err
	}
	bare, _ := repeat(5, func() error {
		for line := range bytes.SplitSeq(chain, []byte{'\n'}) {
			_ = sha256.Sum256(line)
		}
		return nil
	})
	seen, err := repeat(5, func() error {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		report, err := events.Verify(f, nil, false, nil)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if !report.Sound() {
			return errors.New("the chain is not sound")
		}
		return nil
	})
	mb := float64(len(chain)) / 1e6
	return []figure{
		{Name: "verify a chain of 30 MB", Unit: "ms", Seen: ms(seen.median()), Target: 6 * ms(bare.median()), Limit: ms(bare.median()), By: "SHA-256 of its lines", Note: seen.spread()},
		{Name: "verify a chain, rate", Unit: "MB/s", Seen: mb / seen.median().Seconds(), Target: 300, AtLeast: true, Limit: mb / bare.median().Seconds(), By: "SHA-256 of its lines"},
	}, err
}
