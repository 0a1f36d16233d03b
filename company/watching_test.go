package company_test

import (
	"slices"
	"testing"

	"ac/company"
	"ac/company/orchestration"
	"ac/feed"
)

// TestWatchTellsTheEnd checks that WatchRun delivers a run's last event even if the run ends while
// its log is read. Its record then already says that it is over.
func TestWatchTellsTheEnd(t *testing.T) {
	t.Parallel()
	b := newBystander(t)
	discard := func(run string) {
		b.must("run.discard", `{"workspace_dir":"DIR","project_id":"PROJECT","run_id":"`+run+`"}`)
	}
	watched := func(run string, settled func()) (told []int64) {
		p := orchestration.WatchRunParams{
			NamedRunParams: orchestration.NamedRunParams{Dir: company.Dir{WorkspaceDir: b.dir}, ProjectID: b.project, RunID: run}, Settled: settled,
			Deliver: func(n feed.TranscriptNotification) error {
				told = append(told, n.Seq)
				return nil
			},
		}
		if _, err := company.Do(t.Context(), b.all, orchestration.Operations.WatchRun, p); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		return told
	}
	before := b.run()
	discard(before)
	want := watched(before, nil)
	if !slices.Contains(want, 2) {
		t.Fatalf("the end is not told: %v", want)
	}
	during := b.run()
	if got := watched(during, func() { discard(during) }); !slices.Contains(got, 2) {
		t.Errorf("%v in place of %v", got, want)
	}
}
