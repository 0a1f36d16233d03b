package web

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// rowStore is the page's copy of the room: rows by table and key.
type rowStore map[string]map[string]jsonRaw

// apply merges a frame into the store, as a page does.
func (s *rowStore) apply(t *testing.T, text string) (rev int64, more bool) {
	t.Helper()
	var f struct {
		Rev        int64
		Full, More bool
		Set        []jsonRaw
		Del        [][2]string
	}
	mustJSON(t, text, &f)
	if f.Full {
		*s = rowStore{}
	}
	for _, raw := range f.Set {
		var table, key string
		var fields map[string]jsonRaw
		if err := json.Unmarshal(raw, &[]any{&table, &key, &fields}); err != nil {
			t.Fatal(err)
		}
		row := (*s)[table+" "+key]
		if row == nil {
			row = map[string]jsonRaw{}
			(*s)[table+" "+key] = row
		}
		for name, value := range fields {
			if row[name] = value; string(value) == "null" {
				delete(row, name)
			}
		}
	}
	for _, gone := range f.Del {
		delete(*s, gone[0]+" "+gone[1])
	}
	return f.Rev, f.More
}

// rowStream is an open stream of rows.
type rowStream struct {
	t     *testing.T
	lines *bufio.Scanner
	head  http.Header
	end   func()
	id    string // of the last frame
}

// openRows opens a stream of rows, compressed or not. If last is set, the stream resumes after that
// frame.
func (f *fixture) openRows(t *testing.T, query, last string, packed bool) *rowStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+"/api/rows"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-Id", last)
	}
	if packed {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	answer, err := f.http.Do(r) //nolint:bodyclose // end closes it
	if err != nil {
		t.Fatal(err)
	}
	var body io.Reader = answer.Body
	if packed {
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	s := &rowStream{t: t, lines: bufio.NewScanner(body), head: answer.Header, end: func() {
		cancel()
		answer.Body.Close()
	}}
	s.lines.Buffer(nil, 1<<20)
	t.Cleanup(s.end)
	return s
}

// next returns the next frame.
func (s *rowStream) next() (kind, data string) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case name == "event":
			kind = value
		case name == "id":
			s.id = value
		case name == "data":
			data = value
		case line == "" && data != "":
			return kind, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return "", ""
}

// begin reads the initial frames, up to the last that arrives without a wait.
func (s *rowStream) begin(store *rowStore) {
	s.t.Helper()
	for more := true; more; {
		_, data := s.next()
		_, more = store.apply(s.t, data)
	}
}

// TestRows checks the stream of rows: first everything, compressed or not, then changes only. A
// client that reconnects gets changes only, unless its frame is from another process.
func TestRows(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 2)
	for _, packed := range []bool{false, true} {
		s := f.openRows(t, "", "", packed)
		if got := s.head.Get("Content-Type"); got != "text/event-stream; charset=utf-8" || (s.head.Get("Content-Encoding") == "gzip") != packed {
			t.Errorf("packed %t: %v", packed, s.head)
		}
		var store rowStore
		s.begin(&store)
		if store["runs run_1"] == nil || store["meta server"] == nil || store["counts all"] == nil || store["projects proj_a"] == nil {
			t.Errorf("packed %t: %v", packed, store)
		}
		seen := s.id
		s.end()
		back := f.openRows(t, "", seen, packed)
		run := map[bool]string{false: "run_2", true: "run_3"}[packed]
		f.log(run, 1, 1)
		for store["runs "+run] == nil {
			_, data := back.next()
			if strings.Contains(data, `"full":true`) {
				t.Errorf("packed %t: a client that comes back begins again: %s", packed, data)
			}
			store.apply(t, data)
		}
		back.end()
	}
	other := f.openRows(t, "", "00000000.1", false)
	if _, data := other.next(); !strings.Contains(data, `"full":true`) {
		t.Errorf("a client of another process: %.200s", data)
	}
	light := f.openRows(t, "?light=1", "", false)
	_, data := light.next()
	var store rowStore
	store.apply(t, data)
	for key := range store {
		if table, _, _ := strings.Cut(key, " "); table != "counts" && table != "needs" {
			t.Errorf("light has %s", key)
		}
	}
	if got := f.do("HEAD", "/api/rows", ""); got.status != 200 || got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("%+v", got)
	}
	for _, query := range []string{"?tables=x", "?tables=runs,,", "?runs_limit=0", "?runs_limit=x", "?project_id=..", "?light=1&tables=runs"} {
		if got := f.get("/api/rows" + query); got.status != 400 {
			t.Errorf("%s: %+v", query, got)
		}
	}
}

// TestManyTabs checks the limit on open streams, and that closing one frees a slot.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	var open []*rowStream
	for range maxTabs {
		open = append(open, f.openRows(t, "?light=1", "", false))
	}
	if got := f.get("/api/rows"); got.status != 503 {
		t.Errorf("%+v", got)
	}
	open[0].end()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := f.openRows(t, "?light=1", "", false)
		ok := s.head.Get("Content-Type") == "text/event-stream; charset=utf-8"
		s.end()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no room for another stream")
		}
	}
}

// TestEveryRoute checks the headers of every route. Only vendored files may have a script or style
// type, and browsers must not sniff types.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	f.log("run_1", 1, 1)
	paths := map[string]bool{"/v/0123456789abcdef/x.js": true, "/nothing": true}
	for path := range f.paths {
		paths[path] = true
	}
	for _, one := range f.loadables {
		paths[one.Src] = true
	}
	for path := range maps.Keys(paths) {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT"} {
			if method == "GET" && (path == "/api/events" || path == "/api/stream" || path == "/api/rows") {
				continue // streams do not end; HEAD checks their headers
			}
			got := f.do(method, path, "{}", isJSON)
			h := got.header
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Cross-Origin-Resource-Policy") != "same-origin" || h.Get("Permissions-Policy") != "camera=(), microphone=(), geolocation=()" {
				t.Errorf("%s %s: %v", method, path, h)
			}
			kind := h.Get("Content-Type")
			active := strings.Contains(kind, "javascript") || strings.Contains(kind, "css")
			if active != (strings.HasPrefix(path, assetPath) && got.status == 200) || got.status != 200 && kind != "application/json; charset=utf-8" {
				t.Errorf("%s %s: %d %s", method, path, got.status, kind)
			}
		}
	}
}

// TestVendored checks that vendored files have the announced hash, are cacheable forever, and exist
// under no other hash.
func TestVendored(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	if len(f.loadables) < 21 {
		t.Errorf("%d files", len(f.loadables))
	}
	for _, one := range f.loadables {
		plain, packed := f.get(one.Src), f.get(one.Src, "Accept-Encoding: gzip")
		if plain.status != 200 || unpack(t, packed.body) != plain.body || packed.header.Get("Content-Encoding") != "gzip" ||
			!strings.Contains(plain.header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", one.Src, plain.status, packed.header)
		}
		sum := sha512.Sum384([]byte(plain.body))
		if one.Integrity != "sha384-"+base64.StdEncoding.EncodeToString(sum[:]) {
			t.Errorf("%s has another hash", one.Src)
		}
		if got := f.get(strings.Replace(one.Src, "/v/", "/v/0", 1)); got.status != 404 {
			t.Errorf("under another hash: %d", got.status)
		}
	}
}

// TestBadge checks the icon with a number. Nothing else of the request may get into it.
func TestBadge(t *testing.T) {
	t.Parallel()
	f := newServer(t)
	for query, want := range map[string]string{"": "", "?n=0": "", "?n=3&state=lost": ">3<", "?n=99": ">99<", "?n=100&state=live": ">99+<", "?n=7&x=<script>": ">7<"} {
		got := f.get("/badge.svg" + query)
		if got.status != 200 || got.header.Get("Content-Type") != "image/svg+xml" || !strings.Contains(got.body, want) || strings.Contains(got.body, "script") ||
			(want == "") == strings.Contains(got.body, "<text") {
			t.Errorf("%s: %+v", query, got)
		}
	}
	for _, query := range []string{"?n=x", "?n=-1", "?n=1.5", "?state=<b>", "?n=%"} {
		if got := f.get("/badge.svg" + query); got.status != 400 {
			t.Errorf("%s: %+v", query, got)
		}
	}
}

// rpcRows returns the rows of room.read as a full frame.
func rpcRows(rows []jsonRaw) (string, error) {
	text, err := json.Marshal(map[string]any{"rev": 1, "full": true, "set": rows, "del": []string{}})
	return string(text), err
}
