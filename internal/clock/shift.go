package clock

// Times of other clocks within JSON.

import (
	"encoding/json"
	"time"
)

// Shifted is a JSON object whose members of these names, times of a clock that is wrong, are
// moved by so many milliseconds. What is no such object, and what is no time, stays as it is.
func Shifted(object json.RawMessage, offsetMS int64, names ...string) json.RawMessage {
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
