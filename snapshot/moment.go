package snapshot

// A read transaction over a workspace, from which all parts of an answer are read (snapshot
// isolation).

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Request holds the common parameters of snapshots.
type Request struct {
	Given string          // the workspace as the caller spelled it
	Index index.Freshness // the required freshness
}

// Header holds the common fields of snapshots.
type Header struct {
	WorkspaceDir string `json:"workspace_dir"`
	GeneratedAt  string `json:"generated_at"`
}

// IndexState reports whether the index was rebuilt or synced for a snapshot.
type IndexState struct {
	Rebuilt bool `json:"index_rebuilt"`
	Synced  bool `json:"index_synced"`
}

// View is a workspace in one read transaction of the index, together with the
// files that are not in the index. It is valid until the function that received
// it returns.
type View struct {
	w       *workspace.Workspace
	view    *index.View
	taken   Header
	indexed IndexState

	partly   bool                 // logs may have changed; CheckLogs checks them
	sessions []doc.Session        // read once, on first use
	projects []ProjectRow         // read once, on first use
	jobs     map[string][]doc.Job // by project, each read once, on first use
	watched  map[page][]index.MonitoredRun
}

// page identifies a list of runs that several parts share.
type page struct {
	project string
	limit   int
}

// attempts is how often a snapshot is tried if the index goes away in the meantime. failedBefore is
// how often it is tried after other failures.
const (
	attempts     = 12
	failedBefore = 3
)

// At brings the index to the requested freshness and calls take in one read transaction. The index
// is a cache: if it is damaged or deleted in the meantime, At rebuilds it and calls take again.
// take must then discard earlier results.
func At(ctx context.Context, w *workspace.Workspace, ix *index.Index, r Request, take func(*View) error) error {
	asked := r.Index
	var did IndexState
	for attempt, failures := 1, 0; ; attempt++ {
		done, err := ix.Ensure(ctx, asked)
		if err == nil {
			did.Rebuilt = did.Rebuilt || done.Rebuilt
			did.Synced = (did.Synced || done.Synced) && !did.Rebuilt
			err = ix.ViewOf(ctx, done, func(v *index.View) error {
				return take(&View{
					w: w, view: v, partly: done.RecordsOnly, watched: map[page][]index.MonitoredRun{}, indexed: did,
					taken: Header{WorkspaceDir: r.Given, GeneratedAt: clock.Stamp(w.Env.Clock.Now())},
				})
			})
		}
		if err == nil {
			return nil
		}
		if errors.Is(err, index.ErrStale) {
			asked = index.UpToDate
			continue
		}
		if !fault.Is(err, fault.NoIndex) {
			failures++
		}
		if ctx.Err() != nil || failures == failedBefore || attempt == attempts {
			return err
		}
		if asked = max(asked, index.UpToDate); did.Rebuilt { // UpToDate rebuilds an unusable index
			asked = index.UpToDate
		}
	}
}

// Header returns the common fields of all snapshots of this view.
func (m *View) Header() Header { return m.taken }

// runs lists the newest runs.
func (m *View) runs(project string, limit int) ([]index.MonitoredRun, error) {
	key := page{project, limit}
	if list, known := m.watched[key]; known {
		return list, nil
	}
	list, err := m.view.Monitored(index.RunFilter{ProjectID: project, Limit: limit})
	if err == nil {
		m.watched[key] = list
	}
	return list, err
}

// observed lists the sessions in their current state, without changing any.
func (m *View) observed() ([]doc.Session, error) {
	if m.sessions != nil {
		return m.sessions, nil
	}
	records, err := session.All(m.w)
	if err != nil {
		return nil, err
	}
	m.sessions = make([]doc.Session, len(records))
	for i, r := range records {
		m.sessions[i] = session.Observe(m.w, r)
	}
	return m.sessions, nil
}

// micro rounds money to six decimals, half away from zero.
func micro(usd float64) float64 { return math.Round(usd*1e6) / 1e6 }

// newer orders times latest first. Invalid times come last, in descending text order.
func newer(a, b string) int {
	at, okA := clock.Parse(a)
	bt, okB := clock.Parse(b)
	if okA && okB {
		return bt.Compare(at)
	}
	if okA != okB {
		if okA {
			return -1
		}
		return 1
	}
	return cmp.Compare(b, a)
}

// latest returns the latest of some times, "" if there are none.
func latest(times ...string) string {
	times = slices.DeleteFunc(times, func(t string) bool { return t == "" })
	if len(times) == 0 {
		return ""
	}
	return slices.MinFunc(times, newer)
}
