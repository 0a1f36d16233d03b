package company

// What a kept room hears of its workspace: events of logs, and changes of documents.

import (
	"context"
	"slices"
	"sync"

	"ac/events"
	"ac/feed"
	"ac/index"
	"ac/workspace"
)

// roomNews is what may have changed since the room was read.
type roomNews struct {
	dirty  map[index.RunKey]bool
	tables bool // of other tables than the runs
	whole  bool // a document changed, or a run began: any row may have
}

// pendingNews gathers news for the next update.
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

func (n *pendingNews) take() roomNews {
	n.mu.Lock()
	defer n.mu.Unlock()
	news := n.roomNews
	n.roomNews = roomNews{dirty: map[index.RunKey]bool{}}
	return news
}

// none reports whether there is no news.
func (n roomNews) none() bool { return len(n.dirty) == 0 && !n.tables && !n.whole }

// follow listens to the logs and the documents of the workspace, until stop is called.
func (k *keptRoom) follow(ctx context.Context) (stop func(), err error) {
	unfollow, err := k.c.subscribe(ctx, feed.Spec{Deliver: func(_ context.Context, e feed.Event) error {
		k.news.add(func(n *roomNews) {
			n.dirty[index.RunKey{ProjectID: e.Project, RunID: e.Run}] = true
			switch events.Text(e.Raw, "type") {
			case events.ProviderRaw, events.UsageReported: // its own row only
			case events.RunStarted:
				n.whole = true // it enters the newest
			default:
				n.tables = true
			}
		})
		return nil
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

// watch watches the folders of the documents that there are now, unless it does already. What
// changes in a folder before that is read by the update that comes next.
func (k *keptRoom) watch() {
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

// folders are where the documents lie that rows are made of.
func (k *keptRoom) folders() []string {
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
