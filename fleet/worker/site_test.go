package worker

// The folder of a worker and its processes, for tests.

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ac/fleet"
	"ac/internal/clock"
	"ac/internal/ulid"
	"ac/workspace"
	"ac/workspace/doc"
)

const testHub = "abcdefghij"

// site is the folder of a worker, its hub, and the current worker process.
type site struct {
	t       *testing.T
	hub     *fakeHub
	dir     string
	elapsed atomic.Int64 // added to the machine's own clock
	starts  string       // the file where providers record their start
	starter func(Starter) Starter
	host    func(*Host)
	stopped context.CancelFunc
	over    chan error
	folder  *Folder
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, hub: newFakeHub(t), dir: filepath.Join(t.TempDir(), "worker"), starts: filepath.Join(t.TempDir(), "starts")}
	s.configure(nil)
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// configure writes worker.yaml and the key.
func (s *site) configure(change func(*Config)) {
	s.t.Helper()
	key, err := fleet.NewKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	config := Config{
		SchemaVersion: 1, Type: "worker", ID: ulid.NewSource(time.Now).New("wkr"), Name: "w", HubID: testHub, HubKey: key.Public(), URLs: []string{"tls://127.0.0.1:1"}, Slots: 2,
	}
	if change != nil {
		change(&config)
	}
	text, err := configCodec.Encode(config)
	if err == nil {
		err = errors.Join(os.MkdirAll(s.dir, 0o700), os.WriteFile(filepath.Join(s.dir, configFile), text, 0o600), os.WriteFile(filepath.Join(s.dir, keyFile), []byte(key.Seed()+"\n"), 0o600))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// open opens the folder, without a running worker.
func (s *site) open() *Folder {
	s.t.Helper()
	folder, err := OpenFolder(s.t.Context(), workspace.SystemEnv(), s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	return folder
}

// begin starts a worker process, simulated by a goroutine.
func (s *site) begin() {
	s.t.Helper()
	s.folder = s.open()
	executable, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	var starter Starter = Supervisors{Executable: executable}
	if s.starter != nil {
		starter = s.starter(starter)
	}
	log := io.Discard
	if testing.Verbose() {
		log = s.t.Output()
	}
	host := Host{
		Connect: s.hub.connect, Starter: starter, Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "NOT_PASSED=x", "TOKEN_OF_WORKER=sesame-open"},
		Version: "test", Free: func(string) (uint64, error) { return 1 << 40, nil }, Log: slog.New(slog.NewTextHandler(log, nil)),
		Elapsed: func() time.Duration { return clock.SinceBoot() + time.Duration(s.elapsed.Load()) },
		Probe: func(context.Context, doc.Machine) map[string]fleet.ProviderProbe {
			return map[string]fleet.ProviderProbe{"codex": {OK: true}}
		},
	}
	if s.host != nil {
		s.host(&host)
	}
	w, err := Open(s.folder, host)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stopped, s.over = cancel, make(chan error, 1)
	go func() { s.over <- w.Run(ctx) }()
}

// end ends the worker process. Its sessions continue.
func (s *site) end() (err error) {
	if s.stopped == nil {
		return nil
	}
	s.stopped()
	err = <-s.over
	s.stopped = nil
	return errors.Join(err, s.folder.Close())
}

// restart ends the worker process and starts another one.
func (s *site) restart() {
	s.t.Helper()
	if err := s.end(); err != nil {
		s.t.Fatal(err)
	}
	s.begin()
}

var orders atomic.Int64

// order returns an order for a shell script.
func (s *site) order(script string) fleet.Order {
	n := orders.Add(1)
	o := fleet.Order{
		Version: 1, HubID: testHub, Epoch: 1, ProjectID: "proj", RunID: fmt.Sprintf("run_%d", n), SessionRef: fmt.Sprintf("local_run_%d", n),
		AgentID: "agent", Provider: "cmd", Mode: doc.KindCommand, Argv: []string{"/bin/sh", "-c", "echo started >> " + s.starts + "; " + script},
		LeaseS: 3600, OnCutOff: fleet.CutOffStop,
	}
	o.Attempt = fleet.Attempt(o.ProjectID, o.RunID, o.SessionRef, o.Epoch)
	return o
}

// settled waits until the hub has the end of an attempt, and returns it.
func (s *site) settled(o fleet.Order) fleet.End {
	s.t.Helper()
	s.hub.until("the end of "+o.Attempt, func() bool { return s.hub.attempts[o.Attempt].end != nil })
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return *s.hub.attempts[o.Attempt].end
}

// text returns the provider output that an attempt's drafts contain.
func (s *site) text(o fleet.Order) string {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return s.said(o)
}

// said is text for callers that hold the hub's lock.
func (s *site) said(o fleet.Order) string {
	var b strings.Builder
	for _, d := range s.hub.attempts[o.Attempt].drafts {
		var said struct{ Chunk string }
		if json.Unmarshal(d.Payload, &said) == nil {
			b.WriteString(said.Chunk)
		}
	}
	return b.String()
}

// started returns how many providers were started.
func (s *site) started() int {
	s.t.Helper()
	text, err := os.ReadFile(s.starts)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.Count(string(text), "started")
}

// files returns the files of an archive that the worker sent.
func (s *site) files(object *fleet.Object) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	if object == nil {
		s.t.Fatal("there are no outputs")
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	archive := tar.NewReader(bytes.NewReader(s.hub.objects[object.Name]))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		text, readErr := io.ReadAll(archive)
		if err := errors.Join(err, readErr); err != nil {
			s.t.Fatal(err)
		}
		found[h.Name] = string(text)
	}
}

// waitFor returns a script that waits for a file. It also ends once the file's folder is gone, so
// that a failed test leaves no session behind.
func waitFor(file string) string {
	return "while ! [ -e " + file + " ]; do [ -d " + filepath.Dir(file) + " ] || exit 1; sleep 0.02; done"
}

func touch(t *testing.T, file string) {
	t.Helper()
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
