package lane

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func names(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", " ", "a", "b", " b"}).Draw(t, label)
}

func drawTicket(t *rapid.T, i int) ticket {
	limit := rapid.IntRange(1, 4)
	return ticket{
		Request: Request{
			Priority: rapid.SampledFrom([]string{High, Normal, Low}).Draw(t, "priority"),
			Provider: names(t, "provider"), Team: names(t, "team"),
			Limits: Limits{limit.Draw(t, "workspace"), limit.Draw(t, "per provider"), limit.Draw(t, "per team")},
		},
		seq: int64(i), name: fmt.Sprint(i), running: rapid.IntRange(0, 3).Draw(t, "running") == 0,
	}
}

// slowPick is the reference implementation: of all launches that may go on, it picks the first
// by priority and arrival.
func slowPick(tickets []ticket, cooling map[string]bool) int {
	mayGo := func(t ticket) bool {
		inWorkspace, ofProvider, ofTeam := 0, 0, 0
		for _, other := range tickets {
			if !other.running {
				continue
			}
			inWorkspace++
			if key(other.Provider) == key(t.Provider) {
				ofProvider++
			}
			if key(other.Team) == key(t.Team) {
				ofTeam++
			}
		}
		return !t.running && !cooling[key(t.Provider)] &&
			inWorkspace < t.Limits.Workspace && ofProvider < t.Limits.Provider && ofTeam < t.Limits.Team
	}
	before := func(a, b ticket) bool {
		order := map[string]int{High: 1, Normal: 2, Low: 3}
		if order[a.Priority] != order[b.Priority] {
			return order[a.Priority] < order[b.Priority]
		}
		return a.seq < b.seq
	}
	best := -1
	for i, t := range tickets {
		if mayGo(t) && (best < 0 || before(t, tickets[best])) {
			best = i
		}
	}
	return best
}

// TestPickModel compares pick with slowPick in thousands of random lanes.
func TestPickModel(t *testing.T) {
	t.Parallel()
	for range 30 { // times rapid's hundred cases
		rapid.Check(t, func(t *rapid.T) {
			var tickets []ticket
			for i := range rapid.IntRange(0, 12).Draw(t, "launches") {
				tickets = append(tickets, drawTicket(t, i))
			}
			cooling := map[string]bool{}
			for _, provider := range []string{"", "a", "b"} {
				cooling[provider] = rapid.IntRange(0, 4).Draw(t, "cooling") == 0
			}
			inOrder(tickets)
			if got, want := pick(tickets, cooling), slowPick(tickets, cooling); got != want {
				t.Fatalf("picked %d, want %d of %+v", got, want, tickets)
			}
		})
	}
}

func TestLimitsFrom(t *testing.T) {
	t.Parallel()
	environ := map[string]string{"AC_LAUNCH_WORKSPACE_LIMIT": " 7 ", "AC_LAUNCH_PROVIDER_LIMIT": "0", "AC_LAUNCH_TEAM_LIMIT": "many"}
	lookup := func(name string) (string, bool) { value, ok := environ[name]; return value, ok }
	if got, want := LimitsFrom(lookup), (Limits{7, 1, 1}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
	if got, want := (Limits{Provider: 3}).Or(Limits{7, 1, 2}), (Limits{7, 3, 2}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
}
