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
	ctx     context.Context //nolint:containedctx // a pass is one call
	w       *workspace.Workspace
	scope   source.Scope
	known   *known
	before  *source.Cache // cached by earlier passes; may be nil
	now     time.Time
	write   *writer
	synced  SyncResult
	sources []source.File // those in scope if already listed; nil if the pass must walk
	changed []source.File // documents to read
	logs    []source.File // logs that exist, in order
	agents  map[string]bool
	orphans map[string]bool // keys whose file no longer holds them
}

func newPass(ctx context.Context, w *workspace.Workspace, k *known, before *source.Cache, write *writer, scope source.Scope) *pass {
	k.passes++
	return &pass{
		ctx: ctx, w: w, scope: scope, known: k, before: before, now: w.Env.Clock.Now(), write: write,
		agents: map[string]bool{}, orphans: map[string]bool{},
	}
}

// run compares and writes everything. The caller ends the transaction.
func (p *pass) run() error {
	p.before.Refresh(p.ctx, p.w)
	for _, s := range p.sources {
		p.look(s)
	}
	list := source.Walk{FS: p.w.FS, Scope: p.scope, Before: p.before, Found: p.look}
	if p.sources == nil {
		if err := list.Run(); err != nil {
			return err
		}
	}
	for _, step := range []func() error{p.removed, p.documents, p.heirs, p.readLogs, p.counters} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// look records a source file that exists.
func (p *pass) look(s source.File) {
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

// removed drops the documents whose files are gone.
func (p *pass) removed() error {
	var gone []*file
	for _, f := range p.known.byPath {
		if f.kind != source.KindLog && f.kind != source.KindMessages && f.seen != p.known.passes && p.scope.Holds(f.kind, f.project) {
			gone = append(gone, f)
		}
	}
	for _, f := range gone {
		if err := p.hide(f); err != nil {
			return err
		}
		p.known.forget(f)
		if err := p.write.exec("DELETE FROM ac_files WHERE id=?", f.id); err != nil {
			return err
		}
	}
	return nil
}

// hide deletes the rows of a document.
func (p *pass) hide(f *file) error {
	if !f.shown {
		return nil
	}
	f.shown = false
	p.orphans[f.claim] = true
	return p.write.remove(p, f)
}

// chunk is the number of documents that are read before their rows are written.
const chunk = 256

func (p *pass) documents() error {
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

// reading is the result of reading one document.
type reading struct {
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
	for _, r := range workspace.ReadEach(paths, func(name string) (reading, error) { return p.read(places[name]), nil }) {
		if err := p.store(r); err != nil {
			return err
		}
	}
	return nil
}

// read reads and decodes one document. If the index already has this version and the text is
// the same, it does not decode it again.
func (p *pass) read(s source.File) reading {
	text, st, err := durable.ReadFileInfo(p.w.FS, s.Path, yamldoc.MaxBytes)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return reading{source: s, gone: true}
	case err != nil:
		return reading{source: s, doc: source.Unread(err)}
	case durable.IdentityOf(st) != s.Version.ID:
		s.Version = durable.VersionOf(st) // it was replaced since the walk
	}
	sum := source.Sum(text)
	if f := p.known.byPath[s.Path]; f != nil && f.version == s.Version && f.sum == sum {
		return reading{source: s, sum: sum, doc: source.Document{Claim: f.claim, Problem: sameText}}
	}
	return reading{source: s, sum: sum, doc: source.Decode(s, text)}
}

// sameText marks a document whose text is unchanged, in its Problem.
const sameText = "\x00same"

// store updates the index with a document that was read.
func (p *pass) store(r reading) error {
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
		if err := p.hide(f); err != nil {
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
	kept := f.shown && f.claim == d.Claim
	if f.shown && !kept {
		if err := p.hide(f); err != nil {
			return err
		}
	}
	p.known.claim(f, d.Claim)
	f.problem, f.what = d.Problem, d.What
	if d.Claim == "" {
		return p.write.saveFile(f)
	}
	if holder := p.known.holder(d.Claim); holder != nil && holder != f {
		if !before(f, holder) {
			p.duplicate(f, holder)
			return p.write.saveFile(f)
		}
		if err := p.write.remove(p, holder); err != nil {
			return err
		}
		holder.shown = false
		p.duplicate(holder, f)
		if err := p.write.saveFile(holder); err != nil {
			return err
		}
	}
	if kept {
		if err := p.write.replace(p, f); err != nil {
			return err
		}
	}
	f.shown = true
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
		if p.duplicate(f, holder); f.what == was {
			continue
		}
		if err := p.write.saveFile(f); err != nil {
			return err
		}
	}
	return nil
}

func (p *pass) duplicate(f, of *file) {
	f.problem, f.what = source.ProblemDuplicate, "its id is taken by "+of.path
}

// before reports which of two files that claim the same key comes first: the
// one whose directory is named like the id, otherwise the first in the listing.
func before(a, b *file) bool {
	if a.kind == source.KindRun {
		id := a.claim[strings.LastIndexByte(a.claim, 0)+1:]
		if own := path.Base(path.Dir(a.path)) == id; own != (path.Base(path.Dir(b.path)) == id) {
			return own
		}
	}
	return listing(a.path) < listing(b.path)
}

// listing returns a sort key for directories: home first, then other conversations of the
// workspace, then projects.
func listing(name string) string {
	if strings.HasPrefix(name, workspace.HomeDir+"/") {
		return " " + name
	}
	return name
}

// heirs reassigns each orphaned key to the first file that claims it. Reassigning may orphan
// further keys, so it repeats until none is left.
func (p *pass) heirs() error {
	for len(p.orphans) > 0 {
		for claim := range p.orphans {
			delete(p.orphans, claim)
			if err := p.inherit(claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// inherit assigns a key to its first claimant. It reads that file again first. A claimant that
// is gone by now, or claims another key, no longer counts, and inherit tries the next.
func (p *pass) inherit(claim string) error {
	for {
		var heir *file
		for _, f := range p.known.claims[claim] {
			if heir == nil || before(f, heir) {
				heir = f
			}
		}
		if heir == nil || heir.shown {
			return nil
		}
		s := source.File{Kind: heir.kind, Project: heir.project, Path: heir.path, Version: heir.version}
		heir.version = durable.Version{} // force a decode even if the version is known
		if err := p.store(p.read(s)); err != nil {
			return err
		}
	}
}

// counters updates the counters of the agents whose documents or runs changed.
func (p *pass) counters() error {
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
	if f := p.known.byPath[s.Path[:at]+name]; f != nil && f.shown {
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
			job.Read, job.Sum, job.Was, job.Unchanged = f.version, f.sum, f.log, f.version == s.Version
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
