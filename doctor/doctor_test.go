package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ac/events"
	"ac/internal/clock"
	"ac/internal/durable/faultfs"
	"ac/internal/fault"
	"ac/internal/lock"
	"ac/internal/runtimetest"
	"ac/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(runtimetest.With(m)) }

func mendOf(t *testing.T, p Target, dry bool) RepairResult {
	t.Helper()
	mended, err := p.Repair(context.Background(), RepairOptions{DryRun: dry})
	if err != nil {
		t.Fatal(err)
	}
	return mended
}

func checkOf(r Report, id string) Check {
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id })
	if i < 0 {
		return Check{}
	}
	return r.Checks[i]
}

// TestMend repairs everything at once. The dry run changes nothing and lists the same repairs, a
// second repair finds nothing, and writing works again.
func TestMend(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	due := f.messes()
	p := f.patient()
	if err := p.Workspace.Recover(context.Background()); err == nil {
		t.Fatal("the intent does not keep anybody from writing")
	}
	f.left(".local/locks/workspace.write.lock", fmt.Sprintf(`{"pid":%d,"acquired_at":"2026-11-20T15:02:36.819Z"}`+"\n", deadPID))
	before := snapshotOf(t, f.dir)
	would := mendOf(t, p, true)
	if after := snapshotOf(t, f.dir); after != before {
		t.Errorf("the dry run changed something:\n%s\nwas\n%s", after, before)
	}
	torn := f.read(f.log())
	did := mendOf(t, p, false)
	if !did.OK {
		t.Errorf("failed: %+v", did.Repairs)
	}
	if len(did.Repairs) != due {
		t.Errorf("%d repairs instead of %d: %+v", len(did.Repairs), due, did.Repairs)
	}
	for i := range did.Repairs {
		if did.Repairs[i].Outcome != Done || i >= len(would.Repairs) || would.Repairs[i].Outcome != Planned || would.Repairs[i].Path != did.Repairs[i].Path {
			t.Errorf("did %+v, was to %+v", did.Repairs[i], would.Repairs[min(i, len(would.Repairs)-1)])
		}
	}
	if again := mendOf(t, p, false); len(again.Repairs) > 0 {
		t.Errorf("a second run mends %+v", again.Repairs)
	}
	if err := p.Workspace.Recover(context.Background()); err != nil {
		t.Errorf("nobody can write: %v", err)
	}
	report := RunChecks(context.Background(), p)
	for _, id := range []string{"workspace.schema", "locks", "journal", "leftovers", "sessions", "events.chain"} {
		if c := checkOf(report, id); c.Status != Pass {
			t.Errorf("after mending: %+v", c)
		}
	}
	kept, err := filepath.Glob(f.path(workspace.QuarantineDir + "/*.torn"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("copies of the torn line: %v (%v)", kept, err)
	}
	line, err := os.ReadFile(kept[0])
	if err != nil || !strings.HasSuffix(torn, string(line)) || len(line) == 0 || !strings.HasPrefix(f.read(f.log()), strings.TrimSuffix(torn, string(line))) {
		t.Errorf("the copy holds %q (%v)", line, err)
	}
	aside := workspace.QuarantineDir + "/" + filepath.Base(intent)
	if f.exists(intent) || f.read(aside) != blockingIntent() || !strings.Contains(f.read(aside+".reason"), "not a directory") {
		t.Error("the intent was not set aside with its reason")
	}
	if f.read(aside+".1.tree/memory.md") != "built\n" {
		t.Error("what the intent had built is lost")
	}
	if !strings.Contains(strings.Join(did.Repairs[2].Details, "\n"), "write company/aside/b.yaml, 5 bytes") {
		t.Errorf("what the intent would have done: %+v", did.Repairs[2])
	}
}

// TestMendKilled kills the repair at every seventh file system call. The next repair completes
// it, and the torn line is preserved.
func TestMendKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at += 7 {
		f := newFixture(t)
		f.messes()
		plan := faultfs.NewPlan(at, faultfs.Death)
		env := f.env
		env.OpenFS, env.PID = plan.Open, deadPID
		w, err := workspace.Open(env, f.dir)
		if err != nil {
			continue // killed before the repair began
		}
		_, _ = Target{Env: env, Dir: f.dir, RequestedDir: f.dir, Workspace: w}.Repair(context.Background(), RepairOptions{})
		hit := plan.Hit()
		if err := errors.Join(plan.CloseAll(), w.Close()); err != nil {
			t.Fatal(err)
		}
		// A minute later, the next repair runs.
		f.env.Clock = clock.New(func() time.Time { return time.Now().Add(time.Minute) }, 0)
		torn := `{"schema_version":1,"type":"run.st`
		if kept, err := filepath.Glob(f.path(workspace.QuarantineDir + "/*.torn")); err != nil || len(kept) == 0 && !strings.HasSuffix(f.read(f.log()), torn) &&
			!strings.Contains(f.read(f.log()), torn+"\n") {
			t.Fatalf("killed at call %d (%s): the torn line is lost", at, hit)
		}
		if mended := mendOf(t, f.patient(), false); !mended.OK {
			t.Fatalf("killed at call %d (%s): then %+v", at, hit, mended.Repairs)
		}
		if again := mendOf(t, f.patient(), false); len(again.Repairs) > 0 {
			t.Fatalf("killed at call %d (%s): a third run mends %+v", at, hit, again.Repairs)
		}
		if report := RunChecks(context.Background(), f.patient()); checkOf(report, "journal").Status != Pass || checkOf(report, "workspace.schema").Status != Pass {
			t.Fatalf("killed at call %d (%s): %+v", at, hit, report)
		}
		if hit == "" {
			return // there was no call left to fail
		}
	}
}

// TestMendLeavesTheLiving checks what a repair never touches: locks, temporary files and staging
// directories of live processes, and recent files.
func TestMendLeavesTheLiving(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.patient()
	young := fmt.Sprintf("company/.company.yaml.tmp-%d-1-abcdef", deadPID)
	f.put(young, "half")
	living := fmt.Sprintf("company/.company.yaml.tmp-%d-1-abcdef", os.Getpid())
	f.left(living, "half")
	odd := "company/.company.yaml.tmp-notes"
	f.left(odd, "mine")
	f.left(".local/locks/workspace.write.lock.new-abc", fmt.Sprintf(`{"pid":%d}`, os.Getpid()))
	held, err := lock.Try(p.Workspace.FS, ".local/locks/run-0123456789abcdef.lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := held.Release(); err != nil {
			t.Error(err)
		}
	})
	stage, err := p.Workspace.NewStaging()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Discard(); err != nil {
			t.Error(err)
		}
	})
	before := snapshotOf(t, f.dir)
	mended := mendOf(t, p, false)
	for _, mend := range mended.Repairs {
		if mend.Outcome != Kept {
			t.Errorf("touched: %+v", mend)
		}
	}
	if after := snapshotOf(t, f.dir); after != before {
		t.Errorf("changed:\n%s\nwas\n%s", after, before)
	}
	if c := checkOf(RunChecks(context.Background(), p), "locks"); c.Status != Pass {
		t.Errorf("a live lock is reported as dead: %+v", c)
	}
}

// TestMendWhileWriting repairs while other goroutines append and write. None of their data is
// lost.
func TestMendWhileWriting(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := context.Background()
	w := f.open(f.env)
	done := make(chan error, 2)
	const writes = 20
	go func() {
		var err error
		for i := range writes {
			draft, draftErr := w.Events.Draft(events.Draft{
				At: f.env.Clock.Now(), RunID: f.run, SessionRef: "s", Actor: "a", Visibility: "org", Type: "note",
			}, i)
			err = errors.Join(err, draftErr, w.Append(ctx, f.log(), draft))
		}
		done <- err
	}()
	go func() {
		var err error
		for i := range writes {
			_, e := w.NewTeam(ctx, fmt.Sprintf("Team %d", i))
			err = errors.Join(err, e)
		}
		done <- err
	}()
	p := f.patient()
	for range 5 {
		if mended := mendOf(t, p, false); !mended.OK || len(mended.Repairs) > 0 {
			t.Errorf("mended beside writers: %+v", mended.Repairs)
		}
		if c := checkOf(RunChecks(ctx, p), "events.chain"); c.Status != Pass {
			t.Errorf("beside writers: %+v", c)
		}
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	teams, err := w.Teams()
	if err != nil || len(teams) != writes {
		t.Errorf("%d teams (%v)", len(teams), err)
	}
	if c := checkOf(RunChecks(ctx, p), "events.chain"); c.Status != Pass {
		t.Errorf("after all: %+v", c)
	}
}

// TestMendTwiceAtOnce checks that only one process repairs at a time. A dry run needs no lock.
func TestMendTwiceAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.patient()
	held, err := lock.Try(p.Workspace.FS, repairLock)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Repair(context.Background(), RepairOptions{}); !fault.Is(err, fault.Locked) {
		t.Errorf("beside another repair: %v", err)
	}
	if _, err := p.Repair(context.Background(), RepairOptions{DryRun: true}); err != nil {
		t.Errorf("a dry run beside another repair: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	mendOf(t, p, false)
}

// TestOddFolders checks paths of every kind that are not workspaces. None hangs, and nothing is
// created.
func TestOddFolders(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	file := filepath.Join(base, "file")
	fifo := filepath.Join(base, "fifo")
	empty := filepath.Join(base, "empty")
	if err := errors.Join(os.WriteFile(file, nil, 0o600), syscall.Mkfifo(fifo, 0o600), os.Mkdir(empty, 0o750)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, fifo, empty, filepath.Join(base, "none"), filepath.Join(file, "below"), filepath.Join(base, strings.Repeat("x", 300))} {
		r := RunChecks(context.Background(), Target{Env: workspace.SystemEnv(), Dir: dir, RequestedDir: dir})
		if r.OK || checkOf(r, "workspace.schema").Status != Fail || checkOf(r, "machine.config").Status != Fail {
			t.Errorf("%s: %+v", dir, r)
		}
		if _, err := (Target{Env: workspace.SystemEnv(), Dir: dir, RequestedDir: dir}).Repair(context.Background(), RepairOptions{}); !fault.Is(err, fault.NotAWorkspace) {
			t.Errorf("%s: mending: %v", dir, err)
		}
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 3 {
		t.Errorf("made: %v (%v)", entries, err)
	}
}

// TestOddThings puts FIFOs and symlinks where files are expected.
func TestOddThings(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("half a line"), 0o600); err != nil {
		t.Fatal(err)
	}
	run2 := workspace.RunDir(f.project, "run_fifo")
	f.put(run2+"/run.yaml", strings.ReplaceAll(f.read(workspace.RunFile(f.project, f.run)), f.run, "run_fifo"))
	run3 := workspace.RunDir(f.project, "run_link")
	f.put(run3+"/run.yaml", strings.ReplaceAll(f.read(workspace.RunFile(f.project, f.run)), f.run, "run_link"))
	if err := errors.Join(
		syscall.Mkfifo(f.path(run2+"/events.jsonl"), 0o600),
		os.Symlink(outside, f.path(run3+"/events.jsonl")),
		syscall.Mkfifo(f.path(".local/locks/run-0123456789abcdef.lock"), 0o600),
		syscall.Mkfifo(f.path(fmt.Sprintf("company/.company.yaml.tmp-%d-1-abcdef", deadPID)), 0o600),
		os.Symlink(outside, f.path(".local/sessions")),
		os.Symlink(filepath.Dir(outside), f.path("org/away")),
	); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	p := f.patient()
	report := RunChecks(context.Background(), p)
	if c := checkOf(report, "events.chain"); c.Status != Warn || len(c.Details) != 2 {
		t.Errorf("chains: %+v", c)
	}
	mendOf(t, p, false)
	if text, err := os.ReadFile(outside); err != nil || string(text) != "half a line" {
		t.Errorf("outside: %q (%v)", text, err)
	}
}

func TestExamineMakesTheChecksAskedFor(t *testing.T) {
	t.Parallel()
	p := newFixture(t).patient()
	whole := RunChecks(t.Context(), p)
	for _, check := range whole.Checks {
		if !slices.Contains(Checks(), check.ID) {
			t.Errorf("%s is made, and Checks lacks it", check.ID)
		}
	}
	some := RunChecks(t.Context(), p, "locks", "providers.cli")
	var ids []string
	for _, check := range some.Checks {
		ids = append(ids, check.ID)
	}
	if want := []string{"providers.cli", "providers.protocol", "locks"}; !slices.Equal(ids, want) {
		t.Errorf("asked for locks and providers.cli, got %v, want %v", ids, want)
	}
}
