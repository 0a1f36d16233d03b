package web

// /api/rows: the rows of the room as a stream. A frame holds the changes since the last frame that
// the client got. A slow client skips intermediate states, and nothing is queued.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"ac/company"
	"ac/internal/fault"
	"ac/rpc"
	"ac/snapshot/room"
)

const (
	// roomRuns is the default number of runs for a client.
	roomRuns = 200
	// maxTabs bounds the open streams of rows in this process.
	maxTabs = 64
)

// rows streams the room: everything, or the changes since the client's last frame, then each
// change.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) error {
	query, err := queryOf(r)
	if err != nil {
		return err
	}
	asked, err := rowsAsked(query, r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	c, err := s.folder.Enter(r.Context())
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return s.headOfStream(w)
	}
	defer s.tabs.Add(-1)
	if s.tabs.Add(1) > maxTabs {
		return refuse(http.StatusServiceUnavailable, "%d streams of rows are open; close a page", maxTabs)
	}
	out, err := s.open(w, r)
	if err != nil {
		return nil // the client has disconnected
	}
	defer out.close()
	s.passRows(r.Context(), c, asked.Stream(), out)
	return nil
}

// passRows sends frames and keepalives until the client disconnects or the room ends.
func (s *Server) passRows(ctx context.Context, c *company.Company, stream company.RoomStream, out *stream) {
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(s.live, cancel)()
	var writing sync.Mutex
	send := func(text []byte) error {
		writing.Lock()
		defer writing.Unlock()
		return out.send(text)
	}
	stream.Deliver = func(_ context.Context, epoch string, f room.Frame) error {
		text, err := rowsEvent(epoch, f)
		if err != nil {
			return err
		}
		return send(text)
	}
	var alive sync.WaitGroup
	alive.Go(func() {
		ticker := time.NewTicker(s.keepalive)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if send([]byte(": keepalive\n\n")) != nil {
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	})
	err := c.FollowRoom(ctx, stream)
	cancel()
	alive.Wait()
	if err != nil && s.live.Err() == nil {
		body, _ := rpc.Encode(streamError{fullMessage(err)}) // a string always encodes
		_ = send(fmt.Appendf(nil, "event: error\ndata: %s\n\n", body))
	}
}

// rowsEvent returns the event of a frame. Its id is where a client resumes. A frame that another
// one follows at once has no id: a client that got only that frame starts over.
func rowsEvent(epoch string, f room.Frame) ([]byte, error) {
	body, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	if f.More {
		return fmt.Appendf(nil, "event: rows\ndata: %s\n\n", body), nil
	}
	return event("rows", epoch+"."+strconv.FormatInt(f.Rev, 10), body), nil
}

// rowsAsked reads what a client wants from the room, and where it resumes.
func rowsAsked(query url.Values, last string) (p company.SubscribeRoomParams, err error) {
	if p.ProjectID, err = idOf(query, "project_id"); err != nil {
		return p, err
	}
	if given := query.Get("tables"); given != "" {
		p.Tables = strings.Split(given, ",")
	}
	p.RunsLimit = roomRuns
	if given := query.Get("runs_limit"); given != "" {
		if p.RunsLimit, err = strconv.Atoi(given); err != nil || p.RunsLimit < 1 {
			return p, fault.InvalidField("runs_limit", "must be a whole number of at least 1")
		}
		p.RunsLimit = min(p.RunsLimit, maxRows)
	}
	p.Light = flagOf(query, "light", false)
	if company.IsRevision(last) {
		p.Since = last // anything else counts as absent
	}
	if issues := p.CheckFields(); len(issues) > 0 {
		return p, fault.Invalid(issues...)
	}
	return p, nil
}
