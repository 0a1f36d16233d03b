package company

// A room that is kept: one for all readers of a workspace, from the first until some time
// after the last.

import (
	"context"
	"math"
	"sync"
	"time"

	"ac/events"
	"ac/feed"
	"ac/index"
	"ac/snapshot"
	"ac/snapshot/room"
	"ac/workspace"
)

// keptRoom is a room with the workspace that it is of.
type keptRoom struct {
	c     *Company
	limit int // of runs that are over

	ready chan struct{} // closed once the room was read for the first time
	news  *pendingNews

	updating sync.Mutex // serializes updates
	mu       sync.Mutex // guards what follows
	room     *room.Room
	more     bool          // there are older runs than the kept ones
	changed  chan struct{} // closed with the next change
	failed   error         // why the room is not kept any more
	readers  int
}

func newKeptRoom(c *Company, limit int) *keptRoom {
	return &keptRoom{
		c: c, limit: limit, room: room.New(c.w.Env.IDs.Hex(epochBytes)), changed: make(chan struct{}), ready: make(chan struct{}),
		news: &pendingNews{roomNews: roomNews{dirty: map[index.RunKey]bool{}}, wake: make(chan struct{}, 1)},
	}
}

// epochBytes is how many random bytes the epoch of a room has.
const epochBytes = 4

// update reads again what the news are about.
func (k *keptRoom) update(ctx context.Context, news roomNews) error {
	k.updating.Lock()
	defer k.updating.Unlock()
	var changes []room.Change
	var tables snapshot.RoomTables
	err := k.c.at(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		if changes, err = k.runs(ctx, m, news); err != nil || !news.tables && !news.whole {
			return err
		}
		tables, err = m.RoomTables(k.c.all.version)
		return err
	})
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if news.whole {
		changes = k.room.Whole(room.TableRuns, changes)
	}
	for _, table := range room.Tables() {
		if table != room.TableRuns && tables != nil {
			changes = append(changes, k.room.Whole(table, tables[table])...)
		}
	}
	before := k.room.Rev()
	if _, err := k.room.Apply(k.c.w.Env.Clock.Now(), changes); err != nil {
		return err
	}
	if k.room.Rev() != before {
		close(k.changed)
		k.changed = make(chan struct{})
	}
	return nil
}

// runs are the rows of the dirty runs; with whole of all that live, that a need names, and
// of the newest.
func (k *keptRoom) runs(ctx context.Context, m *snapshot.View, news roomNews) (changes []room.Change, err error) {
	open, err := m.Interactions(snapshot.InteractionQuery{State: snapshot.InteractionsOpen, Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	waiting := map[string]int{}
	for i := range open.Interactions {
		waiting[open.Interactions[i].RunID]++
	}
	var rows []snapshot.MonitorRow
	dirty := news.dirty
	if news.whole {
		list, err := m.RunList(snapshot.RunQuery{Most: k.kept()})
		if err != nil {
			return nil, err
		}
		rows, k.more = list.Rows, list.Total > len(list.Rows)
		found, err := m.Needs("")
		if err != nil {
			return nil, err
		}
		dirty = map[index.RunKey]bool{}
		for _, n := range found.Open {
			if n.RunID != "" {
				dirty[index.RunKey{ProjectID: n.ProjectID, RunID: n.RunID}] = true
			}
		}
		for i := range rows {
			delete(dirty, index.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID})
		}
	}
	for key := range dirty {
		row, known, err := m.OneRun(key)
		if err != nil {
			return nil, err
		}
		if known {
			rows = append(rows, row)
		} else if !news.whole {
			changes = append(changes, room.Change{Key: room.Key{Table: room.TableRuns, ID: key.RunID}})
		}
	}
	for i := range rows {
		changes = append(changes, k.c.roomRun(ctx, &rows[i], waiting[rows[i].RunID]))
	}
	return changes, nil
}

// kept is how many of the newest runs the room has.
func (k *keptRoom) kept() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.limit
}

// Bounds of how often a room is read again, and of how long it is kept without readers.
const (
	roomSettles = 10 * time.Millisecond
	roomPace    = 250 * time.Millisecond
	roomLife    = time.Minute // and up to twice that
)

// joinRoom adds a reader to the room of the workspace, which is begun where nobody looks,
// and puts it into k. A reader that wants more runs than the room has gets them.
func (c *Company) joinRoom(k **keptRoom, limit int) (leave func(), err error) {
	if *k = c.enterRoom(nil, limit); *k != nil {
		return (*k).leave, nil
	}
	fresh := newKeptRoom(c, max(1, limit))
	stop, err := fresh.follow(c.all.ctx)
	if err != nil {
		return nil, err
	}
	if *k = c.enterRoom(fresh, limit); *k != fresh { // somebody else was first
		stop()
		return (*k).leave, nil
	}
	c.all.background.Go(func() {
		defer stop()
		fresh.keep(c.all.ctx)
	})
	return fresh.leave, nil
}

// enterRoom adds a reader to the room that is kept; without one it keeps the fresh one.
func (c *Company) enterRoom(fresh *keptRoom, limit int) *keptRoom {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	kept := c.all.rooms[c.w]
	if kept == nil {
		if kept = fresh; fresh == nil {
			return nil
		}
		if c.all.rooms == nil {
			c.all.rooms = map[*workspace.Workspace]*keptRoom{}
		}
		c.all.rooms[c.w] = kept
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.readers++; limit > kept.limit {
		kept.limit = limit
		kept.news.add(func(n *roomNews) { n.whole = true })
	}
	return kept
}

func (k *keptRoom) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.readers--
}

// unread reports whether nobody looks.
func (k *keptRoom) unread() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.readers == 0
}

// end takes the room out, if nobody came back.
func (k *keptRoom) end(cause error) bool {
	k.c.all.mu.Lock()
	defer k.c.all.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if cause == nil && k.readers > 0 {
		return false
	}
	delete(k.c.all.rooms, k.c.w)
	k.failed = cause
	close(k.changed)
	k.changed = make(chan struct{})
	return true
}

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
	unwatch := feed.WatchDocuments(k.c.w, k.folders(), func() { k.news.add(func(n *roomNews) { n.whole = true }) })
	return func() {
		unfollow()
		unwatch()
	}, nil
}

// folders are where the documents lie that rows are made of.
func (k *keptRoom) folders() []string {
	projects, _ := workspace.Dirs(k.c.w.FS, workspace.ProjectsDir) // none if they cannot be listed
	folders := append(make([]string, 0, 10+4*len(projects)),
		workspace.ReviewsDir, workspace.HelpRequestsDir, workspace.AgentsDir+"/*", workspace.TeamsDir, workspace.SessionsDir,
		workspace.HeartbeatDir, workspace.NeedsDir, workspace.HomeDir, workspace.ConversationsDir+"/*", workspace.ProjectsDir+"/*",
	)
	for _, p := range projects {
		folders = append(folders, workspace.ArtifactsDir(p), workspace.TasksDir(p), workspace.ProjectDir(p)+"/jobs/*", workspace.ProjectConversationDir(p, "*"))
	}
	return folders
}

// keep reads again what may have changed, until nobody has looked for some time: at once
// after silence, then at most once in roomPace.
func (k *keptRoom) keep(ctx context.Context) {
	err := k.update(ctx, roomNews{whole: true})
	if err != nil {
		k.end(err)
	}
	close(k.ready)
	life := time.NewTicker(roomLife)
	defer life.Stop()
	for alone := false; err == nil; {
		select {
		case <-k.news.wake:
		case <-life.C:
			if alone && k.end(nil) {
				return
			}
			alone = k.unread()
			continue
		case <-ctx.Done():
			k.end(context.Cause(ctx))
			return
		}
		if !pause(ctx, roomSettles) {
			continue
		}
		if news := k.news.take(); !news.none() {
			if err = k.update(ctx, news); err != nil {
				k.end(err)
			}
			pause(ctx, roomPace)
		}
	}
}

// pause waits, and reports whether ctx is still alive.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
