package index

// Reading the logs of a pass. Several goroutines parse, one writes.

import (
	"context"
	"runtime"
	"sync"

	"ac/index/source"
)

// readLogs reads the changed logs.
func (p *pass) readLogs() error {
	jobs, err := p.jobs()
	if err != nil || len(jobs) == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(p.ctx)
	readers := max(1, min(runtime.GOMAXPROCS(0), len(jobs)))
	batches := make(chan source.Batch, 2*readers)
	queue := make(chan *source.Job)
	failed := make([]error, readers)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() { failed[i] = readQueue(ctx, source.NewReader(p.w.FS), queue, batches) })
	}
	go func() {
		defer close(batches)
		feed(ctx, queue, jobs)
		wg.Wait()
	}()
	defer func() { // no goroutine outlives the pass, even if it panics
		cancel()
		for range batches {
			continue // it is closed when all have ended
		}
	}()
	for b := range batches {
		if err == nil {
			if err = p.writeBatch(b); err != nil {
				cancel()
			}
		}
	}
	cancel()
	for _, f := range failed {
		if err == nil {
			err = f
		}
	}
	if err == nil {
		err = context.Cause(p.ctx)
	}
	return err
}

func feed(ctx context.Context, queue chan<- *source.Job, jobs []*source.Job) {
	defer close(queue)
	for _, job := range jobs {
		select {
		case queue <- job:
		case <-ctx.Done():
			return
		}
	}
}

func readQueue(ctx context.Context, r *source.Reader, queue <-chan *source.Job, batches chan<- source.Batch) error {
	give := func(b source.Batch) error {
		select {
		case batches <- b:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	var failed error
	for job := range queue {
		if failed == nil {
			failed = r.Read(ctx, job, give)
		}
	}
	return failed
}

// writeBatch writes one batch of a log.
func (p *pass) writeBatch(b source.Batch) error {
	job := b.Job
	f := p.known.byPath[job.Source.Path]
	if b.End != nil && b.End.Same {
		return p.markLogUnchanged(job, f)
	}
	if b.First {
		if err := p.write.deleteReplaced(p, job, b.Whole); err != nil {
			return err
		}
	}
	if b.End != nil && b.End.Gone {
		if f == nil {
			return nil
		}
		p.known.forget(f)
		return p.write.exec("DELETE FROM ac_files WHERE id=?", f.id)
	}
	if err := p.write.rows(p, b); err != nil || b.End == nil {
		return err
	}
	if job.Source.Kind == source.KindLog {
		if err := p.write.saveStats(job.Run, &b.End.Stats); err != nil {
			return err
		}
	}
	if f == nil {
		f = &file{id: p.known.nextFile, kind: job.Source.Kind, path: job.Source.Path, project: job.Source.Project, seen: p.known.passes}
		p.known.add(f)
	}
	f.version, f.maybeStale, f.log, f.sum = job.Source.Version, !job.Source.Version.Cacheable(p.w.FS, p.now), b.End.State, b.End.Sum
	return p.write.saveFile(f)
}

// markLogUnchanged records that a log with an inconclusive version is unchanged.
func (p *pass) markLogUnchanged(job *source.Job, f *file) error {
	if !job.Source.Version.Cacheable(p.w.FS, p.now) {
		return nil
	}
	f.maybeStale = false
	return p.write.saveFile(f)
}
