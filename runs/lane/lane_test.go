package lane

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
)

func newWorkspace(t testing.TB) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	if err := workspace.Init(context.Background(), workspace.SystemEnv(), dir, workspace.InitOptions{CompanyName: "Lanes"}); err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

func open(t testing.TB, dir string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(workspace.SystemEnv(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func request(limit int) Request { return Request{Limits: Limits{limit, limit, limit}} }

func enter(t *testing.T, l *Lane, r Request) *Ticket {
	t.Helper()
	place, err := l.Enter(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return place
}

// await waits for admission, but no longer than a test should.
func await(t *testing.T, p *Ticket) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Await(ctx); err != nil {
		t.Fatal(err)
	}
}

// leftovers lists the ticket files in a lane.
func leftovers(t *testing.T, l *Lane) []string {
	t.Helper()
	tickets, err := filepath.Glob(filepath.Join(l.w.Dir(), dir, ticketPrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return tickets
}

// TestHandOver checks that a launch waits for the one before it, in the same process and in
// another one, which a second Lane stands for.
func TestHandOver(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	for name, other := range map[string]*Lane{"of one process": nil, "of two": New(open(t, w.Dir()))} {
		t.Run(name, func(t *testing.T) {
			here := New(w)
			if other == nil {
				other = here
			}
			first := enter(t, here, request(1))
			second, third := enter(t, other, request(1)), enter(t, here, request(1))
			if !first.Granted() || second.Granted() || third.Granted() {
				t.Fatal("not exactly the first launch goes on")
			}
			first.Leave()
			await(t, second)
			if third.checkGranted() {
				t.Fatal("two launches go on over a limit of one")
			}
			second.Leave()
			await(t, third)
			third.Leave()
			third.Leave()
			if left := leftovers(t, here); len(left) > 0 {
				t.Errorf("tickets are left: %v", left)
			}
		})
	}
}

// TestCanceled checks that a waiting launch ends with the cause of its canceled context, and
// that the next launch still gets the slot.
func TestCanceled(t *testing.T) {
	t.Parallel()
	l := New(newWorkspace(t))
	first, second, third := enter(t, l, request(1)), enter(t, l, request(1)), enter(t, l, request(1))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- second.Await(ctx) }()
	why := errors.New("shutting down")
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Fatalf("the wait ended with %v, want its cause", err)
	}
	first.Leave()
	await(t, third)
	third.Leave()
	if left := leftovers(t, l); len(left) > 0 {
		t.Errorf("tickets are left: %v", left)
	}
}

// TestRemovedTicket checks that a launch whose ticket file was removed ends with a conflict
// instead of hanging.
func TestRemovedTicket(t *testing.T) {
	t.Parallel()
	l := New(newWorkspace(t))
	first, second := enter(t, l, request(1)), enter(t, l, request(1))
	defer first.Leave()
	if err := os.Remove(filepath.Join(l.w.Dir(), second.name)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := second.Await(ctx); !fault.Is(err, fault.Conflict) {
		t.Fatalf("the wait ended with %v, want a conflict", err)
	}
}

// TestCooldownSurvivesEmptyLane checks that a cooldown applies in other processes and outlasts
// an empty lane, while launches of other providers go on.
func TestCooldownSurvivesEmptyLane(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	wall := time.Now()
	env := workspace.SystemEnv()
	env.Clock = clock.New(func() time.Time { return wall }, 0)
	later, err := workspace.Open(env, w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()

	if class, err := New(w).Report(t.Context(), "claude", "HTTP 429", ""); class != RateLimit || err != nil {
		t.Fatalf("reported as %q, %v", class, err)
	}
	if class, err := New(w).Report(t.Context(), "gemini", "unauthorized", ""); class != "" || err != nil {
		t.Fatalf("a failure to log in was counted as %q, %v", class, err)
	}
	other := New(later)
	until, ok, err := other.Cooldown(" claude ")
	if d := until.Sub(wall); err != nil || !ok || d < 260*time.Second || d > 331*time.Second {
		t.Fatalf("cools down for %s, %v, %v", d, ok, err)
	}
	cooled, free := Request{Provider: "claude", Limits: Limits{9, 9, 9}}, Request{Provider: "gemini", Limits: Limits{9, 9, 9}}
	waiting := enter(t, other, cooled)
	overtaking := enter(t, other, free)
	if waiting.Granted() || !overtaking.Granted() {
		t.Fatal("not exactly the launch of the other provider goes on")
	}
	waiting.Leave()
	overtaking.Leave()

	wall = until.Add(time.Millisecond)
	after := enter(t, other, cooled)
	defer after.Leave()
	if !after.Granted() {
		t.Fatal("a cooldown that is over holds a launch back")
	}
}

// TestCooldownEndWakes checks that a waiting launch goes on by itself once its provider's
// cooldown ends.
func TestCooldownEndWakes(t *testing.T) {
	t.Parallel()
	l := New(newWorkspace(t))
	now := l.w.Env.Clock.Now().UnixMilli()
	short := `[{"provider":"a","class":"transient","level":1,"until_ms":` + itoa(now+300) + `}]`
	if err := l.w.Replace(cooldownsFile, []byte(short), 0o644); err != nil {
		t.Fatal(err)
	}
	place := enter(t, l, Request{Provider: "a", Limits: Limits{1, 1, 1}})
	defer place.Leave()
	if place.Granted() {
		t.Fatal("a launch goes on while its provider cools down")
	}
	await(t, place)
	if at := l.w.Env.Clock.Now().UnixMilli(); at < now+300 {
		t.Errorf("it went on %d ms early", now+300-at)
	}
}

// TestDamagedState checks that damaged tickets and cooldowns block no launch.
func TestDamagedState(t *testing.T) {
	t.Parallel()
	l := New(newWorkspace(t))
	for name, content := range map[string]string{
		cooldownsFile: "{", dir + "/launch-0000000000000009-torn.running": "", dir + "/launch-.waiting": "", dir + "/other": "kept",
	} {
		if err := l.w.Replace(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	place := enter(t, l, request(1))
	defer place.Leave()
	if !place.Granted() {
		t.Error("the launch does not go on")
	}
	if left := leftovers(t, l); len(left) != 1 {
		t.Errorf("tickets are left: %v", left)
	}
	if !l.w.Exists(dir + "/other") {
		t.Error("a file that is none of the lane's is gone")
	}
}

// TestLaneModel enters and leaves in random order, through two Lanes over one directory, and
// compares them with an in-memory model.
func TestLaneModel(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	lanes := []*Lane{New(w), New(open(t, w.Dir()))}
	rapid.Check(t, func(t *rapid.T) {
		var model []ticket
		places := map[string]*Ticket{}
		defer func() {
			for _, p := range places {
				p.Leave()
			}
		}()
		arrived := 0
		settle := func() {
			for {
				i := slowPick(model, nil)
				if i < 0 {
					break
				}
				model[i].running = true
			}
			for _, m := range model {
				if got := places[m.name].checkGranted(); got != m.running {
					t.Fatalf("launch %s goes on: %v, want %v in %+v", m.name, got, m.running, model)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				m := drawTicket(t, arrived)
				m.running = false
				arrived++
				p, err := rapid.SampledFrom(lanes).Draw(t, "process").Enter(context.Background(), m.Request)
				if err != nil {
					t.Fatal(err)
				}
				places[m.name] = p
				model = append(model, m)
				settle()
			},
			"leave": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip("nobody is there")
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "who")
				places[model[i].name].Leave()
				delete(places, model[i].name)
				model = slices.Delete(model, i, i+1)
				settle()
			},
		})
	})
}
