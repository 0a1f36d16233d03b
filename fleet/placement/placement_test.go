package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fine returns a worker that accepts the launch that asked returns.
func fine(id string) Worker {
	return Worker{
		ID: id, Name: id, State: Active, Online: true, Labels: []string{"os=linux"}, Providers: []string{"codex"},
		Secrets: []string{"KEY"}, Orders: Versions{1, 1}, DiskFree: 10, MinFree: 5, Slots: 2,
	}
}

func asked() Launch {
	return Launch{ID: "l", Provider: "codex", Labels: []string{"os=linux"}, Secrets: []string{"KEY"}, Orders: Versions{1, 2}}
}

func TestCheckNamesTheReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(w *Worker, l *Launch)
		want   Why
	}{
		"fits":                      {func(*Worker, *Launch) {}, Fits},
		"a command fits everywhere": {func(w *Worker, l *Launch) { w.Providers, l.Provider = nil, "cmd" }, Fits},
		"disk at the limit":         {func(w *Worker, _ *Launch) { w.DiskFree = w.MinFree }, Fits},
		"passed over until now":     {func(w *Worker, _ *Launch) { w.Starts.UntilMS = 100 }, Fits},
		"invited":                   {func(w *Worker, _ *Launch) { w.State = Invited }, WhyOffline},
		"offline":                   {func(w *Worker, _ *Launch) { w.Online = false }, WhyOffline},
		"draining":                  {func(w *Worker, _ *Launch) { w.State = Draining }, WhyDraining},
		"revoked and offline":       {func(w *Worker, _ *Launch) { w.State, w.Online = Revoked, false }, WhyRevoked},
		"labels":                    {func(_ *Worker, l *Launch) { l.Labels = append(l.Labels, "gpu") }, WhyLabels},
		"provider":                  {func(_ *Worker, l *Launch) { l.Provider = "claude" }, WhyProvider},
		"secret":                    {func(_ *Worker, l *Launch) { l.Secrets = []string{"OTHER"} }, WhySecret},
		"slots":                     {func(w *Worker, _ *Launch) { w.Used = 2 }, WhySlots},
		"more used than slots":      {func(w *Worker, _ *Launch) { w.Used = 5 }, WhySlots},
		"disk":                      {func(w *Worker, _ *Launch) { w.DiskFree = 4 }, WhyDisk},
		"not heard of yet":          {func(w *Worker, _ *Launch) { w.Orders, w.Online, w.Labels = Versions{}, false, nil }, WhyOffline},
		"older worker":              {func(_ *Worker, l *Launch) { l.Orders = Versions{2, 3} }, WhyVersion},
		"newer worker":              {func(w *Worker, _ *Launch) { w.Orders = Versions{3, 4} }, WhyVersion},
		"failing":                   {func(w *Worker, _ *Launch) { w.Starts.UntilMS = 101 }, WhyFailing},
		"under pressure":            {func(w *Worker, l *Launch) { w.Cooling = []string{l.Provider} }, WhyFailing},
		"another one under it":      {func(w *Worker, _ *Launch) { w.Cooling = []string{"other"} }, Fits},
		"picked elsewhere":          {func(_ *Worker, l *Launch) { l.Only = "b" }, WhyProvider},
		"picked":                    {func(w *Worker, l *Launch) { l.Only = w.ID }, Fits},
		"what stays comes first":    {func(w *Worker, l *Launch) { w.Used, w.Online, l.Provider = 2, false, "claude" }, WhyProvider},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, l := fine("a"), asked()
			c.change(&w, &l)
			if got := Check(w, l, 100); got != c.want {
				t.Errorf("Check = %q, want %q", got, c.want)
			}
		})
	}
}

func TestPickPrefersByTheFirstDifference(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(a, b *Worker, l *Launch)
		want   string
	}{
		"id":                       {func(_, _ *Worker, _ *Launch) {}, "a"},
		"longest without":          {func(a, _ *Worker, _ *Launch) { a.LastPlacedMS = 1 }, "b"},
		"smaller share":            {func(a, b *Worker, _ *Launch) { a.Used, a.Slots, b.Used, b.Slots, b.LastPlacedMS = 1, 2, 3, 8, 9 }, "b"},
		"mirror":                   {func(_, b *Worker, l *Launch) { l.RepoID, b.Repos, b.Used = "r", []string{"r"}, 1 }, "b"},
		"earlier session":          {func(a, _ *Worker, l *Launch) { l.RepoID, a.Repos, l.Earlier = "r", []string{"r"}, "b" }, "b"},
		"named":                    {func(_, _ *Worker, l *Launch) { l.Earlier, l.Named = "a", "b" }, "b"},
		"did not claim":            {func(_, _ *Worker, l *Launch) { l.Named, l.Last = "a", []string{"a"} }, "b"},
		"did not claim, but alone": {func(_, b *Worker, l *Launch) { l.Last, b.Online = []string{"a"}, false }, "a"},
		"named is full":            {func(_, b *Worker, l *Launch) { l.Named, b.Used = "b", 2 }, "a"},
		"waits for its own":        {func(_, b *Worker, l *Launch) { l.Earlier, l.BoundUntilMS, b.Online = "b", 101, false }, ""},
		"waited long enough":       {func(_, b *Worker, l *Launch) { l.Earlier, l.BoundUntilMS, b.Online = "b", 100, false }, "a"},
		"its own never returns":    {func(_, b *Worker, l *Launch) { l.Earlier, l.BoundUntilMS, b.State = "b", 101, Revoked }, "a"},
		"its own is there":         {func(_, _ *Worker, l *Launch) { l.Earlier, l.BoundUntilMS, l.Named = "b", 101, "a" }, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, l := fine("a"), fine("b"), asked()
			c.change(&a, &b, &l)
			for _, workers := range [][]Worker{{a, b}, {b, a}} {
				got, ok := Pick(workers, l, 100)
				if got.ID != c.want || ok != (c.want != "") {
					t.Errorf("Pick = %q, %v, want %q", got.ID, ok, c.want)
				}
			}
		})
	}
}

func TestHopelessOnlyWithoutReasonsThatPass(t *testing.T) {
	t.Parallel()
	full, away, other := fine("a"), fine("b"), fine("c")
	full.Used, away.Online, other.Labels = 2, false, nil
	if CannotFit([]Worker{full}, asked(), 0) || CannotFit([]Worker{other, away}, asked(), 0) || CannotFit([]Worker{fine("d")}, asked(), 0) {
		t.Error("a launch that may be served later is hopeless")
	}
	if !CannotFit([]Worker{other}, asked(), 0) || !CannotFit(nil, asked(), 0) {
		t.Error("a launch that no worker can ever take has hope")
	}
	want := []Refusal{{"a", "a", WhySlots}, {"b", "b", WhyOffline}, {"c", "c", WhyLabels}}
	if diff := cmp.Diff(want, Refusals([]Worker{other, away, full, fine("d")}, asked(), 0)); diff != "" {
		t.Error(diff)
	}
}

func TestFailingStartsPassAWorkerOver(t *testing.T) {
	t.Parallel()
	var s Starts
	var away []int64
	for range 9 {
		s = s.After(false, 1000)
		away = append(away, max(0, s.UntilMS-1000)/1000)
	}
	if want := []int64{0, 0, 60, 120, 240, 480, 900, 900, 900}; !slices.Equal(away, want) {
		t.Errorf("passed over for %v s, want %v", away, want)
	}
	if s = s.After(true, 1000); s != (Starts{}) {
		t.Errorf("a start that succeeded leaves %+v", s)
	}
}

// few draws up to two of the words.
func few(t *rapid.T, label string, words ...string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 2, rapid.ID[string]).Draw(t, label)
}

func anyWorker(t *rapid.T, id string) Worker {
	small := func(label string, low, high int) int { return rapid.IntRange(low, high).Draw(t, label) }
	return Worker{
		ID: id, Name: id, State: rapid.SampledFrom([]State{Active, Active, Active, Active, Draining, Revoked, Invited}).Draw(t, "state"),
		Online: small("online", 0, 5) > 0, Labels: few(t, "labels", "x", "y"), Providers: append(few(t, "providers", "p", "q"), "codex"),
		Secrets: append(few(t, "secrets", "s", "r"), "KEY"), Orders: Versions{1, small("orders", 1, 2)},
		DiskFree: int64(small("disk", 0, 9)), MinFree: 1, Slots: small("slots", 0, 4), Used: small("used", 0, 3),
		Repos: few(t, "repos", "one", "two"), LastPlacedMS: int64(small("placed", 0, 3)),
		Cooling: few(t, "cooling", "p", "q"), Starts: Starts{UntilMS: int64(small("until", 0, 1) * small("late", 0, 60))},
	}
}

func anyLaunch(t *rapid.T, id string, ids []string) Launch {
	one := func(label string, of ...string) string {
		return rapid.SampledFrom(append([]string{""}, of...)).Draw(t, label)
	}
	return Launch{
		ID: id, Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Arrival: rapid.Int64Range(0, 9).Draw(t, "arrival"),
		Provider: rapid.SampledFrom([]string{"cmd", "codex", "codex", "p"}).Draw(t, "provider"), Labels: few(t, "want", "x"),
		Secrets: few(t, "need", "KEY"), RepoID: one("repo", "one", "two"), Orders: Versions{rapid.IntRange(1, 2).Draw(t, "order"), 2},
		Named: one("named", ids...), Earlier: one("earlier", ids...), BoundUntilMS: rapid.Int64Range(0, 80).Draw(t, "bound"),
		Last: few(t, "last", ids...), Only: rapid.SampledFrom(append([]string{"", "", "", "", "", ""}, ids...)).Draw(t, "only"),
	}
}

// fits restates the contract's rule, one condition after the other.
func fits(w Worker, l Launch, now int64) bool {
	has := func(list []string, s string) bool {
		return strings.Contains(" "+strings.Join(list, " ")+" ", " "+s+" ")
	}
	for _, label := range l.Labels {
		if !has(w.Labels, label) {
			return false
		}
	}
	for _, secret := range l.Secrets {
		if !has(w.Secrets, secret) {
			return false
		}
	}
	version := false
	for v := l.Orders.Min; v <= l.Orders.Max; v++ {
		version = version || (v >= w.Orders.Min && v <= w.Orders.Max)
	}
	return w.State == "active" && w.Online && (l.Provider == "cmd" || has(w.Providers, l.Provider)) && version &&
		w.DiskFree >= w.MinFree && w.Used < w.Slots && now >= w.Starts.UntilMS && !has(w.Cooling, l.Provider) && (l.Only == "" || l.Only == w.ID)
}

// rank returns a string that sorts lower for a better worker.
func rank(w Worker, l Launch) string {
	bit := func(good bool) string {
		if good {
			return "0"
		}
		return "1"
	}
	share := 12 * w.Used / w.Slots // exact for 1 to 4 slots
	return bit(!slices.Contains(l.Last, w.ID)) + bit(w.ID == l.Named) + bit(w.ID == l.Earlier) +
		bit(l.RepoID != "" && slices.Contains(w.Repos, l.RepoID)) + string(rune('a'+share)) + string(rune('0'+w.LastPlacedMS)) + w.ID
}

// TestAssignModel compares Assign with a model that reconsiders everything after each placement.
func TestAssignModel(t *testing.T) {
	t.Parallel()
	const now = 5 // becomes the LastPlacedMS of chosen workers, which rank encodes as one character
	rapid.Check(t, func(t *rapid.T) {
		var workers []Worker
		ids := []string{"a", "b", "c", "d"}[:rapid.IntRange(1, 4).Draw(t, "workers")]
		for _, id := range ids {
			workers = append(workers, anyWorker(t, id))
		}
		var waiting []Launch
		for _, id := range []string{"1", "2", "3", "4", "5", "6"}[:rapid.IntRange(0, 6).Draw(t, "launches")] {
			waiting = append(waiting, anyLaunch(t, id, ids))
		}
		got := Assign(workers, waiting, now)
		if diff := cmp.Diff(model(slices.Clone(workers), slices.Clone(waiting), now), got); diff != "" {
			t.Fatalf("workers %+v\nlaunches %+v\n%s", workers, waiting, diff)
		}
		for _, l := range waiting {
			_, ok := Pick(workers, l, now)
			if ok && CannotFit(workers, l, now) {
				t.Fatalf("a launch is placed that is hopeless: %+v", l)
			}
		}
	})
}

func model(workers []Worker, waiting []Launch, now int64) (assigned []Assignment) {
	for {
		next, to := -1, -1
		for i, l := range waiting {
			at := best(workers, l, now)
			if at < 0 {
				continue
			}
			sooner := next < 0 || l.Priority > waiting[next].Priority || (l.Priority == waiting[next].Priority && (l.Arrival < waiting[next].Arrival ||
				(l.Arrival == waiting[next].Arrival && l.ID < waiting[next].ID)))
			if sooner {
				next, to = i, at
			}
		}
		if next < 0 {
			return assigned
		}
		assigned = append(assigned, Assignment{waiting[next].ID, workers[to].ID})
		workers[to].Used++
		workers[to].LastPlacedMS = now
		waiting = slices.Delete(waiting, next, next+1)
	}
}

// best returns the index of the best worker for a launch, or -1 for none.
func best(workers []Worker, l Launch, now int64) int {
	at := -1
	for i, w := range workers {
		if fits(w, l, now) && (at < 0 || rank(w, l) < rank(workers[at], l)) {
			at = i
		}
	}
	if now >= l.BoundUntilMS {
		return at
	}
	for i, w := range workers {
		if w.ID != l.Earlier {
			continue
		}
		if fits(w, l, now) {
			return i
		}
		// Would it fit without its temporary obstacles?
		w.Online, w.DiskFree, w.Used, w.Slots, w.Starts, w.Cooling = true, w.MinFree, 0, 1, Starts{}, nil
		if w.State == Invited || fits(w, l, now) {
			return -1
		}
	}
	return at
}
