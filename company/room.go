package company

// room.*: the rows of screens that stay open. A room is kept up to date while it has readers, and
// only changes are read again: runs whose logs grew, and other tables after an event or document
// that could have changed them.

import (
	"context"
	"time"

	"ac/index"
	"ac/internal/clock"
	"ac/internal/fault"
	"ac/snapshot"
	"ac/snapshot/room"
)

// ReadRoomParams are the params of room.read.
type ReadRoomParams struct {
	Dir
	ProjectID string   `json:"project_id" is:"optional,id"`
	Tables    []string `json:"tables" is:"optional"`
	RunsLimit int      `json:"runs_limit" is:"default=200,min=1,cut=5000"`
	Before    string   `json:"before" is:"optional"`
	Limit     int      `json:"limit" is:"default=200,min=1,cut=1000"`
}

// CheckFields rejects unknown tables.
func (p *ReadRoomParams) CheckFields() (issues []fault.Issue) {
	return unknownTables(p.Tables, room.Tables())
}

// ReadRoomResult is the result of room.read. Each row is an array: its table, its key, and
// its fields.
type ReadRoomResult struct {
	Epoch string           `json:"epoch"`
	Rev   int64            `json:"rev"`
	At    int64            `json:"at"` // Unix milliseconds
	Rows  []room.RowChange `json:"rows"`
	More  bool             `json:"more"` // older runs exist
}

// ReadRoom returns the rows of the room. With Before, it returns runs created before that time
// instead.
func (c *Company) ReadRoom(ctx context.Context, p ReadRoomParams) (result ReadRoomResult, err error) {
	if p.Before != "" {
		return c.olderRuns(ctx, p)
	}
	k := newLiveRoom(c, p.RunsLimit)
	if c.host.hub != nil { // other readers will follow
		leave, err := c.joinRoom(&k, p.RunsLimit)
		if err != nil {
			return result, err
		}
		defer leave()
	}
	if err := k.update(ctx, roomNews{whole: true}); err != nil {
		return result, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return ReadRoomResult{
		Epoch: k.room.Epoch, Rev: k.room.Rev(), At: c.w.Env.Clock.Now().UnixMilli(), More: k.more,
		Rows: k.room.Rows(room.Filter{Project: p.ProjectID, Tables: p.Tables}),
	}, nil
}

// olderRuns returns rows of runs that the room does not keep.
func (c *Company) olderRuns(ctx context.Context, p ReadRoomParams) (result ReadRoomResult, err error) {
	at, ok := clock.Parse(p.Before)
	if !ok {
		return result, fault.InvalidField("before", "must be a timestamp")
	}
	of := room.New("")
	var changes []room.Change
	err = c.View(ctx, index.UpToDate, func(m *snapshot.View) error {
		list, err := m.RunList(snapshot.RunQuery{ProjectID: p.ProjectID, Before: clock.Nanos(at), Most: p.Limit + 1, Newest: true})
		if err != nil {
			return err
		}
		if result.More = len(list.Rows) > p.Limit; result.More {
			list.Rows = list.Rows[:p.Limit]
		}
		jobs, err := m.Attempts()
		if err != nil {
			return err
		}
		changes = changes[:0]
		for i := range list.Rows {
			r := &list.Rows[i]
			changes = append(changes, c.roomRun(ctx, r, 0, jobs[index.RunKey{ProjectID: r.ProjectID, RunID: r.RunID}]))
		}
		return nil
	})
	if err != nil {
		return result, err
	}
	now := c.w.Env.Clock.Now()
	_, err = of.Apply(now, changes)
	result.Rows, result.At = of.Rows(room.Filter{Tables: p.Tables}), now.UnixMilli()
	return result, err
}

// RoomStream selects what part of the room is delivered. Epoch and Since identify the last frame
// that the reader has.
type RoomStream struct {
	room.Filter

	RunsLimit int
	Epoch     string
	Since     int64
	Light     bool // at most one frame a second
	// Deliver receives a frame. It may block while its reader is slow: changes of that time are
	// combined into one frame. An error ends the stream.
	Deliver func(ctx context.Context, epoch string, frame room.Frame) error
}

// FollowRoom delivers the whole room and then its changes, until ctx ends or Deliver fails.
// It returns the error of Deliver, nil if ctx ended.
func (c *Company) FollowRoom(ctx context.Context, s RoomStream) error {
	var k *liveRoom
	leave, err := c.joinRoom(&k, s.RunsLimit)
	if err != nil {
		return err
	}
	defer leave()
	select {
	case <-k.ready:
	case <-ctx.Done():
		return nil
	}
	rev := int64(-1)
	for {
		frames, epoch, next, err := k.frames(s, rev)
		if err != nil {
			return err
		}
		var rest time.Duration // the pause before the next frame
		for _, f := range frames {
			if rev = f.Rev; f.Empty() {
				continue
			}
			began := c.w.Env.Clock.Now()
			if err := s.Deliver(ctx, epoch, f); err != nil {
				return err
			}
			rest = s.rest(c.w.Env.Clock.Since(began))
		}
		if rest > 0 && !Pause(ctx, rest) {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil
		}
	}
}

// Bounds of the pause between two frames of a reader.
const (
	lightPace = time.Second
	slowPace  = 5 * time.Second // maximum
)

// rest returns the pause after a frame. A slow reader gets a pause as long as the delivery took,
// up to slowPace.
func (s *RoomStream) rest(took time.Duration) time.Duration {
	switch {
	case s.Light:
		return max(lightPace, min(took, slowPace))
	case took > roomPace:
		return min(took, slowPace)
	}
	return 0
}

// frames returns the frames for a reader at revision rev, -1 for a new reader. next is closed on
// the next change. err is why the room is no longer kept.
func (k *liveRoom) frames(s RoomStream, rev int64) (frames []room.Frame, epoch string, next <-chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.c.w.Env.Clock.Now()
	switch {
	case rev >= 0:
		frames = []room.Frame{k.room.Since(now, rev, s.Filter)}
	case k.room.Resumes(s.Epoch, s.Since):
		frames = []room.Frame{k.room.Since(now, s.Since, s.Filter)}
	default:
		frames = k.room.First(now, s.Filter)
	}
	return frames, k.room.Epoch, k.changed, k.failed
}

// FirstRows returns the full frame that a reader of the room begins with, and its epoch. If the
// room has not been read yet, FirstRows waits for it. If ctx ends first, it reports false.
func (c *Company) FirstRows(ctx context.Context, f room.Filter, runsLimit int) (epoch string, first room.Frame, ok bool) {
	var k *liveRoom
	leave, err := c.joinRoom(&k, runsLimit)
	if err != nil {
		return "", first, false // a subscription reports the error
	}
	defer leave()
	select {
	case <-k.ready:
	case <-ctx.Done():
		return "", first, false
	}
	frames, epoch, _, err := k.frames(RoomStream{Filter: f}, -1)
	return epoch, frames[0], err == nil
}

// HasProject reports whether a project exists.
func (c *Company) HasProject(id string) (bool, error) { return c.w.HasProject(id) }
