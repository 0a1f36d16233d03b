package billing

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"ac/workspace"
	"ac/workspace/doc"
)

// TestRecordLosesNothing records concurrently through several open handles on one workspace, as
// separate processes would.
func TestRecordLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := workspace.Init(t.Context(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "C"}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 5
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			w, err := workspace.Open(workspace.SystemEnv(), dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			for n := range each {
				_, err := Record(context.Background(), w, doc.Statement{
					StatementID: fmt.Sprintf("s%d.%d", i, n%4), Provider: "codex", PeriodStart: "2026-01-01", PeriodEnd: "2026-01-31",
					Currency: "USD", Source: doc.StatementManual, BilledCostUSD: float64(n),
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	all, err := Statements(w)
	if err != nil || len(all) != writers*4 {
		t.Fatalf("%d statements of %d, %v", len(all), writers*4, err)
	}
	for _, s := range all {
		if last := s.StatementID[len(s.StatementID)-1:]; last == "0" && s.BilledCostUSD != 4 {
			t.Errorf("%s was not replaced: %v", s.StatementID, s.BilledCostUSD)
		}
	}
}

func TestKeyAndPeriod(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]string{
		"codex_app_server": "codex", "Codex-App-Server": "codex", "claude-code": "claude", "claude_code": "claude",
		"gemini_cli": "gemini", "cmd": "cmd", "My-Own_One": "my-own_one",
	} {
		if got := Key(provider); got != want {
			t.Errorf("%q: %q instead of %q", provider, got, want)
		}
	}
	p := PeriodOf(doc.Statement{PeriodStart: "2026-03-01", PeriodEnd: "2026-03-31"})
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		other Period
		want  bool
	}{
		{Period{at(31, 23), at(31, 23)}, true},
		{Period{at(32, 0), time.Time{}}, false},
		{Period{time.Time{}, at(1, 0)}, true},
		{Period{time.Time{}, at(0, 23)}, false},
		{Period{}, true},
	} {
		if got := p.Overlaps(c.other); got != c.want {
			t.Errorf("%+v: %v", c.other, got)
		}
	}
}
