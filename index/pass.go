package index

// A pass compares the files of a workspace with the index and updates the rows in one
// transaction. A rebuild is a pass over an empty index.

import (
	"context"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"ac/index/source"
	"ac/internal/durable"
	"ac/internal/yamldoc"
	"ac/workspace"
)

// pass is one comparison. It belongs to the holder of the index's lock.
type pass struct {
	ctx       context.Context //nolint:containedctx // a pass is one call
	w         *workspace.Workspace
	scope     source.Scope
	known     *fileStates
	walkCache *source.Cache // cached by earlier passes; may be nil
	now       time.Time
	write     *writer
	synced    SyncResult
	sources   []source.File // those in scope if already listed; nil if the pass must walk
	changed   []source.File // documents to read
	logs      []source.File // logs that exist, in order
	agents    map[string]bool
	orphans   map[string]bool // keys whose file no longer holds them
}

func newPass(ctx context.Context, w *workspace.Workspace, k *fileStates, before *source.Cache, write *writer, scope source.Scope) *pass {
	k.passes++
	return &pass{
		ctx: ctx, w: w, scope: scope, known: k, walkCache: before, now: w.Env.Clock.Now(), write: write,
		agents: map[string]bool{}, orphans: map[string]bool{},
	}
}

// run compares and writes everything. The caller ends the transaction.
func (p *pass) run() error {
	p.walkCache.Refresh(p.ctx, p.w)
	for _, s := range p.sources {
		p.addSource(s)
	}
	list := source.Walk{FS: p.w.FS, Scope: p.scope, Cache: p.walkCache, Found: p.addSource}
	if p.sources == nil {
		if err := list.Run(); err != nil {
			return err
		}
	}
	for _, step := range []func() error{p.dropRemoved, p.syncDocuments, p.reassignOrphans, p.readLogs, p.updateCounters} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// addSource records a source file that exists.
func (p *pass) addSource(s source.File) {
	f := p.known.byPath[s.Path]
	if s.Kind == source.KindLog || s.Kind == source.KindMessages {
		p.logs = append(p.logs, s)
		return
	}
	if f == nil || f.version != s.Version || f.maybeStale {
		p.changed = append(p.changed, s)
	}
	if f != nil {
		f.seen = p.known.passes
	}
}

// dropRemoved drops the documents whose files are gone.
func (p *pass) dropRemoved() error {
	var gone []*file
	for _, f := range p.known.byPath {
		if f.kind != source.KindLog && f.kind != source.KindMessages && f.seen != p.known.passes && p.scope.Holds(f.kind, f.project) {
			gone = append(gone, f)
		}
	}
	for _, f := range gone {
		if err := p.deleteRows(f); err != nil {
			return err
		}
		p.known.forget(f)
		if err := p.write.exec("DELETE FROM ac_files WHERE id=?", f.id); err != nil {
			return err
		}
	}
	return nil
}

// deleteRows deletes the rows of a document.
func (p *pass) deleteRows(f *file) error {
	if !f.hasRows {
		return nil
	}
	f.hasRows = false
	p.orphans[f.claim] = true
	return p.write.remove(p, f)
}

// chunk is the number of documents that are read before their rows are written.
const chunk = 256

func (p *pass) syncDocuments() error {
	for some := range slices.Chunk(p.changed, chunk) {
		if err := p.ctx.Err(); err != nil {
			return context.Cause(p.ctx)
		}
		if err := p.readDocuments(some); err != nil {
			return err
		}
	}
	return nil
}

// readResult is the result of reading one document.
type readResult struct {
	source source.File
	doc    source.Document
	sum    uint64
	gone   bool
}

func (p *pass) readDocuments(some []source.File) error {
	paths := make([]string, len(some))
	places := make(map[string]source.File, len(some))
	for i, s := range some {
		paths[i], places[s.Path] = s.Path, s
	}
	for _, r := range workspace.ReadEach(paths, func(name string) (readResult, error) { return p.read(places[name]), nil }) {
		if err := p.store(r); err != nil {
			return err
		}
	}
	return nil
}

// read reads and decodes one document. If the index already has this version and the text is
// the same, it does not decode it again.
func (p *pass) read(s source.File) readResult {
	text, st, err := durable.ReadFileInfo(p.w.FS, s.Path, yamldoc.MaxBytes)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return readResult{source: s, gone: true}
	case err != nil:
		return readResult{source: s, doc: source.UnreadableDocument(err)}
	case durable.IdentityOf(st) != s.Version.ID:
		s.Version = durable.VersionOf(st) // it was replaced since the walk
	}
	sum := source.Sum(text)
	if f := p.known.byPath[s.Path]; f != nil && f.version == s.Version && f.sum == sum {
		return readResult{source: s, sum: sum, doc: source.Document{Claim: f.claim, Problem: sameText}}
	}
	return readResult{source: s, sum: sum, doc: source.Decode(s, text)}
}

// sameText marks a document whose text is unchanged, in its Problem.
const sameText = "\x00same"

// store updates the index with a document that was read.
func (p *pass) store(r readResult) error {
	f := p.known.byPath[r.source.Path]
	maybeStale := !r.source.Version.Cacheable(p.w.FS, p.now)
	if r.doc.Problem == sameText && !r.gone {
		if f.maybeStale == maybeStale {
			return nil
		}
		f.maybeStale = maybeStale
		return p.write.saveFile(f)
	}
	if r.gone {
		// The file disappeared while it was read; the next sync sees the new state.
		if f == nil {
			return nil
		}
		if err := p.deleteRows(f); err != nil {
			return err
		}
		p.known.forget(f)
		return p.write.exec("DELETE FROM ac_files WHERE id=?", f.id)
	}
	if f == nil {
		f = &file{id: p.known.nextFile, kind: r.source.Kind, path: r.source.Path, project: r.source.Project, seen: p.known.passes}
		p.known.add(f)
	}
	f.version, f.maybeStale, f.sum = r.source.Version, maybeStale, r.sum
	return p.assign(f, r.doc)
}

// assign gives a document the key that it claims, if no file that comes before it claims the
// key.
func (p *pass) assign(f *file, d source.Document) error {
	kept := f.hasRows && f.claim == d.Claim
	if f.hasRows && !kept {
		if err := p.deleteRows(f); err != nil {
			return err
		}
	}
	p.known.claim(f, d.Claim)
	f.problem, f.what = d.Problem, d.What
	if d.Claim == "" {
		return p.write.saveFile(f)
	}
	if holder := p.known.holder(d.Claim); holder != nil && holder != f {
		if !comesBefore(f, holder) {
			p.markDuplicate(f, holder)
			return p.write.saveFile(f)
		}
		if err := p.write.remove(p, holder); err != nil {
			return err
		}
		holder.hasRows = false
		p.markDuplicate(holder, f)
		if err := p.write.saveFile(holder); err != nil {
			return err
		}
	}
	if kept {
		if err := p.write.replace(p, f); err != nil {
			return err
		}
	}
	f.hasRows = true
	if d.Agent != "" {
		p.agents[d.Agent] = true
	}
	if err := p.write.insert(f, d.Rows); err != nil {
		return err
	}
	if err := p.relabel(f); err != nil {
		return err
	}
	return p.write.saveFile(f)
}

// relabel updates the problem of the other files that claim the holder's key: their text names
// the holder.
func (p *pass) relabel(holder *file) error {
	for _, f := range p.known.claims[holder.claim] {
		if f == holder || f.problem != source.ProblemDuplicate {
			continue
		}
		was := f.what
		if p.markDuplicate(f, holder); f.what == was {
			continue
		}
		if err := p.write.saveFile(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) markDuplicate(f, of *file) {
	f.problem, f.what = source.ProblemDuplicate, "its id is taken by "+of.path
}

// comesBefore reports which of two files that claim the same key comes first: the
// one whose directory is named like the id, otherwise the first in the listing.
func comesBefore(a, b *file) bool {
	if a.kind == source.KindRun {
		id := a.claim[strings.LastIndexByte(a.claim, 0)+1:]
		if own := path.Base(path.Dir(a.path)) == id; own != (path.Base(path.Dir(b.path)) == id) {
			return own
		}
	}
	return sortKey(a.path) < sortKey(b.path)
}

// sortKey returns a sort key for directories: home first, then other conversations of the
// workspace, then projects.
func sortKey(name string) string {
	if strings.HasPrefix(name, workspace.HomeDir+"/") {
		return " " + name
	}
	return name
}

// reassignOrphans reassigns each orphaned key to the first file that claims it. Reassigning may orphan
// further keys, so it repeats until none is left.
func (p *pass) reassignOrphans() error {
	for len(p.orphans) > 0 {
		for claim := range p.orphans {
			delete(p.orphans, claim)
			if err := p.reassign(claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// reassign assigns a key to its first claimant. It reads that file again first. A claimant that
// is gone by now, or claims another key, no longer counts, and inherit tries the next.
func (p *pass) reassign(claim string) error {
	for {
		var heir *file
		for _, f := range p.known.claims[claim] {
			if heir == nil || comesBefore(f, heir) {
				heir = f
			}
		}
		if heir == nil || heir.hasRows {
			return nil
		}
		s := source.File{Kind: heir.kind, Project: heir.project, Path: heir.path, Version: heir.version}
		heir.version = durable.Version{} // force a decode even if the version is known
		if err := p.store(p.read(s)); err != nil {
			return err
		}
	}
}

// updateCounters updates the counters of the agents whose documents or runs changed.
func (p *pass) updateCounters() error {
	for agent := range p.agents {
		if err := p.write.count(agent); err != nil {
			return err
		}
	}
	return nil
}

// parentOf returns the indexed document next to a log, nil if there is none.
func (p *pass) parentOf(s source.File) *file {
	name := "/run.yaml"
	if s.Kind == source.KindMessages {
		name = "/conversation.yaml"
	}
	at := strings.LastIndexByte(s.Path, '/')
	if f := p.known.byPath[s.Path[:at]+name]; f != nil && f.hasRows {
		return f
	}
	return nil
}

// jobs lists the logs to read. It drops indexed logs whose file or document is gone.
func (p *pass) jobs() (jobs []*source.Job, err error) {
	for _, s := range p.logs {
		parent := p.parentOf(s)
		f := p.known.byPath[s.Path]
		if parent == nil {
			continue
		}
		if f != nil {
			f.seen = p.known.passes
			if f.version == s.Version && !f.maybeStale {
				continue
			}
		}
		job := &source.Job{Source: s, Run: parent.id, Known: f != nil}
		if f != nil {
			job.LastVersion, job.Sum, job.LastState, job.Unchanged = f.version, f.sum, f.log, f.version == s.Version
			if s.Kind == source.KindLog {
				if job.Stats, err = p.write.stats(parent.id); err != nil {
					return nil, err
				}
			}
		}
		jobs = append(jobs, job)
	}
	var gone []*file
	for _, f := range p.known.byPath {
		if (f.kind == source.KindLog || f.kind == source.KindMessages) && f.seen != p.known.passes && p.scope.Holds(f.kind, f.project) {
			gone = append(gone, f)
		}
	}
	for _, f := range gone {
		if err := p.dropLog(f); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// dropLog forgets a log. It deletes the log's rows if the document still exists; otherwise they
// are already deleted.
func (p *pass) dropLog(f *file) error {
	if parent := p.parentOf(source.File{Kind: f.kind, Path: f.path}); parent != nil {
		if err := p.write.removeLog(p, parent); err != nil {
			return err
		}
	}
	p.known.forget(f)
	return p.write.exec("DELETE FROM ac_files WHERE id=?", f.id)
}
