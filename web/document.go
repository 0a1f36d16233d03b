package web

// The page: the document with its initial data, under a Content-Security-Policy
// that allows no other script.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"ac/company"
	"ac/snapshot/room"
	"ac/web/page"
)

// boot is the initial data of the page.
type boot struct {
	ProjectID   string               `json:"project_id"`
	ActorID     string               `json:"actor_id"`
	ActorRole   string               `json:"actor_role"`
	Pane        string               `json:"pane"`
	ColleagueID string               `json:"colleague_id"`
	Limits      company.ScreenLimits `json:"limits"`
	Version     string               `json:"version"`
	// Company is the name of the company, "" if it cannot be read.
	Company string `json:"company"`
	// Workspace is the workspace folder. The hidden tabs of one workspace share a stream.
	Workspace string `json:"workspace"`
	// Token is the token that every request must contain, on servers that other
	// machines can reach.
	Token string `json:"token,omitempty"`
	// Launch reports whether the page may start runs.
	Launch bool `json:"launch"`
	// QuietAfterMS is how long a live run must be silent to count as quiet, in milliseconds.
	QuietAfterMS int64 `json:"quiet_after_ms"`
	// Vendor lists the libraries that the page may load.
	Vendor []loadable `json:"vendor"`
	// First is the first frame of the rows, if it was available in time.
	First *firstRows `json:"first,omitempty"`
}

// firstRows is the full frame of the room in the document. The page paints the first screen without
// another request.
type firstRows struct {
	Epoch string `json:"epoch"`
	room.Frame
}

const (
	// firstPatience is how long the document waits for a room without readers.
	firstPatience = 150 * time.Millisecond
	// maxFirst bounds the first frame in the document, in bytes.
	maxFirst = 64 << 10
)

// framers lists the origins that may embed the page (frame-ancestors, against clickjacking): the
// desktop app, and pages of this machine.
const framers = "'self' tauri: http://tauri.localhost https://tauri.localhost http://localhost:* http://127.0.0.1:*"

// document is the page, split around its initial data.
type document struct {
	before, after []byte // around the boot element
	icon          []byte
	policy        string
}

func newDocument() (d document, err error) {
	html, script, style, err := page.Document()
	if err != nil {
		return d, err
	}
	d.before, d.after, _ = bytes.Cut(html, []byte(page.Boot))
	d.policy = strings.Join([]string{
		"default-src 'none'", "script-src 'self' " + script, "style-src 'self' " + style, "connect-src 'self'", "img-src 'self' data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors " + framers,
		"require-trusted-types-for 'script'", "trusted-types ac dompurify",
	}, "; ")
	d.icon, err = page.Icon()
	return d, err
}

// page sends the document.
func (s *Server) page(w http.ResponseWriter, r *http.Request) error {
	query, err := queryOf(r)
	if err != nil {
		return err
	}
	name, _ := company.Do(r.Context(), s.all, (*company.Company).Name, s.dir()) // best effort: the page then shows no name
	b := boot{
		Company: name, Workspace: s.opts.WorkspaceDir,
		ProjectID: s.opts.ProjectID, ActorID: s.opts.Actor.ActorID, ActorRole: s.opts.Actor.ActorRole,
		Pane: query.Get("pane"), ColleagueID: query.Get("colleague_id"), Limits: s.opts.Limits, Version: s.opts.Version, Token: s.guard.Token(),
		Launch: s.opts.AllowLaunch, QuietAfterMS: s.all.QuietAfter().Milliseconds(), Vendor: s.loadables, First: s.firstRows(r),
	}
	body, err := s.document.with(b)
	if err != nil {
		return err
	}
	if b.First != nil {
		b.First.AtMS = 0 // a different time alone does not change the tag
	}
	same, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(slices.Concat(s.document.before, same, s.document.after))
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	h := w.Header()
	h.Set("Content-Security-Policy", s.document.policy)
	h.Set("Etag", "W/"+tag) // weak: the page is the same, compressed or not
	h.Set("Cache-Control", "no-cache")
	if s.guard.Token() != "" {
		h.Set("Cache-Control", "no-store")
	}
	if matches(r.Header.Values("If-None-Match"), tag) {
		h.Add("Vary", "Accept-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	send(w, r, http.StatusOK, body)
	return nil
}

// with returns the document with its initial data.
func (d *document) with(b boot) ([]byte, error) {
	text, err := json.Marshal(b) // escapes what could end the element
	if err != nil {
		return nil, err
	}
	return slices.Concat(d.before, []byte(`<script type="application/json" id="boot">`), text, []byte(`</script>`), d.after), nil
}

// firstRows returns the first frame, nil if the room is not available in time. The stream sends the
// rows that exceed the size limit of the document.
func (s *Server) firstRows(r *http.Request) *firstRows {
	ctx, cancel := context.WithTimeout(r.Context(), firstPatience)
	defer cancel()
	c, err := s.folder.Enter(ctx)
	if err != nil {
		return nil // the stream reports the error
	}
	epoch, frame, ok := c.FirstRows(ctx, room.Filter{}, roomRuns)
	if !ok {
		return nil
	}
	frame.Cut(maxFirst)
	return &firstRows{epoch, frame}
}

// matches reports whether a client has the current page.
func matches(known []string, tag string) bool {
	for one := range strings.SplitSeq(strings.Join(known, ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

// icon sends the page's icon.
func (s *Server) icon(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Content-Type", "image/svg+xml")
	h.Set("Cache-Control", "max-age=86400")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	send(w, r, http.StatusOK, s.document.icon)
	return nil
}
