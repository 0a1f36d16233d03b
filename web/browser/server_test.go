//go:build browser

package browser

// A server with a company of its making: it answers as ui:web does, from what
// stands here, so that a test can say what happens when.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/runs/transcript"
	"ac/web/page"
)

// object is a document of JSON.
type object = map[string]any

type fake struct {
	*httptest.Server
	html            []byte
	policy          string
	mu              sync.Mutex
	runs            []object
	logs            map[string][]object
	pending         []object
	decisions       []object
	messages        []object
	comments        []object
	tasks           []object
	agents          []object
	called          []string
	silent          bool // no streams
	snapshots, live map[chan string]bool
	readers         map[chan string]string // of transcripts: their run
	folds           map[string]*transcript.Fold
	happened        []string // frames of run events
	origin          time.Time
}

func serve(t *testing.T, boot object) *fake {
	t.Helper()
	html, script, style, err := page.Document()
	if err != nil {
		t.Fatal(err)
	}
	element, err := json.Marshal(boot)
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{
		html:      []byte(strings.Replace(string(html), page.Boot, `<script type="application/json" id="boot">`+string(element)+`</script>`, 1)),
		policy:    "default-src 'none'; script-src " + script + "; style-src " + style + "; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'",
		logs:      map[string][]object{},
		snapshots: map[chan string]bool{}, live: map[chan string]bool{},
		readers: map[chan string]string{}, folds: map[string]*transcript.Fold{},
		origin: time.Now().UTC().Truncate(time.Second),
	}
	f.company()
	f.Server = httptest.NewServer(http.HandlerFunc(f.answer))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func bootOf() object {
	return object{"project_id": "proj_atlas", "actor_id": "human_ceo", "actor_role": "manager", "version": "1.0.0"}
}

func (f *fake) at(ago time.Duration) string {
	return f.origin.Add(-ago).Format("2006-01-02T15:04:05.000Z")
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && origin != f.URL {
		reply400(w, http.StatusForbidden, "another site asks")
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", f.policy)
		_, _ = w.Write(f.html)
	case "GET /favicon.svg":
		icon, _ := page.Icon()
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write(icon)
	case "GET /api/events":
		f.stream(w, r, f.snapshots, "event: snapshot\ndata: "+f.told(f.snapshot())+"\n\n")
	case "GET /api/stream":
		if r.URL.Query().Get("view") == "transcript" && !f.silent {
			f.followTranscript(w, r)
			return
		}
		f.stream(w, r, f.live, "")
	case "GET /api/ui/snapshot":
		f.give(w, f.snapshot())
	case "GET /api/monitor/snapshot":
		f.note("monitor")
		f.give(w, f.snapshot()["monitor"])
	case "GET /api/inbox/snapshot":
		f.note("inbox")
		f.give(w, f.snapshot()["review_inbox"])
	case "GET /api/health":
		f.give(w, object{"ok": true, "project_id": "proj_atlas", "version": "1.0.0", "workspace_dir": "/home/ada/acme", "company": "Acme Robotics", "pid": 4242, "dialects": []object{{"name": "autonoma", "address": "ws://127.0.0.1:9876/ws"}}})
	case "GET /api/comments":
		f.give(w, object{"comments": f.commentsOn(r.URL.Query().Get("target_run_id"))})
	case "POST /api/comments":
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		f.comment(body)
		f.give(w, object{"snapshot": f.snapshot()})
	case "POST /api/ui/resolve":
		var body object
		_ = json.NewDecoder(r.Body).Decode(&body)
		f.give(w, f.resolve(body))
	case "POST /api/call":
		f.call(w, r)
	default:
		reply400(w, http.StatusNotFound, "Not found")
	}
}

func reply400(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{"error": text})
}

func (f *fake) told(value any) string {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(line)
}

func (f *fake) give(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	f.mu.Lock()
	line := f.told(value)
	f.mu.Unlock()
	_, _ = w.Write([]byte(line))
}

func (f *fake) note(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.called = append(f.called, what)
}

func (f *fake) asked(what string) (times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.called {
		if one == what {
			times++
		}
	}
	return times
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request, readers map[chan string]bool, first string) {
	if f.silent {
		reply400(w, http.StatusServiceUnavailable, "no streams today")
		return
	}
	frames := make(chan string, 200000)
	f.mu.Lock()
	if r.URL.Path == "/api/stream" { // which begins with what happened before
		first = strings.Join(f.happened, "")
	}
	readers[frames] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(readers, frames)
		f.mu.Unlock()
	}()
	send(w, r, first, frames)
}

// send sends what there is, and then what comes.
func send(w http.ResponseWriter, r *http.Request, first string, frames <-chan string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	fmt.Fprintf(w, ": connected\n\n%s", first)
	flush := http.NewResponseController(w)
	_ = flush.Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case frame := <-frames:
			if _, err := w.Write([]byte(frame)); err != nil {
				return
			}
			if len(frames) == 0 {
				_ = flush.Flush()
			}
		}
	}
}

func (f *fake) changed() {
	snapshot := f.snapshot()
	f.mu.Lock()
	defer f.mu.Unlock()
	frame := "event: snapshot\ndata: " + f.told(snapshot) + "\n\n"
	for reader := range f.snapshots {
		reader <- frame
	}
}

// happen appends an event to the log of a run and sends it to all readers.
func (f *fake) happen(run, kind string, payload object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	log := f.logs[run]
	seq := len(log) + 1
	event := object{"schema_version": 1, "ts_wallclock": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "run_id": run, "session_ref": "local_" + run,
		"actor": "system", "visibility": "org", "type": kind, "payload": payload, "event_id": fmt.Sprintf("evt_%s_%d", run, seq)}
	f.logs[run] = append(log, event)
	frame := fmt.Sprintf("event: run\nid: c%d\ndata: %s\n\n", seq, f.told(object{"project_id": "proj_atlas", "run_id": run, "seq": seq, "line": f.transcribe(run, seq, event), "event": event}))
	f.happened = append(f.happened, frame)
	for reader := range f.live {
		reader <- frame
	}
}

// post sends a message as somebody else does, and tells all readers of it.
func (f *fake) post(author, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.messages = append(f.messages, object{"id": fmt.Sprintf("msg_%d", len(f.messages)), "created_at": f.at(0), "author_id": author, "author_role": "worker", "kind": "text", "visibility": "org", "body": body})
	for reader := range f.live {
		reader <- "event: talk\ndata: {}\n\n"
	}
}

func (f *fake) says(run, line string) {
	f.happen(run, "provider.raw", object{"stream": "stdout", "chunk": line + "\n"})
}

func (f *fake) comment(body object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	target := object{"project_id": "proj_atlas"}
	for from, to := range map[string]string{"target_agent_id": "agent_id", "target_run_id": "run_id", "target_artifact_id": "artifact_id"} {
		if body[from] != nil {
			target[to] = body[from]
		}
	}
	f.comments = append([]object{{"id": "cmt_" + strconv.Itoa(len(f.comments)), "created_at": f.at(0), "author_id": "human_ceo", "author_role": "manager", "body": body["body"], "target": target}}, f.comments...)
}

func (f *fake) commentsOn(run string) []object {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []object{}
	for _, c := range f.comments {
		if run == "" || c["target"].(object)["run_id"] == run {
			list = append(list, c)
		}
	}
	return list
}

func (f *fake) resolve(p object) object {
	f.mu.Lock()
	for i, item := range f.pending {
		if item["artifact_id"] != p["artifact_id"] {
			continue
		}
		f.pending = append(f.pending[:i:i], f.pending[i+1:]...)
		f.decisions = append([]object{{"review_id": "rev_" + strconv.Itoa(len(f.decisions)), "created_at": f.at(0), "decision": p["decision"], "actor_id": "human_ceo", "actor_role": "manager",
			"subject_kind": "memory_delta", "subject_artifact_id": item["artifact_id"], "project_id": "proj_atlas", "notes": p["notes"], "artifact_type": item["artifact_type"], "run_id": item["run_id"], "parse_error_count": 0}}, f.decisions...)
		break
	}
	if p["expect_hash"] != nil {
		f.called = append(f.called, "expect_hash")
	}
	f.mu.Unlock()
	return object{"resolved": object{"review_id": "rev_new", "decision": p["decision"], "artifact_id": p["artifact_id"]}, "snapshot": f.snapshot()}
}
