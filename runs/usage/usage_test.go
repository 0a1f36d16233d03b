package usage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ac/workspace/doc"
)

func n(v int64) *int64 { return &v }

// TestReports pins what lines of the known providers report.
func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  []Report
	}{
		"codex turn":        {[]string{`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":10,"output_tokens":20}}`}, []Report{{Counters{n(100), n(10), n(20), nil, 130}, "usage"}}},
		"zero total":        {[]string{`{"usage":{"total_tokens":0}}`}, []Report{{Counters{nil, nil, nil, nil, 0}, "usage"}}},
		"zeros tell little": {[]string{`{"usage":{"input_tokens":0,"output_tokens":0}}`}, nil},
		"claude cache":      {[]string{`{"type":"result","usage":{"input_tokens":3,"cache_creation_input_tokens":7,"cache_read_input_tokens":5,"output_tokens":2}}`}, []Report{{Counters{n(10), n(5), n(2), nil, 17}, "usage"}}},
		"openai names":      {[]string{`{"type":"x","prompt_tokens":4,"completion_tokens":5}`}, []Report{{Counters{n(4), nil, n(5), nil, 9}, "x"}}},
		"said twice":        {[]string{`{"usage":{"total_tokens":5}}`, `{"tokenUsage":{"total_tokens":5}}`}, []Report{{Counters{nil, nil, nil, nil, 5}, "usage"}}},
		"null gives way":    {[]string{`{"usage":{"input_tokens":null,"prompt_tokens":2.9,"output_tokens":"7"}}`}, []Report{{Counters{n(2), nil, nil, nil, 2}, "usage"}}},
		"in an array":       {[]string{`[{"a":[{"usage":{"total_tokens":1}}]}]`}, []Report{{Counters{nil, nil, nil, nil, 1}, "usage"}}},
		"too deep":          {[]string{strings.Repeat(`{"a":`, 9) + `{"usage":{"total_tokens":1}}` + strings.Repeat("}", 9)}, nil},
		"negative":          {[]string{`{"usage":{"total_tokens":-1}}`}, nil},
		"no JSON":           {[]string{`usage: 5 tokens`, `{"usage":{"total_tokens":5}`, strings.Repeat("[", 9000)}, nil},
	} {
		collector := NewCollector()
		var got []Report
		for _, line := range c.lines {
			got = append(got, collector.Line([]byte(line)).Reports...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestBestIsTheHighest(t *testing.T) {
	t.Parallel()
	c := NewCollector()
	for _, total := range []int{5, 9, 7, 9} {
		c.Line(fmt.Appendf(nil, `{"type":"t%d","usage":{"total_tokens":%d}}`, total, total))
	}
	if best := c.Best(); best == nil || best.Total != 9 {
		t.Errorf("best %+v", best)
	}
}

func TestGeminiStatistics(t *testing.T) {
	t.Parallel()
	c := NewCollector()
	r, ok := c.Whole([]byte("{\n \"response\": \"hi\",\n \"stats\": {\"models\": {\"a\": {\"tokens\": {\"prompt\": 10, \"candidates\": 3, \"total\": 15, \"cached\": 4, \"thoughts\": 2}}, \"b\": {\"tokens\": {\"prompt\": 1, \"candidates\": 1, \"total\": 2, \"cached\": 0}}}}}\n"))
	want := Report{Counters{n(7), n(4), n(4), n(2), 17}, "stats.models"}
	if diff := cmp.Diff(want, r); !ok || diff != "" {
		t.Error(ok, diff)
	}
}

// TestCycles pins what is a cycle and, more so, what is none.
func TestCycles(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]Cycle{
		`{"compactions":2}`: {{Count: 2, Type: "compactions"}},
		`{"info":{"auto_compact":true,"contextWindow":200000}}`:                                                         {{Count: 1, Type: "info.auto_compact"}},
		`{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":155000,"trigger":"auto"}}`:      {{Count: 1, Type: "compact_boundary"}},
		`{"cycle_id":7,"lifecycle":3,"recycled":4,"compact_token_limit":9,"compactMaxSize":5,"model_context_window":1}`: nil,
		`{"context_window":"context window was compacted"}`:                                                             {{Count: 1, Type: "context_window"}},
		`{"items":[{"cycles":1.7},{"cycles":0.5}]}`:                                                                     {{Count: 1, Type: "items.cycles"}},
		`{"message":"we compact things"}`:                                                                               nil,
	} {
		got := NewCollector().Line([]byte(line)).Cycles
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Cycle{}, "Source", "boundary")); diff != "" {
			t.Errorf("%s:\n%s", line, diff)
		}
	}
	c := NewCollector()
	for range 2 {
		c.Line([]byte(`{"compactions":1}`))
		c.Line([]byte(`{"type":"compacted"}`))
	}
	if diff := cmp.Diff(&doc.ContextCycles{Count: 3, Source: "provider_signal", SignalTypes: []string{"compacted", "compactions"}}, c.ContextCycles(), cmpopts.IgnoreUnexported(doc.ContextCycles{})); diff != "" {
		t.Error(diff)
	}
}

func TestPrice(t *testing.T) {
	t.Parallel()
	cached := 0.01
	card := map[string]doc.RateCard{"codex": {Input: 0.02, Output: 0.03, CachedInput: &cached}, "default": {Input: 1, Output: 2}}
	u := &doc.Usage{Provider: "codex-app-server", InputTokens: n(28), CachedInputTokens: n(2), OutputTokens: n(12), TotalTokens: 42}
	if !Price(u, card) || *u.CostUSD != 0.00094 || u.CostRateCardProvider != "codex" {
		t.Errorf("%v %s", *u.CostUSD, u.CostRateCardProvider)
	}
	split := &doc.Usage{Provider: "other", TotalTokens: 101}
	beyond := &doc.Usage{Provider: "codex", InputTokens: n(1e15)}
	if Price(beyond, map[string]doc.RateCard{"codex": {Input: 1e308}}) || beyond.CostUSD != nil || beyond.CostSource != "no_rate_card" {
		t.Errorf("%+v", beyond)
	}
	much := &doc.Usage{Provider: "codex", InputTokens: n(1000)}
	if !Price(much, map[string]doc.RateCard{"codex": {Input: 1e300}}) || *much.CostUSD != 1e300 {
		t.Errorf("%+v", much)
	}
	if !Price(split, card) || *split.CostUSD != 0.152 {
		t.Errorf("%v", *split.CostUSD)
	}
	free := &doc.Usage{Provider: "other", TotalTokens: 101}
	if Price(free, nil) || free.CostUSD != nil || free.CostSource != "no_rate_card" {
		t.Errorf("%+v", free)
	}
}

// TestRecordable: whatever a provider prints, what is taken from it fits the
// record of its run.
func TestRecordable(t *testing.T) {
	t.Parallel()
	const most = 1<<53 - 1
	for _, output := range []string{
		`{"usage":{"total_tokens":9007199254740992}}`,
		`{"usage":{"input_tokens":9007199254740991,"cache_creation_input_tokens":9007199254740991,"output_tokens":9007199254740991}}`,
		`{"stats":{"models":{"a":{"tokens":{"total":9007199254740991}},"b":{"tokens":{"total":9007199254740991,"thoughts":1}}}}}`,
		`{"type":"\ud800","total_tokens":5}`, `{"type":"\u0000","total_tokens":5}`,
		`{"cycles":9007199254740991,"a":{"cycles":9007199254740991}}`, `{"cycle\udfff":1}`, `{"cycles":1e300}`,
	} {
		c := NewCollector()
		c.Line([]byte(output))
		c.Whole([]byte(output))
		run := doc.Run{
			SchemaVersion: 1, Type: "run", ID: "run_a", ProjectID: "p", AgentID: "a", Provider: "cmd", CreatedAt: "2026-01-02T03:04:05.678Z",
			Status: doc.StatusEnded, ContextPackID: "ctx_a", EventsRelpath: "e", ContextCycles: c.ContextCycles(),
		}
		if best := c.Best(); best != nil {
			run.Usage = best.Usage("cmd")
			Price(run.Usage, map[string]doc.RateCard{"cmd": {Input: 1e308, Output: 1e308}})
		}
		text, err := doc.RunCodec.Encode(run)
		if err == nil {
			run, err = doc.RunCodec.Decode(text)
		}
		if err != nil {
			t.Errorf("%s: %v", output, err)
			continue
		}
		if (run.Usage != nil && run.Usage.TotalTokens > most) || run.ContextCycles.Count > most {
			t.Errorf("%s: %+v", output, run)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"type":"turn.completed","usage":{"input_tokens":1e400,"output_tokens":2}}`))
	f.Add([]byte(`{"compact":{"a":[{"cycle":3}]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		c := NewCollector()
		first := c.Line(line)
		for _, r := range first.Reports {
			if r.Total < 0 {
				t.Fatalf("negative total in %q", line)
			}
		}
		if again := c.Line(line); len(again.Reports) > 0 {
			t.Fatalf("%q reported twice", line)
		}
	})
}
