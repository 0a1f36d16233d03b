package transcript

import (
	"fmt"
	"testing"
)

// TestUsed checks the usage of a live run so far: all turns of all sessions, with the cost that
// the agent itself reports.
func TestUsed(t *testing.T) {
	t.Parallel()
	f := NewFold("p")
	seq := int64(0)
	say := func(kind, payload string) {
		seq++
		f.Line(seq, fmt.Appendf(nil, `{"schema_version":1,"event_id":"e%d","run_id":"r","ts_wallclock":"2026-11-20T15:00:00.000Z","type":%q,"session_ref":"s","payload":%s}`, seq, kind, payload))
	}
	if _, ok := f.Used(); ok {
		t.Error("nothing was reported")
	}
	say("agent.started", `{"driver":"claude","thread_id":"t"}`)
	say("run.turn_started", `{"turn":1,"cause":"prompt"}`)
	say("usage.reported", `{"turn":1,"total_tokens":100,"cost_usd":0.25}`)
	say("run.turn_ended", `{"turn":1}`)
	say("run.turn_started", `{"turn":2,"cause":"prompt"}`)
	say("usage.reported", `{"turn":2,"total_tokens":300,"cost_usd":0.75}`)
	if u, ok := f.Used(); !ok || u.Tokens != 300 || u.Cost == nil || *u.Cost != 0.75 {
		t.Errorf("%+v", u)
	}
	say("run.continued", `{}`)
	say("run.executing", `{"argv":["claude"]}`)
	say("agent.started", `{"driver":"claude","thread_id":"t"}`)
	say("run.turn_started", `{"turn":3,"cause":"continue"}`)
	say("usage.reported", `{"turn":3,"total_tokens":50,"cost_usd":0.5}`)
	if u, ok := f.Used(); !ok || u.Tokens < 350 || u.Cost == nil || *u.Cost < 1.25 {
		t.Errorf("with another session: %+v %v", u.Tokens, u.Cost)
	}
}
