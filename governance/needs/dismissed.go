package needs

// Dismissals: needs that somebody set aside, for all users of this machine. Only the newest line
// of each need counts.

import (
	"bytes"
	"context"
	"encoding/json"

	"ac/internal/clock"
	"ac/internal/fault"
	"ac/workspace"
)

// Dismissal is a line of the dismissals file.
type Dismissal struct {
	NeedID   string `json:"need_id"`
	At       string `json:"at"`
	ActorID  string `json:"actor_id"`
	Note     string `json:"note,omitempty"`
	Restored bool   `json:"restored,omitempty"`
	// Faults is how many faults a broken log had.
	Faults int64 `json:"faults,omitempty"`
}

// Dismissals are the newest lines by need.
type Dismissals map[string]Dismissal

// reader is a workspace or a unit of it.
type reader interface {
	Read(name string) ([]byte, error)
}

// ReadDismissals reads the dismissals of a workspace. It skips invalid lines.
func ReadDismissals(r reader) (Dismissals, error) {
	text, err := r.Read(workspace.DismissedFile)
	if fault.Is(err, fault.NotFound) {
		return Dismissals{}, nil
	}
	found := Dismissals{}
	for line := range bytes.Lines(text) {
		var d Dismissal
		if json.Unmarshal(line, &d) == nil && d.NeedID != "" {
			found[d.NeedID] = d
		}
	}
	return found, err
}

// Of returns the dismissal of a need, if it is in effect. A broken log with more faults than were
// dismissed is open again.
func (d Dismissals) Of(n Need) (Dismissal, bool) {
	found, ok := d[n.NeedID]
	return found, ok && !found.Restored && n.Faults <= found.Faults
}

// Record writes dismissals and restorations in one unit. They are durable on return. Only the
// newest line of each need is kept.
func Record(ctx context.Context, w *workspace.Workspace, lines []Dismissal) error {
	return w.Update(ctx, func(u *workspace.Unit) error {
		text, err := u.Read(workspace.DismissedFile)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
		replaced := map[string]bool{}
		for _, d := range lines {
			replaced[d.NeedID] = true
		}
		var out bytes.Buffer
		for line := range bytes.Lines(text) {
			var d Dismissal
			if json.Unmarshal(line, &d) == nil && replaced[d.NeedID] {
				continue
			}
			out.Write(bytes.TrimRight(line, "\n"))
			out.WriteByte('\n')
		}
		at := clock.Stamp(w.Env.Clock.Now())
		for _, d := range lines {
			d.At = at
			line, err := json.Marshal(d)
			if err != nil {
				return err
			}
			out.Write(append(line, '\n'))
		}
		return u.Write(workspace.DismissedFile, out.Bytes(), 0o600)
	})
}
