package inbox

// Deciding on several items, one after the other.

import (
	"context"
	"strings"

	"ac/governance"
	"ac/workspace"
)

// Outcome is what became of one of several rulings. Err is nil for a decision that was made.
type Outcome struct {
	Resolution governance.Resolution
	Err        error
}

// ResolveMany decides on items in order, each as a unit of its own: what was decided stays,
// whatever becomes of the others. Once ctx is done the rest is not decided.
//
// A person who chooses several deltas for one memory saw each of them against the memory as
// it was. An approval among these rulings may move the place of a later one; its expected
// hash is then taken again, as long as nobody else changed the memory and the same lines are
// added and removed.
func ResolveMany(ctx context.Context, w *workspace.Workspace, rulings []governance.Ruling, launcher Launcher) []Outcome {
	outcomes := make([]Outcome, len(rulings))
	moved := movedDeltas{w: w, seen: make([]governance.Preview, len(rulings)), after: map[string]string{}}
	for i, r := range rulings {
		moved.look(i, r)
	}
	for i, r := range rulings {
		if err := context.Cause(ctx); err != nil {
			outcomes[i].Err = err
			continue
		}
		now := moved.adjust(i, &r)
		if outcomes[i].Resolution, outcomes[i].Err = Resolve(ctx, w, r, launcher); outcomes[i].Err == nil {
			moved.decided(r, now)
		}
	}
	return outcomes
}

// movedDeltas knows what the approvals of one call did to the memories.
type movedDeltas struct {
	w     *workspace.Workspace
	seen  []governance.Preview // by ruling, as everything was before the first
	after map[string]string    // by memory: the hash that an approval of this call left
}

// look keeps what the preview of a ruling is, if it is the one that was looked at.
func (m *movedDeltas) look(i int, r governance.Ruling) {
	if r.Decision != governance.Approved || r.ExpectHash == "" {
		return
	}
	if seen, err := governance.PreviewDelta(m.w, r.Item); err == nil && seen.Hash == r.ExpectHash {
		m.seen[i] = seen
	}
}

// adjust sets the hash of a ruling to that of the delta at its new place, and returns its preview.
func (m *movedDeltas) adjust(i int, r *governance.Ruling) governance.Preview {
	was := m.seen[i]
	if was.Hash == "" {
		return was
	}
	left, changed := m.after[was.TargetFile]
	if !changed {
		return was
	}
	now, err := governance.PreviewDelta(m.w, r.Item)
	if err == nil && now.Hash != "" && now.Before == left && changedLines(now.Diff) == changedLines(was.Diff) {
		r.ExpectHash = now.Hash
	}
	return now
}

// decided keeps what an approval left.
func (m *movedDeltas) decided(r governance.Ruling, now governance.Preview) {
	if now.Hash != "" && now.Hash == r.ExpectHash {
		m.after[now.TargetFile] = now.After
	}
}

// changedLines are the lines that a diff of one file adds and removes.
func changedLines(diff string) string {
	var b strings.Builder
	hunk := false
	for line := range strings.Lines(diff) {
		hunk = hunk || strings.HasPrefix(line, "@@ ")
		if hunk && (line[0] == '+' || line[0] == '-') {
			b.WriteString(line)
		}
	}
	return b.String()
}
