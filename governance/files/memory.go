package files

// What a process caches between calls: previews, and the sources of artifact ids. Losing it never
// causes wrong results: a lost preview is reported as gone.

import (
	"slices"
	"sync"
	"time"

	"ac/workspace"
	"ac/workspace/checkpoint"
)

// Bounds of the cache.
const (
	previewsKept  = 256
	previewBytes  = 256 << 20
	previewLife   = time.Hour
	originsKept   = 20_000
	previewPrefix = "fp"
)

// Memory caches proposed files of all workspaces of a process. It is safe for concurrent use.
type Memory struct {
	mu       sync.Mutex
	previews []*preview // oldest first
	bytes    int
	origins  map[originKey]checkpoint.Source
}

// preview is what a caller previewed and may apply.
type preview struct {
	id        string
	w         *workspace.Workspace
	project   string
	at        time.Time
	bytes     int
	place     Place
	artifacts []Artifact
	seen      map[string]expectation
}

type originKey struct {
	w  *workspace.Workspace
	id string
}

// NewMemory returns an empty Memory.
func NewMemory() *Memory { return &Memory{origins: map[originKey]checkpoint.Source{}} }

// keep caches a preview. It evicts old ones.
func (m *Memory) keep(p *preview) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range p.artifacts {
		p.bytes += len(a.Content) + len(a.Path)
		if a.From != nil {
			p.bytes += len(a.From.Content)
		}
	}
	m.previews = append(m.previews, p)
	m.bytes += p.bytes
	for len(m.previews) > 1 && (len(m.previews) > previewsKept || m.bytes > previewBytes || p.at.Sub(m.previews[0].at) > previewLife) {
		m.bytes -= m.previews[0].bytes
		m.previews = slices.Delete(m.previews, 0, 1)
	}
}

// preview returns a preview of a workspace, nil if it has expired.
func (m *Memory) preview(w *workspace.Workspace, project, id string) *preview {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.previews {
		if p.id == id && p.w == w && p.project == project && w.Env.Clock.Now().Sub(p.at) <= previewLife {
			return p
		}
	}
	return nil
}

// met records the sources of artifacts.
func (m *Memory) met(w *workspace.Workspace, artifacts []Artifact) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.origins) > originsKept {
		clear(m.origins)
	}
	for _, a := range artifacts {
		if !a.Source.Caller {
			m.origins[originKey{w, a.ID}] = a.Source
		}
	}
}

// sources returns the recorded sources of ids, each once.
func (m *Memory) sources(w *workspace.Workspace, ids []string) (list []checkpoint.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if source, ok := m.origins[originKey{w, id}]; ok && !slices.Contains(list, source) {
			list = append(list, source)
		}
	}
	return list
}
