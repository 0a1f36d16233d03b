package company

// room.subscribe: sends the frames of the room to this process's client as notifications.

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"ac/internal/fault"
	"ac/internal/inflight"
	"ac/internal/lazyregexp"
	"ac/snapshot/room"
)

// SubscribeRoomParams are the params of room.subscribe.
type SubscribeRoomParams struct {
	Dir
	SubscriptionID string   `json:"subscription_id" is:"optional"`
	ProjectID      string   `json:"project_id" is:"optional,id"`
	Tables         []string `json:"tables" is:"optional"`
	RunsLimit      int      `json:"runs_limit" is:"default=200,min=1,cut=5000"`
	Since          string   `json:"since" is:"optional"` // <epoch>.<rev> of the last frame
	Light          bool     `json:"light" is:"optional"` // counts and needs only, at most one frame a second
}

// OfSubscription returns the subscription that a request names, "" for a new one.
func (p SubscribeRoomParams) OfSubscription() string { return p.SubscriptionID }

// revision matches the since param of room.subscribe.
var revision = lazyregexp.New(`^[0-9a-f]{8}\.[0-9]{1,18}$`)

// CheckFields rejects unknown tables, tables that a light subscription excludes, and invalid
// revisions.
func (p *SubscribeRoomParams) CheckFields() (issues []fault.Issue) {
	known := room.Tables()
	if p.Light {
		known = lightTables()
	}
	issues = unknownTables(p.Tables, known)
	if p.Since != "" && !revision().MatchString(p.Since) {
		issues = append(issues, fault.Issue{Path: []any{"since"}, Code: "custom", Message: "must be <epoch>.<rev> of a frame"})
	}
	return issues
}

// unknownTables rejects tables that are not among the known ones.
func unknownTables(tables, known []string) []fault.Issue {
	return UnknownWords("tables", tables, known, "is no table of the room")
}

// UnknownWords rejects items of a list that are not among the known ones.
func UnknownWords(field string, given, known []string, why string) (issues []fault.Issue) {
	for i, word := range given {
		if !slices.Contains(known, word) {
			issues = append(issues, fault.Issue{Path: []any{field, i}, Code: "invalid_value", Message: why, Values: known})
		}
	}
	return issues
}

// lightTables returns the tables of a light subscription, for a reader whose screen is hidden.
func lightTables() []string { return []string{room.TableCounts, room.TableNeeds} }

// Stream returns the stream that the params select. They must have been checked.
func (p *SubscribeRoomParams) Stream() RoomStream {
	stream := RoomStream{Filter: room.Filter{Project: p.ProjectID, Tables: p.Tables}, RunsLimit: p.RunsLimit, Light: p.Light}
	if epoch, rev, ok := strings.Cut(p.Since, "."); ok {
		stream.Epoch = epoch
		stream.Since, _ = strconv.ParseInt(rev, 10, 64) // the form was checked
	}
	if p.Light && len(p.Tables) == 0 {
		stream.Tables = lightTables()
	}
	return stream
}

// IsRevision reports whether a text has the form of a revision: <epoch>.<rev>.
func IsRevision(text string) bool { return revision().MatchString(text) }

// SubscribeRoomResult is the result of room.subscribe, with the room's Epoch and Rev at the time
// of the reply.
type SubscribeRoomResult struct {
	ID    string `json:"subscription_id"`
	Epoch string `json:"epoch"`
	Rev   int64  `json:"rev"`
}

// RoomNotification are the params of room.notification: a frame.
type RoomNotification struct {
	SubscriptionID string `json:"subscription_id"`
	room.Frame
}

// SubscribeRoom subscribes to the room. The frames follow the reply: first the changes since the
// client's revision, or everything, and then each change.
func (c *Company) SubscribeRoom(ctx context.Context, p SubscribeRoomParams) (result SubscribeRoomResult, err error) {
	var k *liveRoom
	leave, err := c.joinRoom(&k, p.RunsLimit)
	if err != nil {
		return result, err
	}
	defer leave() // the room outlives the gap until FollowRoom joins it
	select {
	case <-k.ready:
	case <-ctx.Done():
		return result, ctx.Err()
	}
	stream := p.Stream()
	result.Epoch, result.Rev, err = k.at()
	if err != nil {
		return result, err
	}
	answer, start, err := c.host.hub.SubscribeSender(p.SubscriptionID, func(ctx context.Context, id string, notify func(context.Context, string, any) error) error {
		stream.Deliver = func(ctx context.Context, _ string, f room.Frame) error {
			return notify(ctx, "room.notification", RoomNotification{id, f})
		}
		return c.FollowRoom(ctx, stream)
	})
	if err == nil {
		result.ID = answer.ID
		inflight.After(ctx, start)
	}
	return result, err
}

// at returns the epoch and revision of the room, or why it is no longer kept.
func (k *liveRoom) at() (epoch string, rev int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.room.Epoch, k.room.Rev(), k.failed
}
