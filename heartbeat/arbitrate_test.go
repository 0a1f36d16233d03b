package heartbeat

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ac/workspace/doc"
)

func act(change func(*doc.Action)) doc.Action {
	a := doc.Action{ActionBody: doc.ActionBody{IdempotencyKey: "k", Kind: doc.ActionAddComment, Risk: "low", ProjectID: "p", Body: "b", TargetAgentID: "a"}}
	change(&a)
	return a
}

// TestRules checks the outcome and the reason in each circumstance.
func TestRules(t *testing.T) {
	t.Parallel()
	calm := circumstances{now: noon(), config: doc.DefaultHeartbeatConfig()}
	with := func(change func(*circumstances)) circumstances {
		c := calm
		change(&c)
		return c
	}
	same := func(*doc.Action) {}
	job := func(level string) func(*doc.Action) {
		return func(a *doc.Action) { a.Kind, a.PermissionLevel = doc.ActionLaunchJob, level }
	}
	noop := func(a *doc.Action) { a.Kind, a.ProjectID, a.Risk = doc.ActionNoop, "", "high" }
	at22 := with(func(c *circumstances) { c.now = noon().Add(10 * time.Hour) })
	for name, c := range map[string]struct {
		action func(*doc.Action)
		in     circumstances
		want   decision
	}{
		"low risk":              {same, calm, decision{executed, true, ""}},
		"medium risk":           {func(a *doc.Action) { a.Risk = "medium" }, calm, decision{queued, true, riskGate}},
		"asks for approval":     {func(a *doc.Action) { a.NeedsApproval = true }, calm, decision{queued, true, riskGate}},
		"approval item":         {func(a *doc.Action) { a.Kind = doc.ActionCreateApproval }, calm, decision{queued, true, riskGate}},
		"comment at night":      {same, at22, decision{queued, true, quietHours}},
		"reading job at night":  {job("read-only"), at22, decision{executed, true, ""}},
		"writing job":           {job("patch"), calm, decision{queued, true, riskGate}},
		"commanding job":        {job("run-commands"), calm, decision{queued, true, riskGate}},
		"tick cap":              {same, with(func(c *circumstances) { c.executed = 10 }), decision{queued, true, tickCap}},
		"careful":               {same, with(func(c *circumstances) { c.quarantined = true }), decision{queued, true, riskGate}},
		"misfit":                {same, with(func(c *circumstances) { c.misfit = true }), decision{outcome: skipped}},
		"noop with risk":        {noop, calm, decision{skipped, true, ""}},
		"noop without":          {func(a *doc.Action) { noop(a); a.Risk = "low" }, calm, decision{executed, true, ""}},
		"known":                 {func(a *doc.Action) { a.IdempotencyKey = "old" }, calm, decision{outcome: deduped}},
		"known and misfit":      {func(a *doc.Action) { a.IdempotencyKey = "old" }, with(func(c *circumstances) { c.misfit = true }), decision{outcome: deduped}},
		"hour cap":              {same, with(func(c *circumstances) { c.config.MaxAutoActionsPerHour = 3 }), decision{queued, true, hourCap}},
		"both caps":             {same, with(func(c *circumstances) { c.config.MaxAutoActionsPerHour = 3; c.executed = 10 }), decision{queued, true, tickCap}},
		"hour cap before night": {same, with(func(c *circumstances) { c.config.MaxAutoActionsPerHour = 3; c.config.QuietHoursStartHour = 1 }), decision{queued, true, hourCap}},
	} {
		state := doc.EmptyHeartbeatState()
		state.Idempotency["old"] = doc.IdempotencyEntry{Status: doc.IdempotencyQueued}
		state.HourlyActionCounters[hourKey(noon())] = 3
		if got := decide(state, act(c.action), c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// ledger is the reference model of how actions are decided: a list of all past actions.
type ledger struct {
	days, tick, hour int
	past             []entry
}

type entry struct {
	key  string
	at   time.Time
	ran  bool
	tick int
}

func (l *ledger) decide(action doc.Action, tick int, at time.Time) outcome {
	inTick, inHour := 0, 0
	for _, e := range l.past {
		if e.key == action.IdempotencyKey && at.Before(e.at.AddDate(0, 0, l.days)) {
			return deduped
		}
		if e.ran && e.tick == tick {
			inTick++
		}
		if e.ran && e.at.Truncate(time.Hour).Equal(at.Truncate(time.Hour)) {
			inHour++
		}
	}
	became := executed
	if action.Risk != "low" || action.NeedsApproval || inTick >= l.tick || inHour >= l.hour || action.Kind == doc.ActionCreateApproval {
		became = queued
	}
	if became == queued && action.ProjectID == "" {
		became = skipped
	}
	l.past = append(l.past, entry{action.IdempotencyKey, at, became == executed, tick})
	return became
}

// TestCaps compares idempotency keys, their expiry and both caps with the ledger.
func TestCaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		config := doc.DefaultHeartbeatConfig()
		config.QuietHoursEndHour = config.QuietHoursStartHour
		config.MaxAutoActionsPerTick = rapid.IntRange(1, 4).Draw(t, "per tick")
		config.MaxAutoActionsPerHour = rapid.IntRange(1, 6).Draw(t, "per hour")
		config.IdempotencyTTLDays = rapid.IntRange(1, 2).Draw(t, "days")
		model := ledger{days: config.IdempotencyTTLDays, tick: config.MaxAutoActionsPerTick, hour: config.MaxAutoActionsPerHour}
		state, now := doc.EmptyHeartbeatState(), noon()
		for tick := range rapid.IntRange(1, 12).Draw(t, "ticks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 1500).Draw(t, "minutes")) * time.Minute)
			c := circumstances{now: now, config: config}
			for range rapid.IntRange(0, 6).Draw(t, "actions") {
				action := act(func(a *doc.Action) {
					a.IdempotencyKey = fmt.Sprint(rapid.IntRange(0, 15).Draw(t, "key"))
					a.Risk = rapid.SampledFrom([]string{"low", "low", "low", "high"}).Draw(t, "risk")
					if rapid.IntRange(0, 5).Draw(t, "noop") == 0 {
						a.Kind, a.ProjectID = doc.ActionNoop, ""
					}
				})
				Forget(&state, now)
				r := decide(state, action, c)
				if want := model.decide(action, tick, now); r.outcome != want {
					t.Fatalf("tick %d, %s: %v, want %v", tick, action.IdempotencyKey, r.outcome, want)
				}
				if r.outcome == executed {
					c.executed++
					Remember(&state, action.ActionBody, now, config.IdempotencyTTLDays)
				} else if r.note {
					note(&state, action.ActionBody, doc.IdempotencyQueued, now, config.IdempotencyTTLDays)
				}
			}
		}
		Forget(&state, now)
		for key := range state.HourlyActionCounters {
			if hour, err := time.Parse(hourLayout, key); err != nil || now.Sub(hour) > 48*time.Hour {
				t.Fatalf("the counter of %s is kept: %v", key, err)
			}
		}
	})
}
