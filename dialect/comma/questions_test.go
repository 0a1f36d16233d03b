package comma

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/company/orchestration"
	"ac/runs/interaction"
)

// TestQuestions checks an agent's questions. Several are asked one after the other, and their
// answers reach the agent together. An answer may be a number, a label or free text. A plan is
// asked as a question.
func TestQuestions(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.AddClaude()
	c := s.dial()
	c.prepare("q", s.strategy("q.json", flowOf(object{"claude": object{}}, object{"name": "F", "type": "sequential", "steps": []object{{"agent": "claude"}}})), nil)
	c.send("start_run", object{"runId": "q", "input": "go"})
	first := c.Await("the first question", func(m message) bool { return m.is("request_question", "q") })
	if first.field("question") != "Which colour?\n1. Red\n2. Blue" || first.field("toolName") != "ask_question" || first.AgentName != "claude" {
		t.Error(first.raw)
	}
	id, _ := first.field("requestId").(string)
	if !strings.HasSuffix(id, ".1") {
		t.Error(id)
	}
	next := strings.TrimSuffix(id, "1") + "2"
	for _, wrong := range []string{next, "int_none", strings.TrimSuffix(id, ".1")} {
		if code, text := c.refused("question_response", object{"runId": "q", "questionRequestId": wrong, "response": "1"}); code+" "+text != "NO_PENDING_QUESTION No pending question request "+wrong+" for run q" {
			t.Errorf("%s %s", code, text)
		}
	}
	c.send("question_response", object{"runId": "q", "questionRequestId": id, "response": "2, red"})
	second := c.Await("the second question", func(m message) bool { return m.is("request_question", "q") })
	if second.field("question") != "Which size?\n1. S\n2. L" || second.field("requestId") != next {
		t.Error(second.raw)
	}
	late := s.dial()
	late.send("subscribe", object{"runId": "q"})
	if m := late.Next("the open question"); m.field("requestId") != next {
		t.Error(m.raw)
	}
	late.send("question_response", object{"runId": "q", "questionRequestId": next, "response": "M as in medium"})
	plan := c.Await("the plan", func(m message) bool { return m.is("request_question", "q") })
	if got, _ := plan.field("question").(string); !strings.HasPrefix(got, "Do it.\n1. Allow") {
		t.Error(plan.raw)
	}
	c.send("question_response", object{"runId": "q", "questionRequestId": plan.field("requestId"), "response": "better not"})
	end := c.Await("the end", func(m message) bool { return m.is("strategy_completed", "q") })
	got, _ := end.field("result").(string)
	for _, part := range []string{"Blue, Red", "M as in medium", "deny", "better not"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q lacks %s", got, part)
		}
	}
	if used := end.field("usage"); !cmp.Equal(used, any(map[string]any{"promptTokens": 32.0, "completionTokens": 5.0})) {
		t.Errorf("%v", used)
	}
}

// TestAnswers checks how a text maps to an answer.
func TestAnswers(t *testing.T) {
	t.Parallel()
	choices := []interaction.Choice{{Label: "Red"}, {Label: "Dark blue"}}
	for _, c := range []struct {
		multi, free bool
		text        string
		want        []string
		fits        bool
	}{
		{text: "1", want: []string{"Red"}, fits: true},
		{text: " dark BLUE ", want: []string{"Dark blue"}, fits: true},
		{text: "3", want: []string{"3"}},
		{text: "3", free: true, want: []string{"3"}, fits: true},
		{text: " ", free: true, want: []string{" "}},
		{text: "1,2", want: []string{"1,2"}},
		{text: "1, dark blue", multi: true, want: []string{"Red", "Dark blue"}, fits: true},
		{text: "1,x", multi: true, want: []string{"1,x"}},
		{text: "1,x", multi: true, free: true, want: []string{"1,x"}, fits: true},
	} {
		got, fits := answersTo(interaction.QuestionPart{Multi: c.multi, FreeText: c.free, Options: choices}, c.text)
		if !cmp.Equal(got, c.want) || fits != c.fits {
			t.Errorf("%+v: %v %v", c, got, fits)
		}
	}
	plan := interaction.Record{Request: interaction.Request{Kind: interaction.Plan, Options: interaction.DecisionOptions(false, false)}}
	no := "no way"
	for text, want := range map[string]orchestration.RespondParams{
		"1": {OptionID: "allow"}, "deny": {OptionID: "deny"}, "Yes": {Decision: "allow"}, "ok": {Decision: "allow"}, "no way": {Decision: "deny", Text: &no},
	} {
		got := planAnswer(plan, text)
		if got.OptionID != want.OptionID || got.Decision != want.Decision || !cmp.Equal(got.Text, want.Text) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}
