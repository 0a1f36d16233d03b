package runs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/workspace/doc"
)

// TestBaseline checks the usage baseline of a conversation: its earlier baseline plus the
// newest session's usage. Usage of other sessions, or from before the conversation began in
// this session, is left out. Agents report totals per conversation, so the baseline prevents
// double counting.
func TestBaseline(t *testing.T) {
	t.Parallel()
	tokens, dollars := func(n int64) *int64 { return &n }, func(n float64) *float64 { return &n }
	usage := &doc.Usage{InputTokens: tokens(100), TotalTokens: 150, CostUSD: dollars(0.5)}
	for name, c := range map[string]struct {
		live *doc.Live
		want doc.ThreadBaseline
	}{
		"one session":  {nil, doc.ThreadBaseline{InputTokens: tokens(100), TotalTokens: tokens(150), CostUSD: dollars(0.5)}},
		"a second one": {&doc.Live{PriorUsage: &doc.Usage{InputTokens: tokens(40), TotalTokens: 50, CostUSD: dollars(0.25)}}, doc.ThreadBaseline{InputTokens: tokens(60), TotalTokens: tokens(100), CostUSD: dollars(0.25)}},
		"of one that it had": {&doc.Live{
			PriorUsage: &doc.Usage{InputTokens: tokens(40), TotalTokens: 50, CostUSD: dollars(0.25)}, ThreadBaseline: &doc.ThreadBaseline{TotalTokens: tokens(50), CostUSD: dollars(0.25)},
		}, doc.ThreadBaseline{InputTokens: tokens(60), TotalTokens: tokens(150), CostUSD: dollars(0.5)}},
		"begun anew in the session": {&doc.Live{
			PriorUsage: &doc.Usage{TotalTokens: 50, CostUSD: dollars(0.25)}, ThreadSpent: &doc.ThreadBaseline{InputTokens: tokens(10), TotalTokens: tokens(20), CostUSD: dollars(0.125)},
		}, doc.ThreadBaseline{InputTokens: tokens(90), TotalTokens: tokens(80), CostUSD: dollars(0.125)}},
	} {
		if diff := cmp.Diff(c.want, *baseline(doc.Run{Usage: usage, Live: c.live}), cmp.AllowUnexported(doc.ThreadBaseline{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
