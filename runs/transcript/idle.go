package transcript

// Detection of an idle agent from the end of its log.

import (
	"bytes"
	"encoding/json"
	"io"

	"ac/events"
)

// IsIdle reports whether the agent of a live session waits for its next turn, as if a fold of the
// whole log had ActivityIdle. size is the log's size in bytes. Idles reads the log backward, as
// far as necessary, which is seldom more than the last turn.
func IsIdle(log io.ReaderAt, size int64) (idles bool, err error) {
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

// tellsActivity reports whether a line may be an event that determines the activity. It rejects
// most lines of an agent's output, which make up most of a log.
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
	_ = json.Unmarshal(e.Payload, &p) // other programs' logs may lack it
	return p.ID
}
