package inbox

// Deciding on several items in order.

import (
	"context"
	"strings"

	"ac/governance"
	"ac/workspace"
)

// Outcome is the result of one of several rulings. Err is nil if the decision was made.
type Outcome struct {
	Resolution governance.Resolution
	Err        error
}

// ResolveMany decides on items in order. Each decision is a separate unit: it stands even if
// others fail. Once ctx is done, the remaining items are not decided.
//
// A user who selects several deltas for one memory has seen each of them against the original
// memory. An approval may move the place where a later delta applies. ResolveMany then updates
// the expected hash of the later ruling, provided that nobody else changed the memory and that
// the delta adds and removes the same lines.
func ResolveMany(ctx context.Context, w *workspace.Workspace, rulings []governance.Ruling, launcher Launcher) []Outcome {
	outcomes := make([]Outcome, len(rulings))
	moved := movedDeltas{w: w, seen: make([]governance.Preview, len(rulings)), after: map[string]string{}}
	for i, r := range rulings {
		moved.storePreview(i, r)
	}
	for i, r := range rulings {
		if err := context.Cause(ctx); err != nil {
			outcomes[i].Err = err
			continue
		}
		now := moved.adjust(i, &r)
		if outcomes[i].Resolution, outcomes[i].Err = Resolve(ctx, w, r, launcher); outcomes[i].Err == nil {
			moved.recordApproval(r, now)
		}
	}
	return outcomes
}

// movedDeltas tracks how the approvals of one call changed the memories.
type movedDeltas struct {
	w     *workspace.Workspace
	seen  []governance.Preview // by ruling, before the first decision
	after map[string]string    // by memory: the hash after an approval of this call
}

// storePreview stores the preview of a ruling, if it is the one that the user saw.
func (m *movedDeltas) storePreview(i int, r governance.Ruling) {
	if r.Decision != governance.Approved || r.ExpectHash == "" {
		return
	}
	if seen, err := governance.PreviewDelta(m.w, r.Item); err == nil && seen.Hash == r.ExpectHash {
		m.seen[i] = seen
	}
}

// adjust sets the expected hash of a ruling to that of the moved delta, and returns its preview.
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

// recordApproval records the memory's hash after an approval.
func (m *movedDeltas) recordApproval(r governance.Ruling, now governance.Preview) {
	if now.Hash != "" && now.Hash == r.ExpectHash {
		m.after[now.TargetFile] = now.After
	}
}

// changedLines returns the lines that a diff of one file adds and removes.
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
