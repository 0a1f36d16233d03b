package interaction

// Answering: validating an answer against its interaction, and deriving the record of it.

import (
	"slices"
	"strings"

	"ac/internal/fault"
)

// Scopes of an answer.
const (
	Once    = "once"
	Session = "session"
)

// Effects of options, and values of Answer.Decision.
const (
	Allow = "allow"
	Deny  = "deny"
)

// Answer is a person's answer. Exactly one of OptionID, Decision, Text and Answers must be set,
// but a denial may have a Text, which the agent receives as well. Cancel closes a question or an
// input without an answer; the agent learns that there is none.
type Answer struct {
	Cancel   bool
	OptionID string
	Decision string // Allow or Deny
	Scope    string // "" means Once
	Text     *string
	Answers  map[string][]string // by question id
	Note     string
	By       string
	ByRole   string
}

// Redacted replaces a secret answer in the log.
const Redacted = "[REDACTED]"

// Verdict is the result of a valid answer: the resolution to record and the answers for the
// agent.
type Verdict struct {
	Resolution
	// Plain holds the unmasked answers, by question id. Secret lists those that must not be
	// recorded.
	Plain  map[string][]string
	Secret []string
}

// Decide validates an answer to an interaction and returns its resolution. The error is
// fault.InteractionClosed if the interaction is not open, fault.InteractionKindMismatch if the
// answer is for another kind, or fault.InvalidParams if it names something that was not offered.
func (r Record) Decide(a Answer) (Verdict, error) {
	v := Verdict{Resolution: Resolution{InteractionID: r.InteractionID, Kind: r.Kind, Outcome: Outcome{
		By: a.By, ByRole: a.ByRole, OptionID: a.OptionID, Note: a.Note, Reason: Decision,
	}}}
	if r.State != Open {
		return v, r.Closed()
	}
	if a.Cancel {
		v.State = Cancelled
		if r.Kind != Question && r.Kind != Input {
			return v, r.mismatch()
		}
		return v, nil
	}
	if err := a.one(); err != nil {
		return v, err
	}
	if len(a.Note) > MaxNote {
		return v, tooLarge("note", MaxNote)
	}
	var err error
	switch r.Kind {
	case Permission, Plan:
		err = r.decide(a, &v)
	case Question:
		err = r.answer(a, &v)
	default:
		err = r.fill(a, &v)
	}
	return v, err
}

// one checks that an answer uses exactly one way of answering.
func (a Answer) one() error {
	ways := 0
	for _, given := range []bool{a.OptionID != "", a.Decision != "", len(a.Answers) > 0} {
		if given {
			ways++
		}
	}
	if ways == 0 && a.Text != nil {
		ways++
	}
	if ways != 1 {
		return fault.InvalidField("decision", "exactly one of option_id, decision, text and answers must be given")
	}
	if a.Decision != "" && a.Decision != Allow && a.Decision != Deny {
		return fault.InvalidField("decision", "must be one of %s, %s", Allow, Deny)
	}
	return nil
}

// decide validates an answer to a permission or a plan.
func (r Record) decide(a Answer, v *Verdict) error {
	effect, scope := a.Decision, a.Scope
	switch {
	case a.OptionID != "":
		o, ok := r.option(a.OptionID)
		if !ok {
			return r.noOption(a.OptionID)
		}
		if effect = o.Effect; scope == "" {
			scope = o.Scope
		}
	case effect == "":
		return r.mismatch()
	}
	offered := slices.ContainsFunc(r.Options, func(o Option) bool { return o.Effect == Allow && o.Scope == Session })
	if v.Scope = Once; scope == Session && (effect == Deny || offered) {
		v.Scope = Session
	}
	if v.State = Allowed; effect == Deny {
		v.State = Denied
	}
	if a.Text == nil {
		return nil
	}
	if effect != Deny {
		return textAlone()
	}
	v.Text = a.Text
	return sized(*a.Text, MaxText)
}

// answer validates an answer to one or several questions.
func (r Record) answer(a Answer, v *Verdict) error {
	v.State = Answered
	switch {
	case a.Decision != "":
		return r.mismatch()
	case a.Text != nil && (a.OptionID != "" || len(a.Answers) > 0):
		return textAlone()
	case len(a.Answers) > 0:
		v.Plain = a.Answers
	case len(r.Questions) != 1:
		return fault.InvalidField("answers", "must answer by question: there are %d", len(r.Questions))
	case a.OptionID != "":
		o, ok := r.option(a.OptionID)
		if !ok {
			return r.noOption(a.OptionID)
		}
		v.Plain = map[string][]string{r.Questions[0].QuestionID: {o.Label}}
	default:
		v.Plain = map[string][]string{r.Questions[0].QuestionID: {*a.Text}}
	}
	for id, answers := range v.Plain {
		i := slices.IndexFunc(r.Questions, func(q QuestionPart) bool { return q.QuestionID == id })
		if i < 0 {
			return issue("there is no such question", "answers", id)
		}
		if err := r.Questions[i].fits(answers); err != nil {
			return err
		}
	}
	v.record(r.Questions, a.Text)
	return nil
}

// fits checks answers against the choices of a question.
func (q QuestionPart) fits(answers []string) error {
	switch {
	case len(answers) == 0:
		return issue("must not be empty", "answers", q.QuestionID)
	case len(answers) > 1 && !q.Multi:
		return issue("takes one answer", "answers", q.QuestionID)
	}
	for _, text := range answers {
		offered := slices.ContainsFunc(q.Options, func(c Choice) bool { return c.Label == text })
		switch {
		case !offered && !q.FreeText:
			return issue("is none of the choices", "answers", q.QuestionID)
		case strings.TrimSpace(text) == "":
			return issue("must not be blank", "answers", q.QuestionID)
		}
		if err := sized(text, MaxText); err != nil {
			return err
		}
	}
	return nil
}

// record sets the answers to record and masks the secret ones.
func (v *Verdict) record(questions []QuestionPart, text *string) {
	v.Answers, v.Text = make(map[string][]string, len(v.Plain)), text
	for _, q := range questions {
		answers, given := v.Plain[q.QuestionID]
		if !given {
			continue
		}
		if v.Answers[q.QuestionID] = answers; !q.Secret {
			continue
		}
		v.Secret = append(v.Secret, answers...)
		v.Answers[q.QuestionID] = slices.Repeat([]string{Redacted}, len(answers))
		if v.Text != nil {
			masked := Redacted
			v.Text = &masked
		}
	}
}

// fill validates an answer to an input.
func (r Record) fill(a Answer, v *Verdict) error {
	if a.Text == nil || a.OptionID != "" || a.Decision != "" || len(a.Answers) > 0 {
		return r.mismatch()
	}
	v.State, v.Text = Answered, a.Text
	return sized(*a.Text, MaxInput)
}

func (r Record) option(id string) (Option, bool) {
	i := slices.IndexFunc(r.Options, func(o Option) bool { return o.OptionID == id })
	if i < 0 {
		return Option{}, false
	}
	return r.Options[i], true
}

func (r Record) noOption(id string) error {
	return fault.InvalidField("option_id", "%s is none of the options of interaction %s", id, r.InteractionID)
}

func textAlone() error { return fault.InvalidField("text", "stands alone, or with a denial") }

func issue(message string, path ...any) error {
	return fault.Invalid(fault.Issue{Path: path, Code: "custom", Message: message})
}

// sized checks the size of a text, in bytes.
func sized(text string, limit int) error {
	if len(text) > limit {
		return tooLarge("text", limit)
	}
	return nil
}

func tooLarge(field string, limit int) error {
	most := float64(limit)
	return fault.Invalid(fault.Issue{Path: []any{field}, Code: "text_too_large", Message: "is too long", Maximum: &most})
}
