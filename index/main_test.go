package index

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"ac/internal/fault"
	"ac/internal/runtimetest"
	"ac/workspace"
)

// childEnv is the environment variable that makes the test binary one of the processes that
// share an index.
const childEnv = "AC_INDEX_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(what, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	runtimetest.InMemory()
	flag.Parse()
	if !given("rapid.checks") {
		must(flag.Set("rapid.checks", fmt.Sprint(sized(60, 6))))
	}
	goleak.VerifyTestMain(m)
}

func given(name string) (found bool) {
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// sized chooses the number of tries. SQLite is some thirty times slower under the race
// detector.
func sized(much, few int) int {
	if raced {
		return few
	}
	return much
}

// child performs one operation on a workspace's index, either forever or for some rounds.
func child(what, dir string) error {
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		return err
	}
	ix := For(w)
	ctx := context.Background()
	for round := 0; what == "rebuild for ever" || what == "sync for ever" || round < sized(8, 2); round++ {
		switch what {
		case "rebuild", "rebuild for ever":
			_, err = ix.Rebuild(ctx)
		case "sync", "sync for ever":
			_, err = ix.Sync(ctx)
		case "read":
			err = ix.View(ctx, whole)
			if fault.Is(err, fault.NoIndex) {
				err = nil // before the first build
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return errors.Join(ix.Close(), w.Close())
}

// whole checks that a view is a consistent snapshot: the counts of its tables agree.
func whole(v *View) error {
	s, err := v.Stats()
	if err != nil {
		return err
	}
	runs, err := v.Monitored(RunFilter{})
	if err != nil {
		return err
	}
	var events, rows int64
	for _, r := range runs {
		events += r.Events
	}
	if err := v.conn.QueryRowContext(v.ctx, "SELECT count(*) FROM ac_events").Scan(&rows); err != nil {
		return err
	}
	if len(runs) != s.Runs || int64(s.Events) != events || rows != events || s.Runs != childRuns {
		return fmt.Errorf("half an index: %d of %d runs, %d, %d and %d events", len(runs), s.Runs, s.Events, events, rows)
	}
	return nil
}

// childRuns is the number of runs in the workspace of the processes.
const childRuns = 20
