package company

// How a kept room learns of changes: events in logs, and changed documents.

import (
	"context"
	"slices"
	"sync"

	"ac/events"
	"ac/feed"
	"ac/index"
	"ac/snapshot"
	"ac/workspace"
)

// roomNews describes what may have changed since the room was last read.
type roomNews struct {
	dirty  map[index.RunKey]bool
	tables bool // tables other than the runs
	whole  bool // a document changed or a run began: any row may have changed
}

// pendingNews collects news for the next update.
type pendingNews struct {
	roomNews

	mu   sync.Mutex
	wake chan struct{}
}

func (n *pendingNews) add(change func(*roomNews)) {
	n.mu.Lock()
	change(&n.roomNews)
	n.mu.Unlock()
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *pendingNews) drain() roomNews {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.roomNews
	n.roomNews = roomNews{dirty: map[index.RunKey]bool{}}
	return news
}

// isEmpty reports whether there is no news.
func (n roomNews) isEmpty() bool { return len(n.dirty) == 0 && !n.tables && !n.whole }

// addLogNews extends the news by what new events of the dirty runs may have changed. It reads the
// events from the index, which this update has brought up to date.
func (k *liveRoom) addLogNews(m *snapshot.View, news *roomNews) error {
	for key := range news.dirty {
		if news.whole {
			return nil
		}
		row, known, err := m.OneRun(key)
		if err != nil {
			return err
		}
		before := k.seen[key]
		if now := readLogOf(&row); known && (now.seq < before.seq || now.faults < before.faults) {
			news.whole = true // the log was replaced
			continue
		} else if now.faults > before.faults {
			news.tables = true
		}
		types, err := m.TypesAfter(key, before.seq, events.ProviderRaw, events.UsageReported) // these change only their run's row
		if err != nil {
			return err
		}
		news.tables = news.tables || len(types) > 0
		news.whole = news.whole || slices.Contains(types, events.RunStarted) // a new run
	}
	return nil
}

// readLog is how far the log of a run was read: the sequence number of its last event, and the
// number of unparsable lines.
type readLog struct{ seq, faults int64 }

func readLogOf(row *snapshot.MonitorRow) readLog {
	read := readLog{faults: row.ParseErrors}
	if row.LastEvent != nil {
		read.seq = row.LastEvent.Seq
	}
	return read
}

// follow subscribes to the logs and the documents of the workspace, until stop is called.
func (k *liveRoom) follow(ctx context.Context) (stop func(), err error) {
	unfollow, err := k.c.Subscribe(ctx, feed.Spec{OnGrowth: func(project, run string) {
		k.news.add(func(n *roomNews) { n.dirty[index.RunKey{ProjectID: project, RunID: run}] = true })
	}})
	if err != nil {
		return nil, err
	}
	k.watch()
	return func() {
		unfollow()
		k.unwatch()
	}, nil
}

// watch watches the current document folders, unless it already does. The next update reads what
// changed in a folder before it was watched.
func (k *liveRoom) watch() {
	folders := k.folders()
	if slices.Equal(folders, k.watched) {
		return
	}
	before := k.unwatch
	k.unwatch = feed.WatchDocuments(k.c.w, folders, func() { k.news.add(func(n *roomNews) { n.whole = true }) })
	if k.watched = folders; before != nil {
		before()
	}
}

// folders returns the folders of the documents that rows are built from.
func (k *liveRoom) folders() []string {
	projects, _ := workspace.Dirs(k.c.w.FS, workspace.ProjectsDir) // none if they cannot be listed
	folders := append(make([]string, 0, 11+4*len(projects)),
		workspace.ReviewsDir, workspace.HelpRequestsDir, workspace.AgentsDir+"/*", workspace.TeamsDir, workspace.SessionsDir,
		workspace.HeartbeatDir, workspace.NeedsDir, workspace.MCPDir, workspace.HomeDir, workspace.ConversationsDir+"/*", workspace.ProjectsDir+"/*",
	)
	for _, p := range projects {
		folders = append(folders, workspace.ArtifactsDir(p), workspace.TasksDir(p), workspace.JobDir(p, "*"), workspace.ProjectConversationDir(p, "*"))
	}
	return folders
}
