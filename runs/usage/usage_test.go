package usage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ac/workspace/doc"
)

func n(v int64) *int64 { return &v }

// TestModels checks which model a report names: that of claude's newest message, subagents
// aside, or for a whole output the model with the most tokens.
func TestModels(t *testing.T) {
	t.Parallel()
	c := NewCollector()
	got := ""
	for _, line := range []string{
		`{"type":"assistant","message":{"id":"m1","model":"opus","usage":{"input_tokens":10}}}`,
		`{"type":"assistant","parent_tool_use_id":"t","message":{"id":"m2","model":"haiku","usage":{"input_tokens":20}}}`,
		`{"type":"assistant","message":{"id":"m3","model":"<synthetic>","usage":{"input_tokens":30}}}`,
		`{"type":"result","usage":{"input_tokens":90}}`,
	} {
		for _, r := range c.Line([]byte(line)).Reports {
			got += r.Model + " "
		}
	}
	if want := "opus opus opus opus "; got != want || c.Best().Model != "opus" {
		t.Errorf("models %q, best %q; want %q", got, c.Best().Model, want)
	}
	whole, ok := NewCollector().Whole([]byte(`{"stats":{"models":{"lite":{"tokens":{"total":5,"prompt":5}},"pro":{"tokens":{"total":9,"prompt":9}},"odd":{"tokens":{}}}}}`))
	if !ok || whole.Model != "pro" || whole.Total != 14 {
		t.Errorf("%+v %v", whole, ok)
	}
}

// TestReports checks the reports read from lines of the known providers.
func TestReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  []Report
	}{
		"codex turn":        {[]string{`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":10,"output_tokens":20}}`}, []Report{{Counters: Counters{n(90), n(10), n(20), nil, 120, nil}, Captured: "usage"}}},
		"zero total":        {[]string{`{"usage":{"total_tokens":0}}`}, []Report{{Counters: Counters{nil, nil, nil, nil, 0, nil}, Captured: "usage"}}},
		"zeros tell little": {[]string{`{"usage":{"input_tokens":0,"output_tokens":0}}`}, nil},
		"claude cache":      {[]string{`{"type":"result","usage":{"input_tokens":3,"cache_creation_input_tokens":7,"cache_read_input_tokens":5,"output_tokens":2}}`}, []Report{{Counters: Counters{n(10), n(5), n(2), nil, 17, n(7)}, Captured: "usage"}}},
		"openai names":      {[]string{`{"type":"x","prompt_tokens":4,"completion_tokens":5}`}, []Report{{Counters: Counters{n(4), nil, n(5), nil, 9, nil}, Captured: "x"}}},
		"said twice":        {[]string{`{"usage":{"total_tokens":5}}`, `{"tokenUsage":{"total_tokens":5}}`}, []Report{{Counters: Counters{nil, nil, nil, nil, 5, nil}, Captured: "usage"}}},
		"null gives way":    {[]string{`{"usage":{"input_tokens":null,"prompt_tokens":2.9,"output_tokens":"7"}}`}, []Report{{Counters: Counters{n(2), nil, nil, nil, 2, nil}, Captured: "usage"}}},
		"in an array":       {[]string{`[{"a":[{"usage":{"total_tokens":1}}]}]`}, []Report{{Counters: Counters{nil, nil, nil, nil, 1, nil}, Captured: "usage"}}},
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

// TestPartsAreDisjoint checks that the parts never overlap, whatever names a provider uses, and
// that they add up.
func TestPartsAreDisjoint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		want Counters
	}{
		"codex exec":            {`{"type":"turn.completed","usage":{"input_tokens":2800,"cached_input_tokens":800,"cache_write_input_tokens":0,"output_tokens":140,"reasoning_output_tokens":40}}`, Counters{n(2000), n(800), n(100), n(40), 2940, n(0)}},
		"openai details":        {`{"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":40},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":5},"total_tokens":120}}`, Counters{n(60), n(40), n(15), n(5), 120, nil}},
		"chat details":          {`{"usage":{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":40},"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":5},"total_tokens":120}}`, Counters{n(60), n(40), n(15), n(5), 120, nil}},
		"claude result":         {`{"type":"result","usage":{"input_tokens":3000,"cache_creation_input_tokens":90,"cache_read_input_tokens":1200,"output_tokens":210,"output_tokens_details":{"thinking_tokens":60}}}`, Counters{n(3090), n(1200), n(150), n(60), 4500, n(90)}},
		"gemini stream":         {`{"type":"result","status":"success","stats":{"total_tokens":4460,"input_tokens":4235,"output_tokens":165,"cached":1200,"input":3035,"duration_ms":89029,"tool_calls":2}}`, Counters{n(3035), n(1200), n(165), n(60), 4460, nil}},
		"larger than its whole": {`{"usage":{"input_tokens":5,"cached_input_tokens":10,"output_tokens":1}}`, Counters{n(5), n(10), n(1), nil, 16, nil}},
	} {
		collector := NewCollector()
		collector.Line([]byte(c.line))
		best := collector.Best()
		if best == nil {
			t.Errorf("%s: nothing was reported", name)
			continue
		}
		if diff := cmp.Diff(c.want, best.Counters); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	r, ok := AppServer([]byte(`{"total":{"totalTokens":2280,"inputTokens":2200,"cachedInputTokens":1300,"cacheWriteInputTokens":0,"outputTokens":80,"reasoningOutputTokens":30},"last":{"totalTokens":1230}}`))
	if diff := cmp.Diff(Counters{n(900), n(1300), n(50), n(30), 2280, n(0)}, r.Counters); !ok || diff != "" {
		t.Error(ok, diff)
	}
}

// TestStepsAddUp checks that agents that report each step separately are charged for all steps,
// even if they are stopped before they report a total.
func TestStepsAddUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  Counters
		cost  float64
	}{
		"claude, stopped in its second message": {[]string{
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","usage":{"input_tokens":1000,"cache_read_input_tokens":400,"cache_creation_input_tokens":30,"output_tokens":1}}}}`,
			`{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":1000,"cache_read_input_tokens":400,"cache_creation_input_tokens":30,"output_tokens":1}}}`,
			`{"type":"stream_event","event":{"type":"message_delta","usage":{"input_tokens":1000,"cache_read_input_tokens":400,"cache_creation_input_tokens":30,"output_tokens":50}}}`,
			`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m2","usage":{"input_tokens":7,"cache_read_input_tokens":0,"output_tokens":1}}}}`,
		}, Counters{n(1037), n(400), n(51), nil, 1488, n(30)}, 0},
		"claude, to its end": {[]string{
			`{"type":"assistant","message":{"id":"m1","usage":{"input_tokens":10,"cache_read_input_tokens":0,"output_tokens":1}}}`,
			`{"type":"result","total_cost_usd":0.25,"usage":{"input_tokens":10,"cache_read_input_tokens":0,"output_tokens":5}}`,
		}, Counters{n(10), n(0), n(5), nil, 15, nil}, 0.25},
		"claude, others working for it": {[]string{
			`{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m1","usage":{"input_tokens":10,"output_tokens":5}}}`,
			`{"type":"assistant","parent_tool_use_id":"toolu_1","message":{"id":"m2","usage":{"input_tokens":10,"output_tokens":1}}}`,
			`{"type":"result","usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"a":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":0,"cacheCreationInputTokens":2,"thinkingTokens":1},"b":{"inputTokens":10,"outputTokens":50,"cacheReadInputTokens":4,"thinkingTokens":20}},"total_cost_usd":0.5}`,
		}, Counters{n(22), n(4), n(34), n(21), 81, n(2)}, 0.5},
		"opencode": {[]string{
			`{"type":"step_finish","part":{"id":"p1","tokens":{"total":1470,"input":1000,"output":50,"reasoning":20,"cache":{"write":0,"read":400}},"cost":0.5}}`,
			`{"type":"step_finish","part":{"id":"p2","tokens":{"total":17,"input":10,"output":5,"reasoning":0,"cache":{"write":2,"read":0}},"cost":0.25}}`,
			`{"type":"step_finish","part":{"id":"p2","tokens":{"total":17,"input":10,"output":5,"reasoning":0,"cache":{"write":2,"read":0}},"cost":0.25}}`,
		}, Counters{n(1012), n(400), n(55), n(20), 1487, n(2)}, 0.75},
	} {
		collector := NewCollector()
		for _, line := range c.lines {
			collector.Line([]byte(line))
		}
		best := collector.Best()
		if diff := cmp.Diff(c.want, best.Counters); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		u := best.Usage("claude")
		if priced := Price(u, nil); priced != (c.cost > 0) || (priced && (*u.CostUSD != c.cost || u.CostSource != CostReported)) {
			t.Errorf("%s: priced %v as %+v", name, priced, u)
		}
	}
}

// TestRollout checks what is read from codex's record of a conversation: this session's answers
// once each, and nothing of earlier sessions or other conversations.
func TestRollout(t *testing.T) {
	t.Parallel()
	const id = "01a20333-65f0-7bb2-8f25-ad8b56b152de"
	home := t.TempDir()
	day := filepath.Join(home, "sessions/2026/11/22")
	line := func(at, response string, input, cached, output int) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-22T%s.926Z","ordinal":14,"type":"token_usage_record","payload":{"thread_id":%q,"response_id":%q,"usage":{"input_tokens":%d,"cached_input_tokens":%d,"cache_write_input_tokens":0,"output_tokens":%d,"reasoning_output_tokens":5,"total_tokens":%d},"thread_token_usage":{"input_tokens":99999,"total_tokens":99999}}}`+"\n",
			at, id, response, input, cached, output, input+output)
	}
	text := line("11:00:00", "resp_0", 7000, 0, 70) + `{"type":"response_item","payload":{"text":"a \"token_usage_record\""}}` + "\n" +
		line("12:20:29", "resp_1", 1400, 400, 50) + line("12:20:29", "resp_1", 1400, 400, 50) + strings.Repeat("x", maxLine+9) + "\n" +
		line("12:20:31", "resp_2", 2000, 1400, 10) + line("12:20:32", "resp_3", 1, 0, 1)[:100]
	if err := errors.Join(os.MkdirAll(day, 0o750), os.WriteFile(filepath.Join(day, "rollout-2026-11-22T12-20-29-"+id+".jsonl"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	since := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	// One file belongs to a subagent of this conversation, the other to another conversation.
	meta := `{"timestamp":"2026-11-22T12:20:29.557Z","ordinal":0,"type":"session_meta","payload":{"account_scoped":true,"session_id":%q,"id":"x"}}` + "\n"
	for name, text := range map[string]string{
		"01a203e7-47bb-7121-9dd4-9ff99c925d33": fmt.Sprintf(meta, id) + line("12:20:30", "resp_9", 100, 0, 10),
		"01a203e7-47bb-7121-9dd4-9ff99c925d34": fmt.Sprintf(meta, "01a203e7-472a-7233-acdb-85c27f1db127") + line("12:20:30", "resp_8", 100, 0, 10),
	} {
		if err := os.WriteFile(filepath.Join(day, "rollout-2026-11-22T12-20-30-"+name+".jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Files in the directory of an earlier day are ignored.
	past := filepath.Join(home, "sessions/2026/01/01")
	if err := errors.Join(os.MkdirAll(past, 0o750), os.WriteFile(filepath.Join(past, "rollout-2026-01-01T12-20-30-01a203e7-47bb-7121-9dd4-9ff99c925d35.jsonl"), []byte(fmt.Sprintf(meta, id)+line("12:20:30", "resp_7", 100, 0, 10)), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, ok := Rollout(home, id, since)
	if !ok || *r.Input != 1700 || *r.Cached != 1800 || *r.Output != 55 || *r.Reasoning != 15 || r.Total != 3570 {
		t.Errorf("%v: %+v", ok, r.Usage("codex"))
	}
	for _, other := range []string{"", "*", "../../../x", "01a20333-65f0-7bb2-8f25-ad8b56b152df"} {
		if r, ok := Rollout(home, other, since); ok {
			t.Errorf("%q: %+v", other, r)
		}
	}
	if _, ok := Rollout(home, id, since.Add(time.Hour)); ok {
		t.Error("an earlier session is counted")
	}
	if _, ok := Rollout(filepath.Join(home, "none"), id, since); ok {
		t.Error("there is no such folder")
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
	want := Report{Counters: Counters{n(7), n(4), n(4), n(2), 17, nil}, Captured: "stats.models", Model: "a"}
	if diff := cmp.Diff(want, r); !ok || diff != "" {
		t.Error(ok, diff)
	}
}

// TestCycles checks what counts as a context cycle and what does not.
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
	u := &doc.Usage{Provider: "codex-app-server", InputTokens: n(26), CachedInputTokens: n(2), OutputTokens: n(12), TotalTokens: 40}
	if !Price(u, card) || *u.CostUSD != 0.0009 || u.CostRateCardProvider != "codex" {
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

// TestRecordable checks that what is read from any provider output fits the run's record.
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
