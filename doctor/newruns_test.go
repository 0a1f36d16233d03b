package doctor

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"ac/workspace"
)

var createdAt = regexp.MustCompile(`created_at: \S+`)

// TestNewRuns checks that old runs that were never launched are reported, and that a repair stops
// them and no other runs.
func TestNewRuns(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	record := f.read(workspace.RunFile(f.project, f.run))
	put := func(id, text string) {
		f.put(workspace.RunFile(f.project, id), strings.ReplaceAll(text, f.run, id))
		f.put(workspace.LogFile(f.project, id), "")
	}
	old := createdAt.ReplaceAllString(record, "created_at: 2026-01-02T03:04:05.678Z")
	put("run_old", old)
	put("run_launched", old+"spec:\n  kind: command\n  argv: [x]\n")
	put("run_over", strings.Replace(old, "status: running", "status: ended", 1))
	check := checkOf(RunChecks(context.Background(), f.patient()), "runs.new")
	if check.Status != Warn || len(check.Details) != 1 || !strings.Contains(check.Details[0], "run_old") {
		t.Fatalf("%+v", check)
	}
	mended, err := f.patient().Repair(context.Background(), RepairOptions{})
	if err != nil || !mended.OK {
		t.Fatalf("%+v %v", mended, err)
	}
	for id, want := range map[string]string{"run_old": "status: stopped", "run_launched": "status: running", "run_over": "status: ended", f.run: "status: running"} {
		if text := f.read(workspace.RunFile(f.project, id)); !strings.Contains(text, want) {
			t.Errorf("%s is not %s:\n%s", id, want, text)
		}
	}
	if check := checkOf(RunChecks(context.Background(), f.patient()), "runs.new"); check.ID != "" {
		t.Errorf("%+v", check)
	}
}
