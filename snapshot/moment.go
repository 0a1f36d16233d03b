package snapshot

// One moment of a workspace, of which all parts of an answer are taken.

import (
	"cmp"
	"context"
	"math"
	"slices"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

// Request is what all snapshots are asked with.
type Request struct {
	Given string          // the workspace as the caller spelled it
	Index index.Freshness // that it has to have
}

// Header is what all snapshots begin with.
type Header struct {
	WorkspaceDir string `json:"workspace_dir"`
	GeneratedAt  string `json:"generated_at"`
}

// IndexState tells what was done to the index for a snapshot.
type IndexState struct {
	Rebuilt bool `json:"index_rebuilt"`
	Synced  bool `json:"index_synced"`
}

// View is a workspace at one moment: the index in one transaction, and the
// files that are not in it. It is valid while the function runs that got it.
type View struct {
	w       *workspace.Workspace
	view    *index.View
	taken   Header
	indexed IndexState

	sessions []doc.Session // read once, when they are asked for
	projects []ProjectRow  // as sessions
	watched  map[page][]index.MonitoredRun
}

// page is a list of runs that several parts ask for.
type page struct {
	project string
	limit   int
}

// How often a moment is tried while the index goes away under it, and how often
// when what happened may be another thing than that.
const (
	attempts     = 12
	failedBefore = 3
)

// At makes the index what was asked for and takes a moment of the workspace. The
// index is a cache: when it is spoilt or goes away meanwhile it is made again,
// and take is called again; what take did before counts no more.
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
					w: w, view: v, watched: map[page][]index.MonitoredRun{}, indexed: did,
					taken: Header{WorkspaceDir: r.Given, GeneratedAt: clock.Stamp(w.Env.Clock.Now())},
				})
			})
		}
		if err == nil {
			return nil
		}
		if !fault.Is(err, fault.NoIndex) {
			failures++
		}
		if ctx.Err() != nil || failures == failedBefore || attempt == attempts {
			return err
		}
		if asked = max(asked, index.UpToDate); did.Rebuilt { // which builds what cannot be used
			asked = index.UpToDate
		}
	}
}

// Header is what every snapshot of this moment begins with.
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

// observed lists the sessions as they are now, without touching any.
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

// newer orders times, the later first; texts that are no times are the oldest,
// by their text.
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

// latest is the newest of some times, "" without any.
func latest(times ...string) string {
	times = slices.DeleteFunc(times, func(t string) bool { return t == "" })
	if len(times) == 0 {
		return ""
	}
	return slices.MinFunc(times, newer)
}
