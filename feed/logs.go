package feed

// Reading logs on request, without a subscription: cached transcripts and pages of events.

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"ac/events"
	"ac/internal/fault"
	"ac/runs/transcript"
	"ac/workspace"
)

const (
	// keptLogs is how many transcripts are cached, and how many page positions.
	keptLogs = 8
	// maxCachedStates is how many run states are cached. A client that shows a company reads all running
	// runs in turn. Up to this number, none is read from its start again.
	maxCachedStates = 256
	// keptFoldBytes bounds the total size of the cached transcripts, and that of the states. The
	// last one requested is always kept.
	keptFoldBytes = 96 << 20
	// longRead is the number of bytes from which reading uses a second processor.
	longRead = 1 << 20
)

// Logs reads the logs of runs. It caches the transcripts of the runs that were last requested, 64
// MiB each at most, and the states of more runs. It reads only what was appended since. It is safe
// for concurrent use.
type Logs struct {
	folds  keptFolds
	states keptFolds
	pages  recent[keptPages]
}

// NewLogs makes a reader with an empty cache.
func NewLogs() *Logs {
	return &Logs{
		folds:  keptFolds{fresh: transcript.NewFold, recent: recent[keptFold]{most: keptLogs}},
		states: keptFolds{fresh: transcript.NewBrief, recent: recent[keptFold]{most: maxCachedStates}},
		pages:  recent[keptPages]{most: keptLogs},
	}
}

// keptFolds caches the folds of the runs that were last requested.
type keptFolds struct {
	recent[keptFold]

	fresh func(project string) *transcript.Fold
}

// keptFold is the transcript of a run up to a position in its log.
type keptFold struct {
	mu   sync.Mutex
	at   cursor
	fold *transcript.Fold
	held atomic.Int64 // bytes, when last lent
}

// RunState brings the state of a run up to the end of its log and calls look with a fold that drops
// closed items (see transcript.NewBrief). look must not keep the fold, nor call Logs. For a run
// without a log the error is fault.NotFound.
func (g *Logs) RunState(ctx context.Context, ws *workspace.Workspace, project, run string, look func(*transcript.Fold)) error {
	return g.states.withFold(ctx, ws, logKey{project, run}, nil, look)
}

// Idles reports whether the agent of a run waits for its next turn. If the state is cached, it
// reads only new lines, otherwise only the end of the log. For a run without a log the error is
// fault.NotFound.
func (g *Logs) Idles(ctx context.Context, ws *workspace.Workspace, project, run string) (idles bool, err error) {
	key := logKey{project, run}
	if g.states.has(ws, key) {
		err = g.RunState(ctx, ws, project, run, func(f *transcript.Fold) { idles = f.State().Activity == transcript.ActivityIdle })
		return idles, err
	}
	l, err := openNamed(ctx, ws, key)
	if err != nil {
		return false, err
	}
	defer l.close()
	if idles, err = transcript.IsIdle(l, l.size); err != nil {
		return false, fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	}
	return idles, nil
}

// Transcript brings the transcript of a run up to the end of its log, or builds it as of a seq, and
// calls look with it. look must not keep the fold, nor call Logs. For a run without a log the error
// is fault.NotFound.
func (g *Logs) Transcript(ctx context.Context, ws *workspace.Workspace, project, run string, until *int64, look func(*transcript.Fold)) error {
	return g.folds.withFold(ctx, ws, logKey{project, run}, until, look)
}

// withFold brings the fold of a log up to its end, or builds one as of a seq, and calls look with it.
func (g *keptFolds) withFold(ctx context.Context, ws *workspace.Workspace, key logKey, until *int64, look func(*transcript.Fold)) error {
	l, err := openNamed(ctx, ws, key)
	if err != nil {
		return err
	}
	defer l.close()
	k := g.of(ws, key)
	kept := k
	k.mu.Lock()
	defer func() {
		kept.mu.Unlock()
		g.shed()
	}()
	if until != nil && k.at.seq > *until {
		k = &keptFold{} // not cached
	}
	if err = k.at.begin(l); err != nil {
		return fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	}
	if k.fold == nil || k.at.seq == 0 {
		k.fold = g.fresh(key.project) // also if the log was replaced
	}
	read := func(visit func(seq int64, line []byte)) error {
		return k.at.lines(l, func(line events.Line) bool {
			if until != nil && line.Seq > *until {
				return false
			}
			visit(line.Seq, line.Raw)
			k.at.pass(line)
			return true
		})
	}
	if l.size-k.at.offset > longRead {
		err = k.fold.AdvanceAll(read)
	} else {
		err = read(k.fold.Advance)
	}
	if err != nil {
		return fault.New(fault.IO, "%s cannot be read: %w", key.file(), err)
	}
	k.held.Store(int64(k.fold.MemorySize()))
	look(k.fold)
	return nil
}

// shed evicts the least recently requested folds while all together are too large.
func (g *keptFolds) shed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	total := int64(0)
	for i, k := range g.kept {
		if total += k.value.held.Load(); i > 0 && total > keptFoldBytes {
			clear(g.kept[i:])
			g.kept = g.kept[:i]
			return
		}
	}
}

// Forget drops the cached transcripts. It is for a process that has shown one and then only follows
// changes.
func (g *Logs) Forget() { g.folds.forget() }

// openNamed opens the log of a run that a client named.
func openNamed(ctx context.Context, ws *workspace.Workspace, key logKey) (*runLog, error) {
	l, err := openLog(ctx, ws, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "run %s of project %s has no %s", key.run, key.project, events.FileName)
	}
	return l, err
}

// recent is an LRU cache with one value for each log. It is safe for concurrent use.
type recent[T any] struct {
	most int

	mu   sync.Mutex
	kept []keptOf[T] // most recently requested first
}

type keptOf[T any] struct {
	ws    *workspace.Workspace
	key   logKey
	value *T
}

// has reports whether a log has a cached value.
func (r *recent[T]) has(ws *workspace.Workspace, key logKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.kept, func(k keptOf[T]) bool { return k.ws == ws && k.key == key })
}

// forget empties the cache.
func (r *recent[T]) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = nil
}

// of returns the cached value of a log, a new one if there was none.
func (r *recent[T]) of(ws *workspace.Workspace, key logKey) *T {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k keptOf[T]) bool { return k.ws == ws && k.key == key })
	k := keptOf[T]{ws, key, new(T)}
	if i >= 0 {
		k = r.kept[i]
		r.kept = slices.Delete(r.kept, i, i+1)
	}
	r.kept = slices.Insert(r.kept[:min(len(r.kept), r.most-1)], 0, k)
	return k.value
}
