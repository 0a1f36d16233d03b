package web

// Test fixtures: a server over a workspace with a project, and clients that can send anything.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ac/company"
	"ac/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds each wait, generously enough for a busy machine.
const patience = 60 * time.Second

const project = "proj_a"

type fixture struct {
	*Server
	t    testing.TB
	dir  string
	url  string
	end  func() error // ends the server and waits for it
	http *http.Client
}

func options(dir string) Options {
	return Options{
		Env: workspace.SystemEnv(), Version: "test", Stderr: io.Discard, WorkspaceDir: dir, ProjectID: project,
		Actor:  company.ActorParams{ActorID: "human", ActorRole: "manager"},
		Limits: company.ScreenLimits{MonitorLimit: 200, ItemLimits: company.ItemLimits{PendingLimit: 200, DecisionsLimit: 200}},
		Host:   "127.0.0.1", SyncIndex: true,
	}
}

func newWorkspace(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	if err := workspace.Init(context.Background(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "work/projects/proj_a/project.yaml", "schema_version: 1\ntype: project\nid: proj_a\nname: A\nstatus: active\ncreated_at: 2026-01-02T00:00:00.000Z\n")
	return dir
}

func newServer(t testing.TB, change ...func(*Options)) *fixture {
	t.Helper()
	return serve(t, newWorkspace(t), change...)
}

func serve(t testing.TB, dir string, change ...func(*Options)) *fixture {
	t.Helper()
	o := options(dir)
	for _, fn := range change {
		fn(&o)
	}
	s, err := Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return start(t, s)
}

// start serves on the listener of s and returns its fixture.
func start(t testing.TB, s *Server) *fixture {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	transport := &http.Transport{DisableCompression: true}
	f := &fixture{Server: s, t: t, dir: s.opts.WorkspaceDir, url: "http://" + s.listener.Addr().String(), http: &http.Client{Transport: transport}}
	done := false
	f.end = func() error {
		if done {
			return nil
		}
		done = true
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			t.Fatal("the server does not end")
			return nil
		}
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := f.end(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// log appends the events with numbers in [from, to] to a run, as another program would.
func (f *fixture) log(run string, from, to int) {
	f.t.Helper()
	appendEvents(f.t, f.dir, project, run, from, to)
}

func appendEvents(t testing.TB, dir, project, run string, from, to int) {
	t.Helper()
	var text strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintf(&text, `{"schema_version":1,"event_id":"evt_%s_%d","run_id":%q,"type":"note","ts_wallclock":%q,"actor":"system","visibility":"org","payload":{"n":%d}}`+"\n",
			run, n, run, time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), n)
	}
	file := filepath.Join(dir, filepath.FromSlash(workspace.LogFile(project, run)))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if from == 1 {
		write(t, dir, workspace.RunFile(project, run), fmt.Sprintf("schema_version: 1\ntype: run\nid: %s\nproject_id: %s\nagent_id: a\nprovider: cmd\n"+
			"created_at: 2026-01-02T00:00:00.000Z\nstatus: running\ncontext_pack_id: c\nevents_relpath: x\n", run, project))
	}
	appendLine(t, dir, project, run, text.String())
}

// appendLine appends text to the log of a run, as another program would.
func appendLine(t testing.TB, dir, project, run, text string) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(dir, filepath.FromSlash(workspace.LogFile(project, run))), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// said is a response as a client received it.
type said struct {
	status int
	header http.Header
	body   string
}

// do sends a request with headers as "Name: value".
func (f *fixture) do(method, path, body string, headers ...string) said {
	f.t.Helper()
	r, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Add(name, value)
	}
	answer, err := f.http.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return said{answer.StatusCode, answer.Header, string(text)}
}

func (f *fixture) get(path string, headers ...string) said { return f.do("GET", path, "", headers...) }

// jsonRaw is short for json.RawMessage.
type jsonRaw = json.RawMessage

const isJSON = "Content-Type: application/json"

func (f *fixture) post(path, body string, headers ...string) said {
	return f.do("POST", path, body, append(headers, isJSON)...)
}

// raw sends text as is and returns everything received until the connection closes.
func (f *fixture) raw(t testing.TB, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", f.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	go func() { _, _ = io.WriteString(c, text) }() // ends with the connection
	got, _ := io.ReadAll(c)                        // a reset also ends the read
	return string(got)
}

func (f *fixture) hostport() string { return f.listener.Addr().String() }

// sse is one event of a stream. A comment sets only comment.
type sse struct{ name, id, data, comment string }

// reader receives the events of a stream.
type reader struct {
	t      testing.TB
	frames chan sse
	cancel context.CancelFunc
	header http.Header
}

func (f *fixture) open(path string, headers ...string) *reader {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	answer, err := f.http.Do(r) //nolint:bodyclose // whoever reads it closes it
	if err != nil {
		f.t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close()
		f.t.Fatalf("%s: status %d", path, answer.StatusCode)
	}
	out := &reader{t: f.t, frames: make(chan sse, 1<<14), cancel: cancel, header: answer.Header}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(out.frames)
		defer answer.Body.Close()
		out.read(answer.Body)
	}()
	f.t.Cleanup(func() {
		cancel()
		<-done
	})
	return out
}

func (r *reader) read(from io.Reader) {
	lines := bufio.NewReaderSize(from, 1<<20)
	var one sse
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "":
			if one != (sse{}) {
				r.frames <- one
			}
			one = sse{}
		case strings.HasPrefix(line, ": "):
			one.comment = value
		case name == "event":
			one.name = value
		case name == "id":
			one.id = value
		case name == "data":
			one.data = value
		}
	}
}

// next returns the next event and skips comments.
func (r *reader) next() sse {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case one, open := <-r.frames:
			if !open {
				r.t.Fatal("the stream ended")
			}
			if one.comment == "" {
				return one
			}
		case <-deadline:
			r.t.Fatal("no event")
		}
	}
}

// until reads events up to the first that fits.
func (r *reader) until(fits func(sse) bool) sse {
	r.t.Helper()
	for {
		if one := r.next(); fits(one) {
			return one
		}
	}
}

// runEvent is one event of a run as a stream sends it.
type runEvent struct {
	Project string          `json:"project_id"`
	Run     string          `json:"run_id"`
	Seq     int             `json:"seq"`
	Event   json.RawMessage `json:"event"`
}

func eventOf(t testing.TB, one sse) runEvent {
	t.Helper()
	var e runEvent
	if err := json.Unmarshal([]byte(one.data), &e); err != nil || one.name != "run" {
		t.Fatalf("%v in %+v", err, one)
	}
	return e
}

func mustJSON(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
}

// artifact writes a memory delta that waits for a decision.
func artifact(t testing.TB, dir, id, title string) {
	t.Helper()
	var text bytes.Buffer
	fmt.Fprintf(&text, "---\nschema_version: 1\ntype: memory_delta\nid: %s\ncreated_at: 2026-01-02T00:00:00.000Z\ntitle: %s\nvisibility: org\nproduced_by: human\nrun_id: run_1\ncontext_pack_id: ctx_1\n---\n\nbody\n", id, title)
	write(t, dir, "work/projects/proj_a/artifacts/"+id+".md", text.String())
}
