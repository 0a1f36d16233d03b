package company

// What a long-lived process follows in addition to its requests: the events of a
// workspace, and everything that a screen shows.

import (
	"context"
	"time"

	"ac/feed"
	"ac/internal/fault"
	"ac/workspace"
)

// KeepFresh opens the workspace and keeps its index up to date from now on.
func (c *Folder) KeepFresh(ctx context.Context) error {
	w, err := c.workspace(ctx)
	if err == nil {
		c.host.notify(w.Dir())
	}
	return err
}

// Name returns the name of the company.
func (c *Company) Name(_ context.Context, _ Dir) (string, error) {
	found, err := c.w.Company()
	return found.Name, err
}

// EventStream selects the events for a subscriber; see feed.Spec.
type EventStream struct {
	Dir
	ProjectID string                                        `json:"-"` // "" for all
	RunID     string                                        `json:"-"` // "" for all
	Backfill  int                                           `json:"-"`
	Since     map[string]int64                              `json:"-"`
	After     time.Time                                     `json:"-"`
	Deliver   func(ctx context.Context, e feed.Event) error `json:"-"`
}

// Follow delivers events until stop is called. stop returns once no delivery is running or will
// start.
func (c *Company) Follow(ctx context.Context, s EventStream) (stop func(), err error) {
	for _, named := range []NamedText{{Name: "project_id", Value: s.ProjectID}, {Name: "run_id", Value: s.RunID}} {
		if named.Value == "" {
			continue
		}
		if err := CheckIDs(named); err != nil {
			return nil, err
		}
	}
	return c.Subscribe(ctx, feed.Spec{
		Project: s.ProjectID, Run: s.RunID, Backfill: s.Backfill, Since: s.Since, After: s.After, Deliver: s.Deliver,
	})
}

// TranscriptStream selects what a reader receives of a run's transcript; see feed.TranscriptSpec.
type TranscriptStream struct {
	ProjectID, RunID string
	Since            *int64
	Tail             int
	Settled          func()
	Deliver          func(ctx context.Context, n feed.TranscriptNotification) error
}

// FollowTranscript delivers the transcript of a run until stop is called. stop returns once no
// delivery is running or will start. The project may be empty.
func (c *Company) FollowTranscript(_ context.Context, s TranscriptStream) (stop func(), err error) {
	project, err := c.ProjectOf(s.ProjectID, s.RunID)
	if err != nil {
		return nil, err
	}
	hub, release := c.anyHub()
	answer, start, err := hub.SubscribeTranscript(feed.TranscriptSpec{
		Workspace: c.w, Given: c.given, Project: project, Run: s.RunID, Since: s.Since, Tail: s.Tail, Settled: s.Settled, Deliver: s.Deliver,
	})
	if err != nil {
		release()
		return nil, err
	}
	start()
	return func() {
		hub.Unsubscribe(answer.ID)
		release()
	}, nil
}

// anyHub returns the hub of this process. A process without one gets a temporary hub, which
// release closes.
func (c *Company) anyHub() (hub *feed.Hub, release func()) {
	if c.host.hub != nil {
		return c.host.hub, func() {}
	}
	hub = feed.NewHub(nil, c.host.env.Clock, c.host.env.IDs.New)
	return hub, hub.Close
}

// Watch calls changed after every change, by any process, to what a screen shows of a project,
// until stop is called. changed must not block.
func (c *Company) Watch(ctx context.Context, project string, changed func()) (stop func(), err error) {
	unfollow, err := c.Subscribe(ctx, feed.Spec{Project: project, OnGrowth: func(_, _ string) { changed() }})
	if err != nil {
		return nil, err
	}
	unwatch := feed.WatchDocuments(c.w, []string{
		workspace.ArtifactsDir(project), workspace.ReviewsDir, workspace.CommentsDir,
		workspace.AgentsDir, workspace.TeamsDir, workspace.SessionsDir, workspace.HeartbeatDir,
	}, changed)
	return func() {
		unfollow()
		unwatch()
	}, nil
}

// WatchJobs calls changed after every change, by any process, to the jobs of a project or the
// logs of its runs, until stop is called. changed must not block.
func (c *Company) WatchJobs(ctx context.Context, project string, changed func()) (stop func(), err error) {
	if err := CheckIDs(NamedText{Name: "project_id", Value: project}); err != nil {
		return nil, err
	}
	unfollow, err := c.Subscribe(ctx, feed.Spec{Project: project, OnGrowth: func(_, _ string) { changed() }})
	if err != nil {
		return nil, err
	}
	unwatch := feed.WatchDocuments(c.w, []string{workspace.JobDir(project, "*")}, changed)
	return func() {
		unfollow()
		unwatch()
	}, nil
}

// WatchTalk calls changed after every change, by any process, to the conversations of the
// workspace or of a project, until stop is called. changed must not block.
func (c *Company) WatchTalk(_ context.Context, project string, changed func()) (stop func(), err error) {
	if err := CheckIDs(NamedText{Name: "project_id", Value: project}); err != nil {
		return nil, err
	}
	return feed.WatchDocuments(c.w, []string{
		workspace.HomeDir, workspace.ConversationsDir + "/*", workspace.ProjectConversationDir(project, "*"),
	}, changed), nil
}

// Subscribe starts a subscription to the workspace.
func (c *Company) Subscribe(_ context.Context, spec feed.Spec) (stop func(), err error) {
	w := c.w
	spec.Workspace, spec.Index = w, c.host.indexOf(w)
	hub, release := c.anyHub()
	answer, start, err := hub.Subscribe(spec)
	if err != nil {
		release()
		return nil, err
	}
	start()
	return func() {
		hub.Unsubscribe(answer.ID)
		release()
	}, nil
}

// ProjectOf returns the project of a run. If project is "", it searches for it. It checks both
// ids. A missing run is fault.NotFound, and one found in several projects is fault.Conflict.
func (c *Company) ProjectOf(project, run string) (string, error) {
	ids := []NamedText{{Name: "run_id", Value: run}}
	if project != "" {
		ids = append(ids, NamedText{Name: "project_id", Value: project})
	}
	if err := CheckIDs(ids...); err != nil || project != "" {
		return project, err
	}
	projects, err := workspace.Dirs(c.w.FS, workspace.ProjectsDir)
	if err != nil {
		return "", err
	}
	for _, p := range projects {
		switch {
		case !c.w.Exists(workspace.RunFile(p, run)) && !c.w.Exists(workspace.LogFile(p, run)):
		case project != "":
			return "", fault.New(fault.Conflict, "run %s is in more than one project: name the project", run)
		default:
			project = p
		}
	}
	if project == "" {
		return "", fault.New(fault.NotFound, "run %s does not exist in %s", run, c.given)
	}
	return project, nil
}
