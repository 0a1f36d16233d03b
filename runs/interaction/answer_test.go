package interaction

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ac/internal/fault"
)

func text(s string) *string { return &s }

func colours(multi, free, secret bool) []QuestionPart {
	return []QuestionPart{{QuestionID: "q1", Question: "Which colour?", Multi: multi, FreeText: free, Secret: secret, Options: []Choice{{Label: "Red"}, {Label: "Blue"}}}}
}

// TestAnswers covers every kind of interaction and every way to answer it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	permission := Record{Request: asked("i"), State: Open}
	unoffered := permission
	unoffered.Options = DecisionOptions(false, false)
	question := func(parts []QuestionPart) Record {
		return Record{Request: Request{InteractionID: "i", Kind: Question, Questions: parts, Options: ChoiceOptions(parts)}, State: Open}
	}
	input := Record{Request: Request{InteractionID: "i", Kind: Input}, State: Open}
	plan := unoffered
	plan.Kind = Plan
	two := append(colours(false, false, false), QuestionPart{QuestionID: "q2", FreeText: true})
	by := func(answers ...string) map[string][]string { return map[string][]string{"q1": answers} }
	for name, c := range map[string]struct {
		record Record
		answer Answer
		state  string
		scope  string
		reason fault.Reason
	}{
		"a question cancelled":              {question(two), Answer{Cancel: true}, Cancelled, "", ""},
		"an input cancelled":                {input, Answer{Cancel: true}, Cancelled, "", ""},
		"a permission cancelled":            {permission, Answer{Cancel: true}, "", "", fault.InteractionKindMismatch},
		"allow":                             {permission, Answer{Decision: Allow}, Allowed, Once, ""},
		"deny":                              {permission, Answer{Decision: Deny}, Denied, Once, ""},
		"deny with words":                   {permission, Answer{Decision: Deny, Text: text("use make")}, Denied, Once, ""},
		"allow with words":                  {permission, Answer{Decision: Allow, Text: text("x")}, "", "", fault.InvalidParams},
		"option allow":                      {permission, Answer{OptionID: "allow"}, Allowed, Once, ""},
		"option for the session":            {permission, Answer{OptionID: "allow_session"}, Allowed, Session, ""},
		"option deny":                       {permission, Answer{OptionID: "deny"}, Denied, Once, ""},
		"option deny with words":            {permission, Answer{OptionID: "deny", Text: text("no")}, Denied, Once, ""},
		"option that is none":               {permission, Answer{OptionID: "maybe"}, "", "", fault.InvalidParams},
		"decision that is none":             {permission, Answer{Decision: "maybe"}, "", "", fault.InvalidParams},
		"allow for the session":             {permission, Answer{Decision: Allow, Scope: Session}, Allowed, Session, ""},
		"allow for the session, unoffered":  {unoffered, Answer{Decision: Allow, Scope: Session}, Allowed, Once, ""},
		"deny for the session, unoffered":   {unoffered, Answer{Decision: Deny, Scope: Session}, Denied, Session, ""},
		"a permission by text":              {permission, Answer{Text: text("yes")}, "", "", fault.InteractionKindMismatch},
		"a permission by answers":           {permission, Answer{Answers: by("yes")}, "", "", fault.InteractionKindMismatch},
		"nothing":                           {permission, Answer{}, "", "", fault.InvalidParams},
		"two ways":                          {permission, Answer{Decision: Allow, OptionID: "allow"}, "", "", fault.InvalidParams},
		"words that are too long":           {permission, Answer{Decision: Deny, Text: text(strings.Repeat("x", MaxText+1))}, "", "", fault.InvalidParams},
		"a note that is too long":           {permission, Answer{Decision: Deny, Note: strings.Repeat("x", MaxNote+1)}, "", "", fault.InvalidParams},
		"plan":                              {plan, Answer{Decision: Allow}, Allowed, Once, ""},
		"plan denied":                       {plan, Answer{OptionID: "deny"}, Denied, Once, ""},
		"plan by text":                      {plan, Answer{Text: text("go")}, "", "", fault.InteractionKindMismatch},
		"choice":                            {question(colours(false, false, false)), Answer{OptionID: "choice_2"}, Answered, "", ""},
		"choice that is none":               {question(colours(false, false, false)), Answer{OptionID: "choice_3"}, "", "", fault.InvalidParams},
		"answer by question":                {question(colours(false, false, false)), Answer{Answers: by("Blue")}, Answered, "", ""},
		"answer that is none":               {question(colours(false, false, false)), Answer{Answers: by("Green")}, "", "", fault.InvalidParams},
		"two answers to one":                {question(colours(false, false, false)), Answer{Answers: by("Red", "Blue")}, "", "", fault.InvalidParams},
		"two answers to several":            {question(colours(true, false, false)), Answer{Answers: by("Red", "Blue")}, Answered, "", ""},
		"no answer in the list":             {question(colours(true, false, false)), Answer{Answers: by()}, "", "", fault.InvalidParams},
		"own words":                         {question(colours(false, true, false)), Answer{Text: text("Green")}, Answered, "", ""},
		"own words that are not taken":      {question(colours(false, false, false)), Answer{Text: text("Green")}, "", "", fault.InvalidParams},
		"blank words":                       {question(colours(false, true, false)), Answer{Text: text(" ")}, "", "", fault.InvalidParams},
		"own words that are too long":       {question(colours(false, true, false)), Answer{Text: text(strings.Repeat("x", MaxText+1))}, "", "", fault.InvalidParams},
		"a question allowed":                {question(colours(false, false, false)), Answer{Decision: Allow}, "", "", fault.InteractionKindMismatch},
		"several questions":                 {question(two), Answer{Answers: map[string][]string{"q1": {"Red"}, "q2": {"all of it"}}}, Answered, "", ""},
		"several questions by text":         {question(two), Answer{Text: text("Red")}, "", "", fault.InvalidParams},
		"several questions by option":       {question(two), Answer{OptionID: "choice_1"}, "", "", fault.InvalidParams},
		"a question that is none":           {question(two), Answer{Answers: map[string][]string{"q3": {"Red"}}}, "", "", fault.InvalidParams},
		"input":                             {input, Answer{Text: text("words")}, Answered, "", ""},
		"empty input":                       {input, Answer{Text: text("")}, Answered, "", ""},
		"input that is long":                {input, Answer{Text: text(strings.Repeat("x", MaxInput))}, Answered, "", ""},
		"input that is too long":            {input, Answer{Text: text(strings.Repeat("x", MaxInput+1))}, "", "", fault.InvalidParams},
		"an input allowed":                  {input, Answer{Decision: Allow}, "", "", fault.InteractionKindMismatch},
		"an input by answers":               {input, Answer{Answers: by("x")}, "", "", fault.InteractionKindMismatch},
		"an input by option":                {input, Answer{OptionID: "allow"}, "", "", fault.InteractionKindMismatch},
		"what is closed":                    {permission.Lost(), Answer{Decision: Allow}, "", "", fault.InteractionClosed},
		"a question of a choice and a text": {question(colours(false, true, false)), Answer{OptionID: "choice_1", Text: text("x")}, "", "", fault.InvalidParams},
	} {
		t.Run(name, func(t *testing.T) {
			c.answer.By, c.answer.ByRole = "human", "human"
			v, err := c.record.Decide(c.answer)
			if c.reason != "" {
				if !fault.Is(err, c.reason) {
					t.Fatalf("%v, want %s", err, c.reason)
				}
				return
			}
			if err != nil || v.State != c.state || v.Scope != c.scope || v.By != "human" || v.Reason != Decision || v.InteractionID != "i" || v.Kind != c.record.Kind {
				t.Errorf("%+v %v", v, err)
			}
		})
	}
}

func TestSecretAnswersAreNotRecorded(t *testing.T) {
	t.Parallel()
	parts := append(colours(false, true, true), QuestionPart{QuestionID: "q2", FreeText: true})
	r := Record{Request: Request{InteractionID: "i", Kind: Question, Questions: parts}, State: Open}
	v, err := r.Decide(Answer{Answers: map[string][]string{"q1": {"hunter2"}, "q2": {"plain"}}})
	if err != nil || v.Answers["q1"][0] != Redacted || v.Answers["q2"][0] != "plain" || v.Plain["q1"][0] != "hunter2" || !cmp.Equal(v.Secret, []string{"hunter2"}) {
		t.Errorf("%+v %v", v, err)
	}
	r.Questions = parts[:1]
	v, err = r.Decide(Answer{Text: text("hunter2")})
	if err != nil || *v.Text != Redacted || v.Answers["q1"][0] != Redacted || v.Plain["q1"][0] != "hunter2" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	t.Parallel()
	r := Record{Request: Request{InteractionID: "i", Kind: Input}, State: Answered, ResolvedAt: late, Outcome: Outcome{By: "human"}}
	e, ok := errors.AsType[*fault.Error](r.Closed())
	if !ok || e.Reason != fault.InteractionClosed || e.Data == nil || !strings.Contains(e.Error(), "answered") {
		t.Errorf("%+v", e)
	}
	if !fault.Is(NotFound("r", "i"), fault.InteractionNotFound) {
		t.Error("not found has another reason")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, o := range append(DecisionOptions(true, false), ChoiceOptions(colours(false, false, false))...) {
		ids = append(ids, o.OptionID+" "+o.Effect+" "+o.Scope)
	}
	want := []string{"allow allow once", "allow_session allow session", "deny deny once", "choice_1  ", "choice_2  "}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	if o := DecisionOptions(false, true); len(o) != 2 || !strings.Contains(o[0].Label, "for the whole conversation") {
		t.Errorf("%+v", o)
	}
	if ChoiceOptions(nil) != nil || ChoiceOptions(make([]QuestionPart, 2)) != nil {
		t.Error("several questions have options")
	}
}
