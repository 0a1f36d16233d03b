package migrate_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/internal/durable/faultfs"
	"ac/runs"
	"ac/workspace"
	"ac/workspace/doc"
	"ac/workspace/migrate"
)

var everyFault = flag.Bool("every-fault", false, "let every call fail in every way, instead of some calls in two ways")

const (
	oldLines = `{"type":"run.started","payload":{"b":1,"a":[1.0,1e21]},"actor":"human","visibility":"org","ts_wallclock":"2026-02-01T00:00:00.000Z"}
{"type":"note","actor":"human","visibility":"org","ts_wallclock":"2026-02-01T00:00:01.000Z","payload":"日本 <&>\u2028","session_ref":" "}
`
	deadPID = 1 << 30
)

func stage(t testing.TB, logs ...string) (w *workspace.Workspace, names []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	env := workspace.SystemEnv()
	env.LockPatience = time.Minute
	env.OpenFS = faultfs.NewPlan(0, faultfs.Broken).Open
	if err := workspace.Init(t.Context(), env, dir, workspace.InitOptions{CompanyName: "Acme"}); err != nil {
		t.Fatal(err)
	}
	for i, text := range logs {
		run := filepath.Join("work/projects/proj_a/runs", fmt.Sprintf("run_%d", i))
		names = append(names, filepath.Join(run, "events.jsonl"))
		if err := os.MkdirAll(filepath.Join(dir, run), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, names[i]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return open(t, env, dir), names
}

func open(t testing.TB, env workspace.Env, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(env, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func run(t testing.TB, w *workspace.Workspace, opts migrate.Options) migrate.Report {
	t.Helper()
	report, err := migrate.Run(t.Context(), w, opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func read(t testing.TB, w *workspace.Workspace, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sound fails the test if a log's hash chain is broken.
func sound(t testing.TB, text string) {
	t.Helper()
	report, err := events.Verify(strings.NewReader(text), nil, false, nil)
	if err != nil || len(report.VerificationIssues) > 0 {
		t.Errorf("the chain does not hold: %+v (%v)\n%s", report, err, text)
	}
}

func TestSealsAndStaysVerifiable(t *testing.T) {
	t.Parallel()
	w, names := stage(t, oldLines+"torn {", "")
	report := run(t, w, migrate.Options{})
	if report.FilesScanned != 2 || report.FilesUpdated != 1 || report.EventsRewritten != 2 || report.ParseErrors != 1 {
		t.Errorf("%+v", report)
	}
	text := read(t, w, names[0])
	sound(t, text)
	if !strings.HasSuffix(text, "\ntorn {\n") || !strings.Contains(text, `"payload":{"b":1,"a":[1,1e+21]}`) {
		t.Errorf("not as it was: %s", text)
	}
	draft, err := w.Events.Draft(events.Draft{RunID: "run_0", SessionRef: "local_run_0", Actor: "system", Visibility: "org", Type: "later"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(t.Context(), names[0], draft); err != nil {
		t.Fatal(err)
	}
	sound(t, read(t, w, names[0]))
	before := read(t, w, names[0])
	if again := run(t, w, migrate.Options{}); !again.Already {
		t.Errorf("%+v", again)
	}
	if forced := run(t, w, migrate.Options{Force: true}); forced.EventsRewritten != 0 || read(t, w, names[0]) != before {
		t.Errorf("%+v", forced)
	}
}

func TestSealsThatDoNotFit(t *testing.T) {
	t.Parallel()
	w, names := stage(t, oldLines)
	run(t, w, migrate.Options{})
	sealed := read(t, w, names[0])
	tampered := strings.Replace(sealed, `"type":"note"`, `"type":"nope"`, 1)
	cut := sealed[strings.IndexByte(sealed, '\n')+1:] // its first event is missing
	for _, c := range []struct{ name, text string }{{"tampered", tampered}, {"cut", cut}} {
		t.Run(c.name, func(t *testing.T) {
			w, names := stage(t, c.text)
			report := run(t, w, migrate.Options{})
			if now := read(t, w, names[0]); c.name == "tampered" && (report.FilesSkipped != 1 || now != c.text) {
				t.Errorf("sealed over: %+v\n%s", report, now)
			}
			report = run(t, w, migrate.Options{Force: true})
			sound(t, read(t, w, names[0]))
			if kept := read(t, w, migrate.Dir()+"/proj_a/run_0.events.jsonl"); kept != c.text {
				t.Errorf("the original is not kept: %+v\n%s", report, kept)
			}
		})
	}
}

// TestKeepsTheRecordTrue migrates a log whose head is in the run's record.
func TestKeepsTheRecordTrue(t *testing.T) {
	t.Parallel()
	for _, fits := range []bool{true, false} {
		w, names := stage(t, "")
		sealed := migrated(t, oldLines)
		head := events.Text([]byte(strings.Split(sealed, "\n")[1]), "event_hash")
		if !fits {
			head = strings.Repeat("0", 64)
		}
		// An unsealed line in front changes every later seal.
		mixed := strings.Split(oldLines, "\n")[0] + "\n" + sealed
		putRun(t, w, events.Checkpoint{Count: 3, Head: head})
		if err := os.WriteFile(filepath.Join(w.Dir(), names[0]), []byte(mixed), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, w, migrate.Options{})
		report, err := runs.VerifyLog(w, "proj_a", "run_0")
		if err != nil || len(report.VerificationIssues) > 0 || (len(report.RecordIssues) == 0) != fits {
			t.Errorf("fits %v: %+v (%v)", fits, report, err)
		}
		if kept := read(t, w, migrate.Dir()+"/proj_a/run_0.events.jsonl"); kept != mixed {
			t.Errorf("the original is not kept: %s", kept)
		}
	}
}

func migrated(t testing.TB, text string) string {
	t.Helper()
	w, names := stage(t, text)
	run(t, w, migrate.Options{})
	return read(t, w, names[0])
}

func putRun(t testing.TB, w *workspace.Workspace, c events.Checkpoint) {
	t.Helper()
	text, err := doc.RunCodec.Encode(doc.Run{
		SchemaVersion: 1, Type: "run", ID: "run_0", ProjectID: "proj_a", AgentID: "a", Provider: "cmd", CreatedAt: "2026-02-01T00:00:00.000Z",
		Status: doc.StatusRunning, ContextPackID: "ctx", EventsRelpath: "events.jsonl", Log: &c,
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(w.Dir(), "work/projects/proj_a/runs/run_0/run.yaml"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestAppendsMeanwhile appends from several workspaces while a log is migrated repeatedly.
// Nothing is lost, and the chain is intact.
func TestAppendsMeanwhile(t *testing.T) {
	t.Parallel()
	w, names := stage(t, oldLines)
	const writers, each = 3, 30
	var wg sync.WaitGroup
	for i := range writers {
		other := open(t, w.Env, w.Dir())
		wg.Go(func() {
			log := events.OpenLog(other.FS, names[0])
			for n := range each {
				draft := other.Events.Raw(events.Draft{
					RunID: "run_0", SessionRef: "s", Actor: "a", Visibility: "org", Type: fmt.Sprintf("t%d.%d", i, n), Payload: []byte("null"),
				})
				if err := log.Append(context.Background(), draft); err != nil {
					t.Error(err)
				}
			}
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 10 {
		// An unsealed line in front makes each migration rewrite everything.
		err := events.Rewrite(t.Context(), w.FS, names[0], w.TempName(names[0]), func(in io.Reader, out io.Writer) (bool, error) {
			_, err := io.Copy(out, io.MultiReader(strings.NewReader(`{"type":"front","payload":1}`+"\n"), in))
			return true, err
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, w, migrate.Options{Force: true})
	}
	wg.Wait()
	run(t, w, migrate.Options{Force: true})
	text := read(t, w, names[0])
	for i := range writers {
		for n := range each {
			if c := strings.Count(text, fmt.Sprintf(`"type":"t%d.%d"`, i, n)); c != 1 {
				t.Errorf("event %d of writer %d is there %d times", n, i, c)
			}
		}
	}
	report, err := events.Verify(strings.NewReader(text), nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, issue := range report.VerificationIssues {
		if issue.Code != "missing_key" {
			t.Errorf("%+v", issue)
		}
	}
}

// TestMigrationUnderFaults lets one call after the other fail. Either the old or the new log is
// there, and the next migration completes it, including the run's record.
func TestMigrationUnderFaults(t *testing.T) {
	t.Parallel()
	sealed := migrated(t, oldLines)
	head := events.Text([]byte(strings.Split(sealed, "\n")[1]), "event_hash")
	mixed := strings.Split(oldLines, "\n")[0] + "\n" + sealed
	kinds, step := []faultfs.Kind{faultfs.Late, faultfs.Death}, 5
	if *everyFault {
		kinds, step = []faultfs.Kind{faultfs.NoSpace, faultfs.Broken, faultfs.Short, faultfs.Late, faultfs.Death}, 1
	}
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			n := 1
			for faultAt(t, n, kind, mixed, head) && !t.Failed() {
				n += step
			}
		})
	}
}

func faultAt(t *testing.T, n int, kind faultfs.Kind, mixed, head string) bool {
	t.Helper()
	w, names := stage(t, mixed)
	putRun(t, w, events.Checkpoint{Count: 3, Head: head})
	plan := faultfs.NewPlan(n, kind)
	env := w.Env
	env.OpenFS, env.PID = plan.Open, deadPID
	faulty, err := workspace.Open(env, w.Dir())
	if err == nil {
		_, err = migrate.Run(t.Context(), faulty, migrate.Options{})
		err = errors.Join(err, faulty.Close())
	}
	if buried := plan.CloseAll(); buried != nil {
		t.Error(buried)
	}
	if plan.Hit() == "" {
		if err != nil {
			t.Fatal(err)
		}
		return false
	}
	if text := read(t, w, names[0]); text != mixed {
		sound(t, text)
	}
	old := time.Now().Add(-time.Hour)
	_ = os.Chtimes(filepath.Join(w.Dir(), ".local/locks/workspace.write.lock"), old, old) // best effort
	run(t, w, migrate.Options{})
	report, err := runs.VerifyLog(w, "proj_a", "run_0")
	if err != nil || len(report.VerificationIssues)+len(report.RecordIssues) > 0 {
		t.Errorf("%s: %+v (%v)", plan.Hit(), report, err)
	}
	if kept := read(t, w, migrate.Dir()+"/proj_a/run_0.events.jsonl"); kept != mixed {
		t.Errorf("%s: the original is not kept", plan.Hit())
	}
	if left, err := filepath.Glob(filepath.Join(w.Dir(), migrate.Dir(), "proj_a", "*.checkpoint.json")); err != nil || len(left) > 0 {
		t.Errorf("%s: left: %v (%v)", plan.Hit(), left, err)
	}
	return true
}
