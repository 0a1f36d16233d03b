package company

// A kept room: one for all readers of a workspace, from the first reader until some time
// after the last.

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"ac/governance/needs"
	"ac/index"
	"ac/internal/clock"
	"ac/snapshot"
	"ac/snapshot/room"
	"ac/workspace"
)

// liveRoom is the room of a workspace, shared by its readers.
type liveRoom struct {
	c     *Company
	limit int    // how many of the newest runs to keep
	began string // when its epoch began

	ready chan struct{} // closed after the first read, even a failed one
	news  *pendingNews

	watched []string // watched document folders; owned, with unwatch, by follow and then by keep
	unwatch func()

	updating    sync.Mutex               // serializes updates; guards the next two
	seen        map[index.RunKey]readLog // how far the log of each run was read
	jobs        map[index.RunKey]string  // the job of each run, as of the last read of the tables
	mu          sync.Mutex               // guards the fields below
	room        *room.Room
	meta        room.Meta             // as of the last read of the tables
	counts      []room.Change         // as of the last read of the tables, without quiet runs
	lastOutputs map[string]lastOutput // when each live run last printed something
	more        bool                  // older runs exist than those kept
	changed     chan struct{}         // closed on the next change
	failed      error                 // why the room is no longer kept
	readers     int
}

func newLiveRoom(c *Company, limit int) *liveRoom {
	return &liveRoom{
		c: c, limit: limit, began: clock.Stamp(c.w.Env.Clock.Now()), room: room.New(c.w.Env.IDs.Hex(epochBytes)), changed: make(chan struct{}), lastOutputs: map[string]lastOutput{}, seen: map[index.RunKey]readLog{}, ready: make(chan struct{}),
		news: &pendingNews{roomNews: roomNews{dirty: map[index.RunKey]bool{}}, wake: make(chan struct{}, 1)},
	}
}

// Person is the id of the room's reader: the person at this machine.
const Person = "human"

// epochBytes is how many random bytes the epoch of a room has.
const epochBytes = 4

// update reads again whatever the news affects.
func (k *liveRoom) update(ctx context.Context, news roomNews) error {
	k.updating.Lock()
	defer k.updating.Unlock()
	changes, tables, whole, err := k.readRows(ctx, news)
	if err != nil {
		return err
	}
	serves, diagnosis := k.c.host.facts(k.c.w.Dir())
	k.mu.Lock()
	defer k.mu.Unlock()
	if whole {
		changes = k.room.Whole(room.TableRuns, changes)
	}
	if tables != nil {
		k.completeMeta(tables, serves, diagnosis)
	}
	k.recordOutput(changes)
	counts, _ := k.quiet(tables[room.TableCounts])
	if tables != nil {
		tables[room.TableCounts] = counts
	} else {
		changes = append(changes, counts...)
	}
	for _, table := range room.Tables() {
		if table != room.TableRuns && tables != nil {
			changes = append(changes, k.room.Whole(table, tables[table])...)
		}
	}
	return k.apply(changes)
}

// readRows reads the rows that the news affects. These are the rows of dirty runs, or of all kept
// runs if whole, and the other tables if the news affects them. The caller holds updating.
func (k *liveRoom) readRows(ctx context.Context, asked roomNews) (changes []room.Change, tables snapshot.RoomTables, whole bool, err error) {
	var rows []snapshot.MonitorRow
	var news roomNews
	err = k.c.View(ctx, index.UpToDate, func(m *snapshot.View) (err error) {
		news, tables = asked, nil
		if err := k.addLogNews(m, &news); err != nil {
			return err
		}
		others := news.tables || news.whole
		if others {
			if k.jobs, err = m.Attempts(); err != nil {
				return err
			}
		}
		if rows, changes, err = k.runs(ctx, m, news); err != nil || !others {
			return err
		}
		read, err := k.c.ReadPositions(Person)
		if err != nil {
			return err
		}
		tables, err = m.RoomTables(snapshot.RoomReader{ID: Person, Read: read}, k.c.host.version)
		return err
	})
	if err != nil {
		return nil, nil, false, err
	}
	if news.whole {
		clear(k.seen)
	}
	for i := range rows {
		k.seen[index.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID}] = readLogOf(&rows[i])
	}
	return changes, tables, news.whole, nil
}

// setMore records whether runs exist that the room does not keep.
func (k *liveRoom) setMore(more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.more = more
}

// apply changes the rows and wakes the readers if anything changed. The caller holds mu.
func (k *liveRoom) apply(changes []room.Change) error {
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

// completeMeta completes the row of the server and saves it for behind, which needs it when the rows
// cannot be read.
func (k *liveRoom) completeMeta(tables snapshot.RoomTables, serves room.Serves, diagnosis *room.Doctor) {
	for i, change := range tables[room.TableMeta] {
		if meta, ok := change.Row.(room.Meta); ok {
			meta.EpochAt, meta.Serves, meta.Doctor = k.began, serves, diagnosis
			k.meta = meta
			tables[room.TableMeta][i].Row = meta
		}
	}
}

// markBehind records in the row of the server why the rows are older than the files.
func (k *liveRoom) markBehind(cause error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	meta := k.meta
	meta.Index = room.Index{State: needs.Line(cause.Error()), Behind: true}
	return k.apply([]room.Change{{Key: room.Key{Table: room.TableMeta, ID: "server"}, Row: meta}})
}

// runs returns the rows of the dirty runs. If news.whole is set, it also returns those of the
// newest runs, of all live runs, and of runs that a need names.
func (k *liveRoom) runs(ctx context.Context, m *snapshot.View, news roomNews) (rows []snapshot.MonitorRow, changes []room.Change, err error) {
	open, err := m.Interactions(snapshot.InteractionQuery{State: snapshot.InteractionsOpen, Limit: math.MaxInt32})
	if err != nil {
		return nil, nil, err
	}
	waiting := map[string]int{}
	for i := range open.Interactions {
		waiting[open.Interactions[i].RunID]++
	}
	dirty := news.dirty
	if news.whole {
		list, err := m.RunList(snapshot.RunQuery{Most: k.runLimit()})
		if err != nil {
			return nil, nil, err
		}
		rows = list.Rows
		k.setMore(list.Total > len(rows))
		found, err := m.Needs("")
		if err != nil {
			return nil, nil, err
		}
		dirty = map[index.RunKey]bool{}
		maps.Copy(dirty, news.dirty)
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
			return nil, nil, err
		}
		if known {
			rows = append(rows, row)
		} else if !news.whole { // a whole read removes missing runs by itself
			changes = append(changes, room.Change{Key: room.Key{Table: room.TableRuns, ID: key.RunID}})
		}
	}
	for i := range rows {
		job := k.jobs[index.RunKey{ProjectID: rows[i].ProjectID, RunID: rows[i].RunID}]
		changes = append(changes, k.c.roomRun(ctx, &rows[i], waiting[rows[i].RunID], job))
	}
	return rows, changes, nil
}

// runLimit returns how many of the newest runs the room keeps.
func (k *liveRoom) runLimit() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.limit
}

// How often a room is read again, and how long it is kept without readers.
const (
	roomDebounce = 10 * time.Millisecond
	roomPace     = 250 * time.Millisecond
	roomLife     = time.Minute     // up to twice that
	roomRetries  = 5 * time.Second // maximum between two attempts
)

// joinRoom adds a reader to the room of the workspace and sets k. It creates the room if there is
// none. If the reader wants more runs than the room keeps, joinRoom raises the limit.
func (c *Company) joinRoom(k **liveRoom, limit int) (leave func(), err error) {
	if *k = c.enterRoom(nil, limit); *k != nil {
		return (*k).leave, nil
	}
	fresh := newLiveRoom(c, max(1, limit))
	stop, err := fresh.follow(c.host.ctx)
	if err != nil {
		return nil, err
	}
	if *k = c.enterRoom(fresh, limit); *k != fresh { // another reader created it first
		stop()
		return (*k).leave, nil
	}
	c.host.background.Go(func() {
		defer stop()
		fresh.run(c.host.ctx)
	})
	return fresh.leave, nil
}

// enterRoom adds a reader to the kept room. If there is none, it starts to keep the fresh one.
func (c *Company) enterRoom(fresh *liveRoom, limit int) *liveRoom {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	kept := c.host.rooms[c.w]
	if kept == nil {
		if kept = fresh; fresh == nil {
			return nil
		}
		if c.host.rooms == nil {
			c.host.rooms = map[*workspace.Workspace]*liveRoom{}
		}
		c.host.rooms[c.w] = kept
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.readers++; limit > kept.limit {
		kept.limit = limit
		kept.news.add(func(n *roomNews) { n.whole = true })
	}
	return kept
}

func (k *liveRoom) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.readers--
}

// unread reports whether the room has no readers.
func (k *liveRoom) unread() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.readers == 0
}

// end removes the room and wakes its readers. With a nil cause, it does nothing if the room has a
// reader again, and reports false.
func (k *liveRoom) end(cause error) bool {
	k.c.host.mu.Lock()
	defer k.c.host.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if cause == nil && k.readers > 0 {
		return false
	}
	delete(k.c.host.rooms, k.c.w)
	k.failed = cause
	close(k.changed)
	k.changed = make(chan struct{})
	return true
}

// run reads the room and keeps it up to date until it has had no readers for some time. Whatever
// else ends it, its readers learn why.
func (k *liveRoom) run(ctx context.Context) {
	if err := k.update(ctx, roomNews{whole: true}); err != nil {
		k.end(err)
		close(k.ready)
		return
	}
	close(k.ready)
	if err := k.tend(ctx); err != nil {
		k.end(err)
	}
}

// tend keeps the room up to date. It reads the first change after a silence at once, and later
// ones at most once per roomPace. If a read fails, tend leaves the rows and retries until the
// workspace is gone. It returns nil once the room has been removed for lack of readers, otherwise
// why the room cannot be kept.
func (k *liveRoom) tend(ctx context.Context) error {
	life, silence := time.NewTicker(roomLife), time.NewTimer(k.c.host.quiet)
	defer life.Stop()
	defer silence.Stop()
	for alone := false; ; {
		select {
		case <-k.news.wake:
		case <-life.C:
			if alone && k.end(nil) {
				return nil
			}
			alone = k.unread()
			continue
		case <-silence.C:
			if err := k.resetQuietTimer(silence); err != nil {
				return err
			}
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if !Pause(ctx, roomDebounce) {
			continue
		}
		if news := k.news.drain(); !news.isEmpty() {
			if err := k.updateWithRetry(ctx, news); err != nil {
				return err
			}
			if err := k.resetQuietTimer(silence); err != nil {
				return err
			}
			Pause(ctx, roomPace)
		}
	}
}

// resetQuietTimer counts the quiet runs and sets the timer to when the next run becomes quiet.
func (k *liveRoom) resetQuietTimer(silence *time.Timer) error {
	next, err := k.recount()
	if !next.IsZero() {
		silence.Reset(next.Sub(k.c.w.Env.Clock.Now()))
	}
	return err
}

// updateWithRetry reads what the news affects, and retries until it succeeds. It fails only if the
// workspace is gone or ctx ends, with the cause of ctx.
func (k *liveRoom) updateWithRetry(ctx context.Context, news roomNews) error {
	for wait := roomPace; ; wait = min(2*wait, roomRetries) {
		if news.whole {
			k.watch() // a new project has folders of its own
		}
		err := k.update(ctx, news)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !k.c.w.Exists(workspace.CompanyFile):
			return err
		}
		if err := k.markBehind(err); err != nil {
			return err
		}
		Pause(ctx, wait)
		k.news.drain()
		news = roomNews{whole: true} // includes what changed meanwhile
	}
}

// Pause waits for d or the end of ctx. It reports whether ctx is still alive.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
