package comma

import (
	"encoding/json"
	"testing"
	"time"
)

// events are the messages of a run as short words: types, with the events of streams.
func words(list []message) (said []string) {
	for _, m := range list {
		word := m.Type
		if m.Event != nil {
			var e struct{ Type string }
			_ = json.Unmarshal(m.Event, &e)
			word = m.AgentName + " " + e.Type
		}
		if m.StepName != "" {
			word += " " + m.StepName
		}
		said = append(said, word)
	}
	return said
}

// TestRun pins the messages of a run of one call, as they were recorded.
func TestRun(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.dial()
	path := s.one()
	before := time.Now()
	c.prepare("flow-a", path, nil)
	if took := time.Since(before); took < prepareDelay {
		t.Errorf("run_prepared came after %v", took)
	}
	c.send("start_run", object{"runId": "flow-a", "input": "hi"})
	list := c.until("flow-a", "strategy_completed")
	for _, m := range list {
		t.Log(m.raw)
	}
	t.Log(words(list))
}
