package checkpoint

// The event of a checkpoint.

import (
	"encoding/json"
	"slices"

	"ac/internal/canonjson"
)

// Event is the payload of artifact.applied.
type Event struct {
	CheckpointID string      `json:"checkpoint_id"`
	Target       Target      `json:"target"`
	Files        []EventFile `json:"files"`
	Errors       []Problem   `json:"errors"`
	Source       Source      `json:"source"`
	ClientRef    *string     `json:"client_ref"`
	Reverts      string      `json:"reverts,omitempty"`
	Recovered    bool        `json:"recovered,omitempty"`
}

// EventFile is a changed file. A hash is null if the file is absent.
type EventFile struct {
	Path   string  `json:"path"`
	Action string  `json:"action"`
	Base   *string `json:"base_sha256"`
	New    *string `json:"new_sha256"`
}

// Event returns the event for a checkpoint that goes as planned. problems are the files that
// were left out beforehand.
func (p Plan) Event(problems []Problem) Event {
	e := Event{CheckpointID: p.ID, Target: p.Target, Files: []EventFile{}, Errors: problems, Source: p.Source, ClientRef: orNull(p.ClientRef), Reverts: p.Reverts}
	if e.Errors == nil {
		e.Errors = []Problem{}
	}
	for _, f := range p.Files {
		e.Files = append(e.Files, EventFile{f.Path, f.Action, orNull(f.Base), orNull(f.New)})
	}
	return e
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Amend updates the payload of a checkpoint's event with the real outcome. It returns the
// payload of another checkpoint unchanged.
func (o Outcome) Amend(payload []byte, id string) ([]byte, error) {
	var e Event
	if err := json.Unmarshal(payload, &e); err != nil || e.CheckpointID != id {
		return payload, err
	}
	e.Files = slices.DeleteFunc(e.Files, func(f EventFile) bool { return o.Conflicting(f.Path) })
	e.Errors = append(e.Errors, o.Conflicts...)
	e.Recovered = o.Recovered
	return canonjson.Marshal(e)
}
