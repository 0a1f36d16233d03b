package web

// The page: the document with its initial data, under a Content-Security-Policy
// that allows no other script.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"ac/company"
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
	// Token is the token that every request must contain, on servers that other
	// machines can reach.
	Token string `json:"token,omitempty"`
}

// framers are the origins that may embed the page (frame-ancestors, against
// clickjacking): the desktop app, and pages of this machine.
const framers = "'self' tauri: http://tauri.localhost https://tauri.localhost http://localhost:* http://127.0.0.1:*"

// document is the page without its initial data.
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
		"default-src 'none'", "script-src " + script, "style-src " + style, "connect-src 'self'", "img-src 'self' data:",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors " + framers,
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
	told, err := json.Marshal(boot{ // escapes what could end the element
		s.opts.ProjectID, s.opts.Actor.ActorID, s.opts.Actor.ActorRole, query.Get("pane"), query.Get("colleague_id"),
		s.opts.Limits, s.opts.Version, s.guard.Token(),
	})
	if err != nil {
		return err
	}
	element := slices.Concat([]byte(`<script type="application/json" id="boot">`), told, []byte(`</script>`))
	body := slices.Concat(s.document.before, element, s.document.after)
	sum := sha256.Sum256(body)
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
