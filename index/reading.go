package index

// Reading the logs of a pass: parsed concurrently, written by one goroutine.

import (
	"context"
	"runtime"
	"sync"
)

// readLogs reads the changed logs.
func (p *pass) readLogs() error {
	jobs, err := p.jobs()
	if err != nil || len(jobs) == 0 {
		return err
	}
	ctx, cancel := context.WithCancel(p.ctx)
	readers := max(1, min(runtime.GOMAXPROCS(0), len(jobs)))
	batches := make(chan logBatch, 2*readers)
	queue := make(chan *logJob)
	failed := make([]error, readers)
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() { failed[i] = readQueue(ctx, newLogReader(p.w.FS), queue, batches) })
	}
	go func() {
		defer close(batches)
		feed(ctx, queue, jobs)
		wg.Wait()
	}()
	for b := range batches {
		if err == nil {
			if err = p.batch(b); err != nil {
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

func feed(ctx context.Context, queue chan<- *logJob, jobs []*logJob) {
	defer close(queue)
	for _, job := range jobs {
		select {
		case queue <- job:
		case <-ctx.Done():
			return
		}
	}
}

func readQueue(ctx context.Context, r *logReader, queue <-chan *logJob, batches chan<- logBatch) error {
	give := func(b logBatch) error {
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
			failed = r.read(ctx, job, give)
		}
	}
	return failed
}

// batch writes a piece of a log.
func (p *pass) batch(b logBatch) error {
	job := b.job
	if b.end != nil && b.end.same {
		return p.sameLog(job)
	}
	if b.first {
		if err := p.write.before(p, job, b.whole); err != nil {
			return err
		}
	}
	if b.end != nil && b.end.gone {
		if job.file == nil {
			return nil
		}
		p.known.forget(job.file)
		return p.write.exec("DELETE FROM ac_files WHERE id=?", job.file.id)
	}
	if err := p.write.rows(p, b); err != nil || b.end == nil {
		return err
	}
	if job.source.kind == kindLog {
		if err := p.write.saveStats(job.run, &b.end.stats); err != nil {
			return err
		}
	}
	f := job.file
	if f == nil {
		f = &file{id: p.known.nextFile, kind: job.source.kind, path: job.source.path, project: job.source.project, seen: p.known.passes}
		p.known.add(f)
	}
	f.version, f.maybeStale, f.log, f.sum = job.source.version, !job.source.version.Cacheable(p.w.FS, p.now), b.end.state, b.end.sum
	return p.write.saveFile(f)
}

// sameLog records that a log with an inconclusive version is unchanged.
func (p *pass) sameLog(job *logJob) error {
	if !job.source.version.Cacheable(p.w.FS, p.now) {
		return nil
	}
	job.file.maybeStale = false
	return p.write.saveFile(job.file)
}
