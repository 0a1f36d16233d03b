package web

// The transcript of a run as a stream.

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"ac/company"
	"ac/feed"
	"ac/internal/fault"
)

// viewTranscript is the view that streams the transcript of a run.
const viewTranscript = "transcript"

// transcript sends the transcript of a run and then its changes.
func (s *Server) transcript(w http.ResponseWriter, r *http.Request, query url.Values) error {
	asked, err := transcriptOf(query, r.Header.Get("Last-Event-ID"))
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
	mask, err := s.maskOf(r, query)
	if err != nil {
		return err
	}
	frames := make(chan []byte)
	asked.Deliver = func(ctx context.Context, n feed.TranscriptNotification) error {
		n.SubscriptionID = "" // clients cannot unsubscribe by id
		if !mask.pass(&n) {
			return nil // a later notification includes it
		}
		body, err := json.Marshal(n)
		if err != nil {
			return err
		}
		body = mask.value(body)
		select {
		case frames <- event("transcript", strconv.FormatInt(n.Seq, 10), body):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	stop, err := c.FollowTranscript(r.Context(), asked)
	if err != nil {
		return err
	}
	defer stop()
	out, err := s.open(w, r)
	if err != nil {
		return nil // the client has disconnected
	}
	defer out.close()
	s.pass(r, out, frames, nil)
	return nil
}

// transcriptOf reads which transcript a client wants, and from which seq it resumes.
func transcriptOf(query url.Values, last string) (asked company.TranscriptStream, err error) {
	if asked.ProjectID, err = idOf(query, "project_id"); err != nil {
		return asked, err
	}
	if asked.RunID, err = idOf(query, "run_id"); err != nil {
		return asked, err
	}
	if asked.RunID == "" {
		return asked, fault.InvalidField("run_id", "is needed with view=transcript")
	}
	since, err := sinceOf(query, last)
	if err != nil {
		return asked, err
	}
	asked.Since = &since
	if given := query.Get("tail"); given != "" && since == 0 {
		if asked.Tail, err = strconv.Atoi(given); err != nil || asked.Tail < 1 || asked.Tail > maxRows {
			return asked, fault.InvalidField("tail", "must be a whole number from 1 to %d", maxRows)
		}
	}
	return asked, nil
}
