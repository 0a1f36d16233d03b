package clock

// Correcting the times of another clock within JSON.

import (
	"encoding/json"
	"time"
)

// ShiftTimes returns a JSON object in which the named members, times of a wrong clock, are moved
// by offsetMS milliseconds. Text that is not an object, and a member that is not a time, stay
// unchanged.
func ShiftTimes(object json.RawMessage, offsetMS int64, names ...string) json.RawMessage {
	if offsetMS == 0 || len(names) == 0 || len(object) == 0 {
		return object
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return object
	}
	changed := false
	for _, name := range names {
		var stamp string
		if json.Unmarshal(members[name], &stamp) != nil {
			continue
		}
		at, ok := Parse(stamp)
		if !ok {
			continue
		}
		text, err := json.Marshal(Stamp(at.Add(time.Duration(offsetMS) * time.Millisecond)))
		if err != nil {
			continue
		}
		members[name], changed = text, true
	}
	if !changed {
		return object
	}
	text, err := json.Marshal(members)
	if err != nil {
		return object
	}
	return text
}
