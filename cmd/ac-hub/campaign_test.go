package main

// A campaign kills random processes on two machines at random moments, while sessions come and go.

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ac/events"
	"ac/fleet"
	"ac/internal/runtimetest"
	"ac/runs/session"
	"ac/workspace"
	"ac/workspace/doc"
)

var (
	fleetKills = flag.Int("fleet-kills", 12, "kills of TestCampaign, over all of its companies")
	fleetEach  = flag.Int("fleet-each", 40, "kills of one company")
	fleetHosts = flag.Bool("fleet-hosts", false, "the machines of TestCampaign are network namespaces, between which packets are lost and late (Linux, root)")
)

// Sizes of a campaign.
const (
	campaignSessions = 6
	campaignLines    = 15
)

// campaignWorkers are the workers of a campaign. The last digit of a name is the worker's host.
var campaignWorkers = []string{"box1", "box2"}

// working prints numbered lines. If it has a repository, it also commits one file.
const working = `echo started >> "$STARTS"
i=1; while [ $i -le $LINES_WANTED ]; do echo line $i; i=$((i+1)); sleep 0.04; done
if [ -n "$COMMITS" ]; then echo "$COMMITS" > "$COMMITS.txt"; git add . && git -c user.name=w -c user.email=w@b commit -q -m w; fi`

// TestCampaign kills hub, workers, supervisors, guards and providers at random moments.
// Afterwards everything acknowledged is in the log, once and in order. No session was started
// twice, no output follows a terminal event, and no process is left.
func TestCampaign(t *testing.T) {
	t.Parallel()
	for n := 0; n*(*fleetEach) < *fleetKills; n++ {
		kills := min(*fleetEach, *fleetKills-n*(*fleetEach))
		t.Run(fmt.Sprintf("seed=%d", *seed+uint64(n)), func(t *testing.T) {
			t.Parallel()
			newCampaign(t, *seed+uint64(n)).run(kills)
		})
	}
}

// campaign is one company whose processes are killed.
type campaign struct {
	*repository
	random *rand.Rand
	dir    string     // where each provider records its start
	cut    func(bool) // cuts the network, or restores it
	kills  map[string]int
	done   map[string]int
	sent   int
	live   []*struck
	wg     sync.WaitGroup
	mu     sync.Mutex // guards placed and asked
}

// struck is one session of a campaign.
type struck struct {
	order  session.Order
	name   string
	repo   bool
	placed error // nil once the hub acknowledged it
	asked  bool  // the hub answered
	hit    bool  // one of its processes was killed, or a person stopped it
}

func newCampaign(t *testing.T, seed uint64) *campaign {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 26))
	var c *company
	var cut func(bool)
	if *fleetHosts {
		c, cut = stormyCompany(t, random)
	} else {
		c = newCompany(t)
		cut = c.relay.set
	}
	for _, name := range campaignWorkers {
		c.hire(name, 4)
	}
	return &campaign{
		repository: c.repository(), random: random, dir: workspace.Canonical(t.TempDir()), cut: cut, kills: map[string]int{}, done: map[string]int{},
	}
}

func (c *campaign) run(kills int) {
	for n := 0; n < kills; {
		for len(c.live) < campaignSessions {
			c.send()
		}
		time.Sleep(time.Duration(c.random.IntN(60)) * time.Millisecond) // makes the moment random
		if c.strike() {
			n++
		}
		c.collectEnded()
	}
	for _, s := range c.live {
		c.check(s)
	}
	c.wg.Wait()
	c.until("no process of a session is left", func() bool {
		left, err := runtimetest.HasProcess("STARTS=" + c.dir)
		return err == nil && !left
	})
	c.t.Logf("killed %v; of %d sessions %v", c.kills, c.sent, c.done)
}

// send places a session while the hub may be killed.
func (c *campaign) send() {
	c.sent++
	s := &struck{name: fmt.Sprintf("s%d-", c.sent), repo: c.random.IntN(2) == 0}
	env := map[string]string{"STARTS": filepath.Join(c.dir, s.name), "LINES_WANTED": fmt.Sprint(campaignLines)}
	if s.repo {
		env["COMMITS"] = s.name
	}
	s.order = c.order(working, env)
	if s.repo {
		s.order.RepoID, s.order.Worktree = "shop", &session.Worktree{Owner: s.order.RunID, Run: s.order.RunID, Base: c.git("rev-parse", "HEAD")}
	}
	c.live = append(c.live, s)
	c.wg.Go(func() {
		ctx, cancel := context.WithTimeout(c.t.Context(), patience)
		defer cancel()
		err := fleet.CallHub(ctx, c.w, fleet.HubPlace, fleet.PlaceRequest{Order: s.order, Placement: fleet.Placement{Where: fleet.WhereRemote}}, nil)
		c.mu.Lock()
		defer c.mu.Unlock()
		s.placed, s.asked = err, true
	})
}

// answered reports whether the hub answered, and the error if it refused the session.
func (c *campaign) answered(s *struck) (asked bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.asked, s.placed
}

// strike injects one fault and reports whether it counts as a kill. It restarts what a person
// would restart.
func (c *campaign) strike() bool {
	kind := []string{"hub", "worker", "provider", "guard", "supervisor", "pair", "store", "cut", "stop"}[pick(c.random, 4, 4, 3, 3, 3, 1, 1, 1, 1)]
	switch kind {
	case "hub":
		c.kill(c.hub)
		c.startHub()
	case "store":
		c.kill(c.hub)
		if err := os.RemoveAll(filepath.Join(c.w.Dir(), filepath.FromSlash(fleet.CarrierDir))); err != nil {
			c.t.Fatal(err)
		}
		c.startHub()
	case "worker":
		name := campaignWorkers[c.random.IntN(len(campaignWorkers))]
		c.kill(c.workers[name])
		c.startWorker(name)
	case "cut":
		c.cut(true)
		time.Sleep(time.Duration(c.random.IntN(300)) * time.Millisecond)
		c.cut(false)
	case "stop":
		return c.stop()
	default:
		if !c.strikeSession(kind) {
			return false
		}
	}
	c.kills[kind]++
	return kind != "cut"
}

// stop stops a session as a person would. It does not count as a kill.
func (c *campaign) stop() bool {
	s := c.live[c.random.IntN(len(c.live))]
	if asked, err := c.answered(s); asked && err == nil {
		s.hit = true
		if _, err := session.Stop(c.t.Context(), c.w, s.order.SessionRef); err != nil {
			c.t.Errorf("stop: %v", err)
		}
		c.kills["stop"]++
	}
	return false
}

// pick returns a random index, weighted by weights.
func pick(random *rand.Rand, weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := random.IntN(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}

// strikeSession kills a process of a live session.
func (c *campaign) strikeSession(kind string) bool {
	var found []family
	for _, one := range families(c.bin) {
		if one.has(kind) {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return false
	}
	slices.SortFunc(found, func(a, b family) int { return a.supervisor - b.supervisor })
	one := found[c.random.IntN(len(found))]
	for _, s := range c.live { // the family's session is unknown until its provider lives
		if one.starts == "" || one.starts == filepath.Join(c.dir, s.name) {
			s.hit = true
		}
	}
	return one.kill(kind)
}

// collectEnded checks the sessions that ended.
func (c *campaign) collectEnded() {
	c.live = slices.DeleteFunc(c.live, func(s *struck) bool {
		asked, err := c.answered(s)
		if !asked {
			return false
		}
		record, readErr := session.Read(c.w, s.order.SessionRef)
		if err == nil && readErr == nil && !doc.Terminal(record.Status) {
			return false
		}
		c.check(s)
		return true
	})
}

// check verifies one session: its log, its starts, its output and its results.
func (c *campaign) check(s *struck) {
	c.t.Helper()
	c.until("the hub answers", func() bool { asked, _ := c.answered(s); return asked })
	_, refused := c.answered(s)
	if _, err := session.Read(c.w, s.order.SessionRef); err != nil {
		if starts := c.starts(s); refused == nil || starts != "" {
			c.t.Errorf("%s is lost, placed: %v, started: %q: %v", s.order.SessionRef, refused, starts, err)
		}
		c.done["refused"]++
		return
	}
	record := c.collect(s.order)
	c.done[record.Status]++
	types, printed := c.log(s.order)
	want := numbered(campaignLines)
	end := slices.IndexFunc(types, events.Terminal)
	ends := 0
	for _, kind := range types {
		if events.Terminal(kind) {
			ends++
		}
	}
	if ends != 1 || slices.Contains(types[max(end, 0):], events.ProviderRaw) {
		c.t.Errorf("%s: its end: %v", record.Ref, types)
	}
	if text := c.starts(s); text != "started\n" && (text != "" || !s.hit) {
		c.t.Errorf("%s was started: %q", record.Ref, text)
	}
	if !strings.HasPrefix(want, printed) || !s.hit && (printed != want || record.Status != doc.StatusEnded) {
		c.t.Errorf("%s is %s (%s, %s), hit %t, epoch %d; printed %q; %v", record.Ref, record.Status, record.Error, record.Reason, s.hit, record.Epoch, printed, types)
	}
	if !s.hit || record.Status == doc.StatusEnded && printed == want {
		c.checkResults(s, types)
	}
}

// starts returns what the session's providers wrote: empty if none was started.
func (c *campaign) starts(s *struck) string {
	text, err := os.ReadFile(filepath.Join(c.dir, s.name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Error(err)
	}
	return string(text)
}

// checkResults checks that the results of a complete session arrived once, with its commit.
func (c *campaign) checkResults(s *struck, types []string) {
	c.t.Helper()
	if count(types, events.WorkerResults) != 1 || count(types, events.WorkerResultsFailed) > 0 {
		c.t.Errorf("%s: its results: %v", s.order.SessionRef, types)
		return
	}
	if !s.repo {
		return
	}
	var results struct {
		Payload struct {
			HeadSHA string `json:"head_sha"`
		} `json:"payload"`
	}
	err := session.EachEvent(c.w, workspace.LogFile(s.order.ProjectID, s.order.RunID), func(kind string, line []byte) {
		if kind == events.WorkerResults {
			_ = json.Unmarshal(line, &results) // checked below
		}
	})
	if err != nil || results.Payload.HeadSHA == "" {
		c.t.Errorf("%s: it has no commit: %v", s.order.SessionRef, err)
		return
	}
	if names := c.git("ls-tree", "--name-only", results.Payload.HeadSHA); names != "kept.txt\n"+s.name+".txt" {
		c.t.Errorf("%s %s (hit %t): its commit %s has %q; main is at %s: %v", s.order.SessionRef, s.name, s.hit, results.Payload.HeadSHA, names, c.git("rev-parse", "HEAD"), types)
	}
}

// numbered returns what a session prints.
func numbered(lines int) string {
	text := &strings.Builder{}
	for i := range lines {
		fmt.Fprintf(text, "line %d\n", i+1)
	}
	return text.String()
}
