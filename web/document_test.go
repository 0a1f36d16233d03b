package web

// The document of the page: its policy, its first rows, and its caching.

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
	"time"

	"ac/company"
)

// TestPage checks the page's security policy and its boot data, and that no boot value can close
// the element that holds it.
func TestPage(t *testing.T) {
	t.Parallel()
	hostile := `</script><script>alert(1)</script><!--` + "\u2028"
	f := newServer(t, func(o *Options) { o.Actor.ActorID = hostile })
	got := f.get("/?pane=%3C/script%3E&colleague_id=a%22b")
	if got.status != 200 || got.header.Get("Content-Type") != "text/html; charset=utf-8" || got.header.Get("X-Frame-Options") != "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	policy := got.header.Get("Content-Security-Policy")
	for _, part := range []string{
		"default-src 'none'", "script-src 'self' 'sha256-", "style-src 'self' 'sha256-", "require-trusted-types-for 'script'", "trusted-types ac dompurify", "connect-src 'self'",
		"frame-ancestors 'self' tauri: http://tauri.localhost https://tauri.localhost http://localhost:* http://127.0.0.1:*",
	} {
		if !strings.Contains(policy, part) {
			t.Errorf("no %s in %s", part, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Error(policy)
	}
	_, rest, _ := strings.Cut(got.body, `<script type="application/json" id="boot">`)
	element, _, ended := strings.Cut(rest, "</script>")
	var told struct {
		ProjectID   string               `json:"project_id"`
		ActorID     string               `json:"actor_id"`
		Pane        string               `json:"pane"`
		ColleagueID string               `json:"colleague_id"`
		Limits      company.ScreenLimits `json:"limits"`
		Version     string               `json:"version"`
		First       struct {
			Epoch string    `json:"epoch"`
			Full  bool      `json:"full"`
			Set   []jsonRaw `json:"set"`
		} `json:"first"`
		Vendor []loadable `json:"vendor"`
	}
	mustJSON(t, element, &told)
	if !ended || told.ActorID != hostile || told.Pane != "</script>" || told.ColleagueID != `a"b` || told.ProjectID != project ||
		told.Limits.MonitorLimit != 200 || told.Version != "test" || strings.Contains(got.body, "<!--\u2028") {
		t.Errorf("%+v", told)
	}
	if told.First.Epoch != "" && (!told.First.Full || len(told.First.Set) == 0) || len(told.Vendor) == 0 {
		t.Errorf("the first frame is %+v, of libraries %v", told.First, told.Vendor)
	}
	if strings.Contains(got.body, "<!--boot-->") || strings.Contains(got.body, "alert(1)</script>") {
		t.Error("the page is not filled in")
	}
}

// TestCaching checks ETags and compression.
func TestCaching(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	plain := f.settled("/")
	tag := plain.header.Get("Etag")
	for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"x", ` + tag, "*"} {
		if got := f.get("/", "If-None-Match: "+known); got.status != 304 || got.body != "" || got.header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %+v", known, got)
		}
	}
	if got := f.get("/?pane=runs", "If-None-Match: "+tag); got.status != 200 {
		t.Errorf("another page: %d", got.status)
	}
	for accept, want := range map[string]bool{"gzip": true, "br, gzip;q=0.5": true, "*": true, "": false, "gzip;q=0": false, "gzip; q=0.0, *": false, "br": false, "gzip;q=x": false} {
		for _, path := range []string{"/", "/api/ui/snapshot"} {
			got := f.get(path, "Accept-Encoding: "+accept)
			if packed := got.header.Get("Content-Encoding") == "gzip"; packed != want || got.header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s with %q: %v", path, accept, got.header)
			}
			if want && path == "/" && timeless(unpack(t, got.body)) != timeless(plain.body) {
				t.Error("the page is another one compressed")
			}
		}
	}
	if got := f.get("/api/events", "Accept-Encoding: gzip", "Origin: null"); got.status != 403 {
		t.Errorf("%d", got.status)
	}
}

// settled returns a page that contains its first rows and has the same ETag on a repeated request.
// While a server still reads its workspace, it sends the first rows only on the stream.
func (f *fixture) settled(path string) said {
	f.t.Helper()
	got := f.get(path)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		again := f.get(path)
		if strings.Contains(again.body, `"epoch":`) && again.header.Get("Etag") == got.header.Get("Etag") {
			return again
		}
		got = again
	}
	f.t.Fatal("the page does not settle")
	return said{}
}

// timeless returns a page without the revision and time of its first frame, which differ on each
// request.
func timeless(page string) string {
	before, rest, _ := strings.Cut(page, `"rev":`)
	_, after, _ := strings.Cut(rest, `"full":`)
	return before + after
}

func unpack(t *testing.T, text string) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
