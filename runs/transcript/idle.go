package transcript

// Whether an agent waits for its next turn, from the end of its log.

import (
	"bytes"
	"encoding/json"
	"io"

	"ac/events"
)

// Idles reports whether the agent of a log of the given size, with which is spoken, waits for
// its next turn: whether a fold of all of it had ActivityIdle. It reads the log from its end as
// far as it must, which is seldom more than the last turn.
func Idles(log io.ReaderAt, size int64) (idles bool, err error) {
	resolved := map[string]bool{}
	err = events.Backward(log, size, func(line []byte) bool {
		if !tellsActivity(line) {
			return true
		}
		e, ok := readEvent(line)
		switch {
		case !ok:
		case e.Type == events.TurnEnded, e.Type == events.AgentStarted:
			idles = true
			return false
		case e.Type == events.TurnStarted, e.Type == events.RunExecuting, events.Terminal(e.Type):
			return false
		case e.Type == events.InteractionResolved:
			resolved[interactionID(e)] = true
		case e.Type == events.InteractionRequested:
			return resolved[interactionID(e)]
		}
		return true
	})
	return idles, err
}

// tellsActivity reports whether a line may be an event that says what the agent does. Of the
// output of an agent, which is most of a log, few lines may.
func tellsActivity(line []byte) bool {
	for _, name := range []string{`"run.`, `"agent.`, `"interaction.`} {
		if bytes.Contains(line, []byte(name)) {
			return true
		}
	}
	return false
}

func interactionID(e Event) string {
	var p struct {
		ID string `json:"interaction_id"`
	}
	_ = json.Unmarshal(e.Payload, &p) // logs of other programs may have none
	return p.ID
}
