package supervisor_test

// Sessions from the launch to the end, with real processes.

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ac/events"
	"ac/internal/fault"
	"ac/internal/proc/proctest"
	"ac/runs"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

var large = flag.Bool("large", false, "run the tests with 100 MB of output too")

func code(record doc.Session) int {
	if record.ExitCode == nil {
		return -1
	}
	return *record.ExitCode
}

func signalOf(record doc.Session) string {
	if record.Signal == nil {
		return ""
	}
	return *record.Signal
}

// chunks joins the logged output of a stream.
func (s *stage) chunks(order session.Order, stream string) string {
	s.t.Helper()
	var b strings.Builder
	for _, line := range s.log(order) {
		var event struct {
			Type    string
			Payload struct{ Stream, Chunk string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			s.t.Fatal(err)
		}
		if event.Type == events.ProviderRaw && event.Payload.Stream == stream {
			b.WriteString(event.Payload.Chunk)
		}
	}
	return b.String()
}

func TestEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, c := range []struct {
		words  []string
		status string
		code   int
		signal string
	}{
		{[]string{"print", "out", "err"}, doc.StatusEnded, 0, ""},
		{[]string{"exit", "7"}, doc.StatusFailed, 7, ""},
		{[]string{"die", "9"}, doc.StatusFailed, -1, "SIGKILL"},
		{[]string{"die", "15"}, doc.StatusFailed, -1, "SIGTERM"},
	} {
		order := s.run(c.words...)
		record := s.execute(order)
		if record.Status != c.status || code(record) != c.code || signalOf(record) != c.signal {
			t.Errorf("%v: %s %d %q (%s)", c.words, record.Status, code(record), signalOf(record), record.Error)
		}
		if c.words[0] == "print" {
			if s.output(order, "stdout.txt") != "out" || s.output(order, "stderr.txt") != "err" {
				t.Error("the output files are wrong")
			}
			if s.chunks(order, "stdout") != "out" || s.chunks(order, "stderr") != "err" {
				t.Error("the events of the output are wrong")
			}
		}
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, text := range []*string{nil, new(""), new("hello"), new(strings.Repeat("0123456789abcdef", 1<<16))} {
		order := s.run("cat")
		order.Stdin = text
		record := s.execute(order)
		want := ""
		if text != nil {
			want = *text
		}
		if record.Status != doc.StatusEnded || s.output(order, "stdout.txt") != want || s.output(order, "stderr.txt") != strconv.Itoa(len(want)) {
			t.Errorf("%d bytes of input: %s %s, provider saw %s", len(want), record.Status, record.Error, s.output(order, "stderr.txt"))
		}
		if text != nil && s.output(order, "stdin.txt") != want {
			t.Error("stdin.txt is wrong")
		}
	}
	order := s.run("exit", "0") // reads nothing
	order.Stdin = new(strings.Repeat("x", 1<<20))
	if record := s.execute(order); record.Status != doc.StatusEnded {
		t.Errorf("a provider that reads nothing: %s %s", record.Status, record.Error)
	}
}

func TestEnvironmentAndPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("env")
	order.Env = map[string]string{"ADDED": "a=b", "API_TOKEN": "hush"}
	s.execute(order)
	if got, want := s.output(order, "stdout.txt"), "a=b\nyes\n"+s.w.Dir(); got != want {
		t.Errorf("without a repository: %q", got)
	}
	record, err := s.w.Read(workspace.RunFile(order.ProjectID, order.RunID))
	if err != nil || strings.Contains(string(record), "hush") {
		t.Errorf("the run's record tells a secret (%v)", err)
	}
	root := workspace.Canonical(t.TempDir())
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.SetRepoRoot(s.ctx, "repo", root, false); err != nil {
		t.Fatal(err)
	}
	order = s.run("env")
	order.RepoID, order.WorkdirRel = "repo", "sub"
	s.execute(order)
	if got := s.output(order, "stdout.txt"); !strings.HasSuffix(got, "\n"+filepath.Join(root, "sub")) {
		t.Errorf("in a repository: %q", got)
	}
}

// TestStopWithoutSocket stops sessions whose supervisor cannot be reached, as from
// another login: by the marker alone, and by session.Stop.
func TestStopWithoutSocket(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(s *stage, order session.Order) error{
		"the marker alone": func(s *stage, order session.Order) error {
			marker := filepath.Join(s.w.Dir(), filepath.FromSlash(workspace.RunDir(order.ProjectID, order.RunID)), "outputs", "stop_requested.flag")
			return os.WriteFile(marker, nil, 0o600)
		},
		"a stop": func(s *stage, order session.Order) error {
			record := s.record(order)
			if err := os.Remove(filepath.Join(record.SocketDir, record.Socket+".sock")); err != nil {
				return err
			}
			_, err := session.Stop(s.ctx, s.w, order.SessionRef)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			order := s.order("sh", "-c", "echo here; sleep 60")
			s.launch(order)
			s.until("it runs", func() bool { return strings.Contains(strings.Join(s.log(order), "\n"), `"chunk":"here`) })
			if err := stop(s, order); err != nil {
				t.Fatal(err)
			}
			if record := s.collect(order); record.Status != doc.StatusStopped {
				t.Errorf("%+v", record)
			}
		})
	}
}

// TestNoSockets checks that a provider inherits no socket. With one it could impersonate its
// guard.
func TestNoSockets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("files")
	s.execute(order)
	if got := s.output(order, "stdout.txt"); got != "" {
		t.Errorf("sockets: %s", got)
	}
}

// TestOddOutput checks that unusual output is recorded: invalid UTF-8, deeply nested JSON and
// very long lines.
func TestOddOutput(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("split")
	s.execute(order)
	if got := s.chunks(order, "stdout"); got != "caf\u00e9 \ufffd \ufffd" && got != "caf\u00e9 \ufffd \ufffd\ufffd" {
		t.Errorf("cut sequences: %q", got)
	}
	if got := s.output(order, "stdout.txt"); got != "caf\xc3\xa9 \xff \xe2\x82" {
		t.Errorf("raw bytes: %q", got)
	}
	order = s.run("nest", "8000")
	if record := s.execute(order); record.Status != doc.StatusEnded || len(s.chunks(order, "stdout")) != 16001 {
		t.Errorf("deep JSON: %s %s", record.Status, record.Error)
	}
	sizes := []int{20 << 20}
	if *large {
		sizes = append(sizes, 100<<20)
	}
	for _, size := range sizes {
		order = s.run("flood", strconv.Itoa(size))
		record := s.execute(order)
		if got := len(s.chunks(order, "stdout")); record.Status != doc.StatusEnded || got != size || len(s.output(order, "stdout.txt")) != size {
			t.Errorf("%d bytes on a line: %s %s, %d recorded", size, record.Status, record.Error, got)
		}
	}
}

// TestStartFailures checks that a launch that cannot start is a failed run, and that its
// run.failed event has the reason.
func TestStartFailures(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	root, outside := t.TempDir(), t.TempDir()
	plain := filepath.Join(root, "plain")
	if err := errors.Join(os.WriteFile(plain, []byte("text"), 0o600), os.Symlink(outside, filepath.Join(root, "out"))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.w.SetRepoRoot(s.ctx, "repo", root, false); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(root, "broken")
	if err := proctest.WriteProgram(broken, []byte("\x7fELF nonsense")); err != nil {
		t.Fatal(err)
	}
	long := make([]string, 9)
	for i := range long {
		long[i] = strings.Repeat("x", 140_000)
	}
	for name, prepare := range map[string]func(*session.Order){
		"missing":            func(o *session.Order) { o.Argv = []string{"/no/such/program"} },
		"not in PATH":        func(o *session.Order) { o.Argv = []string{"no-such-program-anywhere"} },
		"not executable":     func(o *session.Order) { o.Argv = []string{plain} },
		"no program":         func(o *session.Order) { o.Argv = []string{broken} },
		"a directory":        func(o *session.Order) { o.Argv = []string{root} },
		"too long":           func(o *session.Order) { o.Argv = append(o.Argv, long...) },
		"unknown repository": func(o *session.Order) { o.RepoID = "nobody" },
		"missing directory":  func(o *session.Order) { o.RepoID, o.WorkdirRel = "repo", "nowhere" },
		"a file as place":    func(o *session.Order) { o.RepoID, o.WorkdirRel = "repo", "plain" },
		"leads out":          func(o *session.Order) { o.RepoID, o.WorkdirRel = "repo", "out" },
	} {
		order := s.run("print", "a", "b")
		prepare(&order)
		record := s.execute(order)
		if record.Status != doc.StatusFailed || record.Error == "" || record.ExitCode != nil || record.Signal != nil {
			t.Errorf("%s: %+v", name, record)
		}
		var last struct{ Payload map[string]any }
		lines := s.log(order)
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Payload["error"] != record.Error ||
			last.Payload["stopped"] != false || last.Payload["budget_exceeded"] != false {
			t.Errorf("%s: payload %v (%v)", name, last.Payload, err)
		}
	}
}

func TestOddReferences(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, ref := range []string{"my ref/\u00e9%..", "..", ".", "a\nb", "..\\..", "~!*'()", strings.Repeat("z", 200)} {
		order := s.run("print", "a", "b")
		order.SessionRef = ref
		if record := s.execute(order); record.Status != doc.StatusEnded || record.Ref != ref {
			t.Errorf("%q: %s %s", ref, record.Status, record.Error)
		}
	}
}

// TestTwoLaunches launches one run several times concurrently. One launch wins; the others are
// refused and change nothing.
func TestTwoLaunches(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("sleep")
	const rivals = 4
	results := make(chan error, rivals)
	for i := range rivals {
		rival := order
		if i%2 == 1 {
			rival.SessionRef += "_other"
		}
		go func() { results <- s.launcher.Launch(s.ctx, rival) }()
	}
	won := 0
	for range rivals {
		if err := <-results; err == nil {
			won++
		} else if !fault.Is(err, fault.Conflict) {
			t.Errorf("a refusal: %v", err)
		}
	}
	records, err := session.All(s.w)
	if err != nil || won != 1 || len(records) != 1 {
		t.Fatalf("%d launches won, %d records (%v)", won, len(records), err)
	}
	order.SessionRef = records[0].Ref
	if _, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil {
		t.Fatal(err)
	}
	if record := s.collect(order); record.Status != doc.StatusStopped {
		t.Errorf("%+v", record)
	}
	executing := 0
	for _, line := range s.log(order) {
		if events.Type([]byte(line)) == events.RunExecuting {
			executing++
		}
	}
	if executing != 1 {
		t.Errorf("executed %d times", executing)
	}
	if err := s.launcher.Launch(s.ctx, order); !fault.Is(err, fault.Conflict) {
		t.Errorf("a run that is over was launched: %v", err)
	}
}

// TestStopLadder checks the escalation of a stop. A provider that obeys SIGTERM ends at once; a
// stubborn one is killed after a second and a half.
func TestStopLadder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how    string
		signal string
		least  time.Duration
	}{{"sleep", "SIGTERM", 0}, {"stubborn", "SIGKILL", 1500 * time.Millisecond}} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			order := s.run(c.how)
			s.launch(order)
			s.ready(order, 1)
			began := time.Now()
			now, err := session.Stop(s.ctx, s.w, order.SessionRef)
			if err != nil || now.PID == nil {
				t.Fatalf("%+v (%v)", now, err)
			}
			record := s.collect(order)
			took := time.Since(began)
			if record.Status != doc.StatusStopped || signalOf(record) != c.signal || took < c.least {
				t.Errorf("%s %s after %s (%s)", record.Status, signalOf(record), took, record.Error)
			}
			if again, err := session.Stop(s.ctx, s.w, order.SessionRef); err != nil || again.Status != doc.StatusStopped {
				t.Errorf("a second stop: %+v (%v)", again, err)
			}
		})
	}
}

// TestRefusedOrders checks that an order is refused before anything is written if the run's
// record could not hold it.
func TestRefusedOrders(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, argv := range [][]string{{}, {""}, {"", "true"}, {"true", "a\x00b"}} {
		order := s.order(argv...)
		if err := s.launcher.Launch(s.ctx, order); !fault.Is(err, fault.InvalidParams) {
			t.Errorf("%q: %v", argv, err)
		}
		run, err := runs.Load(s.w, s.project, order.RunID)
		if err != nil || run.Status != doc.StatusRunning || run.Spec != nil {
			t.Errorf("%q: %+v (%v)", argv, run, err)
		}
	}
	if records, err := session.All(s.w); err != nil || len(records) > 0 {
		t.Errorf("records: %+v (%v)", records, err)
	}
}

// TestEmptyWords checks that arguments may be empty, which some CLIs require. An empty argument
// is passed on, and the record can be read back.
func TestEmptyWords(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("print", "", "b")
	record := s.execute(order)
	run, err := runs.Load(s.w, s.project, order.RunID)
	if err != nil || record.Status != doc.StatusEnded || s.output(order, "stdout.txt") != "" || !slices.Equal(run.Spec.Argv, order.Argv) {
		t.Errorf("%s, %+v (%v)", record.Status, run.Spec, err)
	}
}

// TestLimit checks that a provider over its time limit is ended with all its descendants. The
// session fails whatever the exit code is.
func TestLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, words := range [][]string{{"sleep"}, {"stubborn"}, {"family"}, {"yielding"}} {
		order := s.run(words...)
		order.LimitMS = 300
		record := s.execute(order)
		if record.Status != doc.StatusFailed || !strings.Contains(record.Error, "limit of 300ms") {
			t.Errorf("%v: %s %d %q: %s", words, record.Status, code(record), signalOf(record), record.Error)
		}
		if words[0] == "yielding" && code(record) != 0 {
			t.Errorf("%v ended with %d %q", words, code(record), signalOf(record))
		}
	}
	order := s.run("exit", "0")
	order.LimitMS = patience.Milliseconds()
	if record := s.execute(order); record.Status != doc.StatusEnded {
		t.Errorf("within its limit: %s: %s", record.Status, record.Error)
	}
}

// TestUnreadableRun checks that nothing is executed for a run that does not exist.
func TestUnreadableRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	order := s.run("print", "a", "b")
	order.RunID = "run_missing"
	if err := s.launcher.Launch(s.ctx, order); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
	if _, err := runs.Load(s.w, s.project, order.RunID); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}
