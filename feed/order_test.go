package feed

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestExactlyOnce subscribes at random moments, with random filters and limits,
// while several writers append to several runs. The events that each subscription
// gets of each run must be a suffix of the matching events in the file: in order,
// without a gap or repetition, with the text and number of each line.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	for round := range uint64(3) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			random := rand.New(rand.NewPCG(round, 1))
			runs := []string{"run_0", "run_1", "run_2", "run_3"}
			var writers sync.WaitGroup
			step := make(chan struct{}) // a value lets one line through, closing it all lines
			for w := range 6 {
				writers.Go(func() { writeMany(f, runs, round*10+uint64(w), step) })
			}
			var specs []Spec
			floors := map[string]int{}
			for i := range 16 {
				for range random.IntN(80) {
					step <- struct{}{}
				}
				spec := randomSpec(random, i)
				written := len(wanted(t, f, spec, "")) // a lower bound
				f.subscribe(spec)
				specs, floors[spec.ID] = append(specs, spec), min(written, spec.Backfill)
			}
			close(step)
			writers.Wait()
			for _, run := range runs {
				f.write("p", run, line(run, "end", 1_000_000))
			}
			for _, spec := range specs {
				checkSuffixes(t, f, spec, runs, floors[spec.ID])
			}
		})
	}
}

func randomSpec(random *rand.Rand, i int) Spec {
	spec := Spec{ID: fmt.Sprintf("sub_%d", i)}
	if random.IntN(2) == 0 {
		spec.Types = []string{"a", "end"}
	}
	if random.IntN(3) == 0 {
		spec.Run = fmt.Sprintf("run_%d", random.IntN(4))
	}
	if random.IntN(3) > 0 {
		spec.Backfill = 1 + random.IntN(40)
	}
	return spec
}

// writeMany appends lines of all kinds to random runs, one write per step.
func writeMany(f *fixture, runs []string, seed uint64, step <-chan struct{}) {
	random := rand.New(rand.NewPCG(seed, 2))
	for n := range 150 {
		<-step
		run := runs[random.IntN(len(runs))]
		id := int(seed)*1000 + n
		switch random.IntN(40) {
		case 0, 3, 4:
			f.write("p", run, "\n  \n")
		case 1, 5, 6:
			f.write("p", run, "[1,2]\n\"text\"\n{\"type\":\"a\"\n")
		case 2:
			f.write("p", run, strings.TrimSuffix(line(run, "b", id), "}\n")+`,"x":"`+strings.Repeat("y", 70_000)+"\"}\r\n")
		default:
			f.write("p", run, line(run, []string{"a", "b"}[random.IntN(2)], id))
		}
	}
}

// entry is an event in a file.
type entry struct {
	seq  int64
	text string
}

// wanted lists the events in the files that match a subscription, of one run or, if
// run is "", of all.
func wanted(t testing.TB, f *fixture, spec Spec, run string) (entries []entry) {
	t.Helper()
	for i := range 4 {
		name := fmt.Sprintf("run_%d", i)
		if (run != "" && run != name) || (spec.Run != "" && spec.Run != name) {
			continue
		}
		text, err := os.ReadFile(f.file("p", name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		seq := int64(0)
		for line := range strings.Lines(string(text)) {
			trimmed := strings.TrimSpace(line)
			if trimmed == "" || !strings.HasSuffix(line, "\n") {
				continue
			}
			seq++
			var event struct{ Type string }
			if json.Unmarshal([]byte(trimmed), &event) == nil && (spec.Types == nil || event.Type != "b") {
				entries = append(entries, entry{seq, trimmed})
			}
		}
	}
	return entries
}

func checkSuffixes(t *testing.T, f *fixture, spec Spec, runs []string, floor int) {
	t.Helper()
	total := 0
	for _, run := range runs {
		want := wanted(t, f, spec, run)
		if len(want) == 0 {
			continue
		}
		f.seqs(t, spec.ID, run, want[len(want)-1].seq)
		var got []entry
		for _, n := range f.got(spec.ID) {
			if n.run == run {
				got = append(got, entry{n.Seq, string(n.Event)})
			}
		}
		total += len(got)
		want = want[max(0, len(want)-len(got)):]
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("%+v, %s (want -, got +):\n%.3000s", spec, run, diff)
		}
	}
	if total < floor {
		t.Errorf("%+v: %d events, of the backfill alone %d were expected", spec, total, floor)
	}
}
